"""Running a study: one call after another, each claimed before it is made and recorded before the next.

A closed loop with one call at a time: the next call waits for the last. It says what one caller
sees, not what load does.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from loomlib.errors import StoreError, StudyInterruptedError

from .design import StudyDesign
from .ledger import Ledger, call_labels, opening_labels
from .measurements import Measurement
from .progress import Snapshot
from .scenarios import Scenario
from .sessions import SessionKeeper

if TYPE_CHECKING:
    from .ports import Answer, MeasuredAgent


class StudyRunner:
    """Makes the calls that a study still owes."""

    def __init__(
        self, agent: MeasuredAgent, design: StudyDesign, ledger: Ledger, report: Callable[[Snapshot], None]
    ) -> None:
        self._agent, self._design, self._ledger, self._report = agent, design, ledger, report
        self._sessions = SessionKeeper(agent)
        self._began = time.monotonic()
        self._done: Counter[Scenario] = Counter()
        self._failed = 0

    def snapshot(self, stage: str = "measuring") -> Snapshot:
        """How far the study is."""
        return Snapshot(
            done=dict(self._done),
            owed=self._design.counts,
            failed=self._failed,
            elapsed_s=time.monotonic() - self._began,
            stage=stage,
        )

    async def run(self) -> None:
        """Make every owed call. Raises `StudyInterruptedError` when the service is gone; what was measured is kept."""
        owed: list[Measurement] = []
        for each in self._ledger.measurements():
            if each.is_owed:
                owed.append(each)
            else:
                self._count(each.scenario, failed=each.is_failed)
        self._report(self.snapshot())
        try:
            for each in owed:
                await self._take(each)
                self._report(self.snapshot())
        finally:
            # Also when cancelled: a session left behind is an agent left running until its idle timeout.
            await asyncio.shield(self._sessions.end_kept())

    async def _take(self, owed: Measurement) -> None:
        kept = await self._sessions.kept(owed.session_plan) if owed.scenario is Scenario.STICKY else None
        session_id = kept or self._sessions.new()
        if not self._ledger.claim(owed, session_id):
            return
        opening = None
        try:
            if owed.scenario is not Scenario.COLD and kept is None:
                opening = await self._call(session_id, opening_labels(self._ledger.study_id, owed))
            if opening is None or opening.status == "complete":
                answer, was_opened = await self._call(session_id, call_labels(self._ledger.study_id, owed)), True
            else:
                answer, was_opened = opening, False
        except BaseException:
            # Cancelled, or the call could not even be made (a full disk, no credentials): nobody saw an outcome. When
            # that cannot be written either, the row stays "running", which the next run settles just the same.
            with suppress(StoreError):
                self._ledger.give_back(owed)
            raise
        if answer.failure == "transport" and not await self._agent.is_alive():
            self._stop(owed, answer, was_opened=was_opened)
        self._record(owed, answer, was_opened=was_opened)
        if owed.scenario is Scenario.STICKY and answer.status == "complete":
            self._sessions.keep(owed.session_plan, session_id)
        elif kept is not None:
            await self._sessions.end_kept()
        else:
            await self._sessions.end(session_id)

    async def _call(self, session_id: str, labels: tuple[str, ...]) -> Answer:
        return await self._agent.measure(
            self._design.prompt, session_id=session_id, labels=labels, timeout_s=self._design.timeout_s
        )

    def _stop(self, owed: Measurement, answer: Answer, *, was_opened: bool) -> NoReturn:
        """A service that takes no connections ends the study: going on would only count refusals as failures.

        A call that got no byte from a service that is gone was not answered by anyone and goes back into the plan; one
        that was cut in mid-answer is a failure of its own.
        """
        if answer.bytes_received == 0:
            self._ledger.give_back(owed)
        else:
            self._record(owed, answer, was_opened=was_opened)
        raise StudyInterruptedError(
            "The service behind the agent takes no connections any more; what was measured is kept",
            on=f"{self._agent.name}, study {self._ledger.study_id}",
            try_=f'start it again, then LatencyStudy.resume(agent, "{self._ledger.study_id}").run()',
        )

    def _record(self, owed: Measurement, answer: Answer, *, was_opened: bool) -> None:
        if was_opened:
            self._ledger.record(owed, answer)
        else:
            self._ledger.record_failed_opening(owed, answer)
        self._count(owed.scenario, failed=answer.status != "complete")

    def _count(self, scenario: Scenario, *, failed: bool) -> None:
        self._done[scenario] += 1
        self._failed += failed
