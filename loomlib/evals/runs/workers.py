"""Run many cases: sequentially in time slices, or by concurrent workers that pass on answers as they arrive."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from statistics import median
from typing import Final, Protocol, TypeAlias

from loomlib.jobs.daemon_threads import begin

from ..values.answers import CaseAnswer
from ..values.cases import EvalCase
from .asking import Asker

Unit: TypeAlias = "tuple[int, int]"
"""Repeat, and position of the case in the set."""

Answered: TypeAlias = "tuple[Unit, CaseAnswer]"


class CaseAsker(Protocol):
    """Sends single cases: from this process, or from the workers of a cluster."""

    async def ask(self, case: EvalCase, repeat: int, *, attempts: int = 0) -> CaseAnswer:
        """Send a case and return its answer or failure; see `Asker.ask`."""
        ...


_SLICE_S: Final = 0.05
"""How long a plain function is called, case after case, before its answers are stored."""
_GRACE_S: Final = 1.0
"""How long a stopped run waits for the request in progress."""
_SLOW_MS: Final = 5.0
"""A function whose median call takes longer than this gets several cases at once."""


async def ask_slice(
    asker: Asker, cases: Sequence[EvalCase], units: deque[Unit], store: Callable[[list[Answered]], None], *, limit: int
) -> list[Answered]:
    """Call a plain function, case after case, for one time slice.

    When cancelled, it starts no further case, waits briefly for the one in progress and stores the answers.

    Args:
        asker: Calls the function.
        cases: The cases of the set.
        units: The (repeat, position) pairs to run; a pair is removed when its case starts.
        store: Receives the answers.
        limit: The largest number of answers.

    Returns:
        The answers, which `store` has received.
    """
    answers: list[Answered] = []
    over = False

    def ask() -> None:
        until = time.perf_counter() + _SLICE_S
        while units and not over and len(answers) < limit and time.perf_counter() < until:
            unit = units.popleft()
            answers.append((unit, asker.ask_now(cases[unit[1]], unit[0])))

    asking = begin(ask)
    try:
        await asyncio.shield(asking)
    except BaseException:  # cancelled, or the function ended its thread (SystemExit)
        over = True
        await asyncio.wait([asking], timeout=_GRACE_S)
        if not asking.cancel() and not asking.cancelled():
            asking.exception()  # retrieved, so that asyncio does not log it: the cancellation is what is raised
        store(answers[:])
        raise
    store(answers)
    return answers


def is_slow(answers: Sequence[Answered]) -> bool:
    """Return whether a function is slow, by the median: on a busy machine some calls of any function take long."""
    return bool(answers) and median([answer.duration_ms or 0.0 for _, answer in answers]) > _SLOW_MS


class AskingWorkers:
    """Up to `count` workers that each run one case at a time until none is left or the time limit has passed.

    No case is started while `count` answers wait to be stored: after a kill, fewer than 2 × `count` requests are
    repeated, even with a slow disk.

    Args:
        asker: Sends cases to the target.
        cases: The cases of the set.
        units: The (repeat, position) pairs to run; a pair is removed when its case starts.
        count: The number of workers.
        attempts: Number of earlier attempts of each unit.
        is_late: Returns true when the time limit has passed.
        slots: Held by a worker while it runs a case, if fewer than `count` cases may run at once.
    """

    def __init__(
        self,
        asker: CaseAsker,
        cases: Sequence[EvalCase],
        units: deque[Unit],
        *,
        count: int,
        attempts: int,
        is_late: Callable[[], bool],
        slots: AbstractAsyncContextManager[None] | None = None,
    ) -> None:
        self._asker, self._cases, self._units = asker, cases, units
        self._count, self._attempts, self._is_late = count, attempts, is_late
        self._slots: AbstractAsyncContextManager[None] = nullcontext() if slots is None else slots
        self._arrived: list[Answered] = []
        self._unstored = 0
        self._arrival, self._capacity = asyncio.Event(), asyncio.Event()

    async def run(self, store: Callable[[Sequence[Answered]], None], stored: Callable[[], None]) -> None:
        """Run until done. When cancelled, store every answer that has arrived.

        Args:
            store: Stores the answers that wait, in a thread.
            stored: Called in this thread after each `store`.

        Raises:
            CreditsUsedUpError: The tenant's credit was used up; all received answers are stored.
        """
        workers = [asyncio.ensure_future(self._work()) for _ in range(min(self._count, len(self._units)))]
        if not workers:
            return
        try:
            while self._arrived or not all(worker.done() for worker in workers):
                await self._arrival.wait()
                self._arrival.clear()
                if answers := self._take():
                    await _finished(asyncio.ensure_future(asyncio.to_thread(store, answers)))
                    self._unstored -= len(answers)
                    self._capacity.set()
                    stored()
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.wait(workers)
            if answers := self._take():
                store(answers)
        # Credit that is used up, or a defect: failures to answer are values.
        if errors := [error for worker in workers if (error := worker.exception()) is not None]:
            raise errors[0]

    async def _work(self) -> None:
        try:
            while self._units and not self._is_late():
                if self._unstored >= self._count:
                    self._capacity.clear()
                    await self._capacity.wait()
                    continue
                async with self._slots:
                    if not self._units or self._is_late():  # while it waited for a slot
                        return
                    unit = self._units.popleft()
                    answer = await self._asker.ask(self._cases[unit[1]], unit[0], attempts=self._attempts)
                self._unstored += 1
                self._arrived.append((unit, answer))
                self._arrival.set()
        finally:
            self._arrival.set()

    def _take(self) -> list[Answered]:
        answers, self._arrived = self._arrived, []
        return answers


async def _finished(writing: asyncio.Future[None]) -> None:
    """Wait for a write to end, also when cancelled meanwhile."""
    try:
        await asyncio.shield(writing)
    except asyncio.CancelledError:
        await asyncio.wait([writing])
        raise
