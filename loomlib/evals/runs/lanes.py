"""Cases asked one after the other in a slice of time, or side by side, their answers handed on as they come."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from statistics import median
from typing import Final, TypeAlias

from ...jobs.daemon_threads import begin
from ..values.answers import CaseAnswer
from ..values.cases import EvalCase
from .asking import Asker

Unit: TypeAlias = "tuple[int, int]"
"""Repeat and place in the set."""

Answered: TypeAlias = "tuple[Unit, CaseAnswer]"


_SLICE_S: Final = 0.05
"""How long a plain function is asked case after case before what it answered is kept."""
_GRACE_S: Final = 1.0
"""How long a stopped run waits for the question that is under way."""
_SLOW_MS: Final = 5.0
"""A function that mostly takes longer than this for a case is asked several at once."""


async def ask_slice(
    asker: Asker, cases: Sequence[EvalCase], owed: deque[Unit], keep: Callable[[list[Answered]], None], *, at_most: int
) -> list[Answered]:
    """A plain function asked case after case until the slice is over; its answers, which `keep` has been given.

    Cancelled, it asks no other case, waits a moment for the one under way, and keeps what was answered.
    """
    answers: list[Answered] = []
    over = False

    def ask() -> None:
        until = time.perf_counter() + _SLICE_S
        while owed and not over and len(answers) < at_most and time.perf_counter() < until:
            unit = owed.popleft()
            answers.append((unit, asker.ask_now(cases[unit[1]], unit[0])))

    asking = begin(ask)
    try:
        await asyncio.shield(asking)
    except BaseException:  # stopped, or a function that ended its thread (SystemExit)
        over = True
        await asyncio.wait([asking], timeout=_GRACE_S)
        if not asking.cancel() and not asking.cancelled():
            asking.exception()  # looked at: the reason to stop is the one that is raised
        keep(answers[:])
        raise
    keep(answers)
    return answers


def is_slow(answers: Sequence[Answered]) -> bool:
    """By the median: a busy machine makes some calls of any function long."""
    return bool(answers) and median([answer.duration_ms or 0.0 for _, answer in answers]) > _SLOW_MS


class Lanes:
    """Up to `count` cases of `owed` under way at once, until none is left or it is late.

    Nothing is asked while `count` answers wait to be written: a kill costs fewer than 2 × `count` questions asked again
    on a slow disk too.
    """

    def __init__(
        self,
        asker: Asker,
        cases: Sequence[EvalCase],
        owed: deque[Unit],
        *,
        count: int,
        tried: int,
        is_late: Callable[[], bool],
    ) -> None:
        self._asker, self._cases, self._owed = asker, cases, owed
        self._count, self._tried, self._is_late = count, tried, is_late
        self._arrived: list[Answered] = []
        self._unkept = 0
        self._news, self._room = asyncio.Event(), asyncio.Event()

    async def run(self, keep: Callable[[Sequence[Answered]], None], kept: Callable[[], None]) -> None:
        """`keep` writes what came, in a thread, all that waits at once; `kept` is called here behind it.

        Cancelled, it still keeps every answer that came.
        """
        lanes = [asyncio.ensure_future(self._lane()) for _ in range(min(self._count, len(self._owed)))]
        if not lanes:
            return
        try:
            while self._arrived or not all(each.done() for each in lanes):
                await self._news.wait()
                self._news.clear()
                if some := self._take():
                    await _finished(asyncio.ensure_future(asyncio.to_thread(keep, some)))
                    self._unkept -= len(some)
                    self._room.set()
                    kept()
        finally:
            for each in lanes:
                each.cancel()
            await asyncio.wait(lanes)
            if some := self._take():
                keep(some)
        for each in lanes:
            each.result()  # raises what is no answer: a defect of ours

    async def _lane(self) -> None:
        try:
            while self._owed and not self._is_late():
                if self._unkept >= self._count:
                    self._room.clear()
                    await self._room.wait()
                    continue
                unit = self._owed.popleft()
                answer = await self._asker.ask(self._cases[unit[1]], unit[0], tried=self._tried)
                self._unkept += 1
                self._arrived.append((unit, answer))
                self._news.set()
        finally:
            self._news.set()

    def _take(self) -> list[Answered]:
        some, self._arrived = self._arrived, []
        return some


async def _finished(writing: asyncio.Future[None]) -> None:
    """Wait for a write; cancelled meanwhile, it is waited for all the same."""
    try:
        await asyncio.shield(writing)
    except asyncio.CancelledError:
        await asyncio.wait([writing])
        raise
