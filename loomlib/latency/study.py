"""A latency study: planned, run, resumed."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

from loomlib.errors import LoomError, StoreError, StudyError, StudyInterruptedError
from loomlib.jobs import OwnThread, held_lease

from .design import DEFAULT_PROMPT, StudyDesign
from .environment import describe_client
from .floor import Floor, measure_floor, null_agent
from .ledger import Ledger
from .progress import Snapshot
from .runner import StudyRunner
from .starts import find_starts

if TYPE_CHECKING:
    import pandas as pd

    from .ports import MeasuredAgent, Progress
    from .result import StudyResult

_logger = logging.getLogger(__name__)

START_DEADLINE_S = 120.0
"""How long a study waits for start lines in all, after its last call."""


class LatencyStudy:
    """How long an agent takes to answer: cold, warm and sticky calls in a random order, one after another.

    >>> study = LatencyStudy(agent, cold=20, warm=20, sticky=20)
    >>> result = study.run()
    >>> result.table()

    The whole plan is stored before the first call and every call is stored as it ends, so a study that was killed
    resumes: running it again with the same `study_id` (or `LatencyStudy.resume(agent, study_id)`) makes the calls that
    are still owed and no other. A call whose outcome nobody saw, because the process died while it was out, is made
    again under the same position and marked as attempt 2; if it had ended and only the study's own note was missing,
    its stored outcome is taken.

    `prompt` is sent with every call. `seed` decides the order and the bootstrap. `sticky_length` is how many calls one
    long-lived session takes (None: all). `timeout_s` bounds a call. `find_starts=False` leaves the logs unread.
    """

    def __init__(
        self,
        agent: MeasuredAgent,
        *,
        cold: int = 20,
        warm: int = 20,
        sticky: int = 20,
        prompt: str | None = None,
        seed: int = 0,
        sticky_length: int | None = None,
        timeout_s: float | None = None,
        study_id: str | None = None,
        name: str = "",
        find_starts: bool = True,
        start_deadline_s: float = START_DEADLINE_S,
    ) -> None:
        self.agent = agent
        self.design = StudyDesign(
            cold=cold,
            warm=warm,
            sticky=sticky,
            prompt=DEFAULT_PROMPT if prompt is None else prompt,
            seed=seed,
            sticky_length=sticky_length,
            timeout_s=timeout_s,
            find_starts=find_starts,
            name=name,
        )
        self.study_id = study_id or f"latency-{datetime.now(UTC):%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:6]}"
        self._start_deadline_s = start_deadline_s

    @classmethod
    def resume(cls, agent: MeasuredAgent, study_id: str) -> Self:
        """The stored study of that id, with its stored design; `run()` makes the calls that are still owed."""
        stored = agent.store.studies.get(study_id)
        if stored is None:
            known = [each.id for each in agent.store.studies.list(agent=agent.arn, scope=agent.scope, limit=5)]
            raise StudyError(
                "No such study in the store",
                on=study_id,
                try_=f"one of {', '.join(known)}" if known else "LatencyStudy(agent).run() starts one",
            )
        study = cls(agent, study_id=study_id)
        study.design = StudyDesign.read(stored.design)
        return study

    def plan(self) -> pd.DataFrame:
        """The calls in the order they will be made: position, block, scenario and the session each uses."""
        import pandas as pd

        rows = [
            (call.position, call.block, call.scenario.value, self.design.session_plan(call))
            for call in self.design.calls()
        ]
        return pd.DataFrame(rows, columns=["position", "block", "scenario", "session"])

    def run(self, progress: Progress | None = None) -> StudyResult:
        """Run what is still owed and return the result; works in a notebook, whose own event loop keeps turning.

        Raises `StudyInterruptedError` when the service goes away, and `StudyError` when another process runs this study.
        """
        return self._thread(progress).wait()

    async def arun(self, progress: Progress | None = None) -> StudyResult:
        """The same for asynchronous code."""
        return await self._thread(progress).wait_async()

    def result(self) -> StudyResult:
        """What is stored so far, without making a call."""
        from .result import StudyResult

        return StudyResult.load(self.agent.store, self.study_id)

    def _thread(self, progress: Progress | None) -> OwnThread[Snapshot, StudyResult]:
        return OwnThread(
            self._run,
            progress or self._progress(),
            name="loom-study",
            interrupted=lambda: StudyInterruptedError("The study was stopped; what was measured is kept"),
        )

    def _progress(self) -> Progress:
        from .notebook_progress import choose_progress

        return choose_progress(self.agent.name)

    async def _run(self, report: Callable[[Snapshot], None]) -> StudyResult:
        from loomlib.store import LEASE_S

        ledger = Ledger(self.agent.store, self.study_id)
        stored = ledger.open(self.agent, self.design)
        leases = self.agent.store.studies
        async with held_lease(leases, self.study_id, renew_every_s=LEASE_S / 3, refused=StudyError):
            ledger.settle_unseen()
            runner = StudyRunner(self.agent, self.design, ledger, report)
            if stored.state != "complete":
                ledger.save("running", client=describe_client())
                try:
                    await runner.run()
                    report(runner.snapshot("measuring the harness floor"))
                    await self._measure_floor(ledger)
                except BaseException:
                    with suppress(StoreError):  # a full disk cannot note the interruption either; the rows say enough
                        ledger.save("interrupted")
                    raise
            if self.design.find_starts:
                await find_starts(
                    self.agent,
                    ledger,
                    deadline_s=self._start_deadline_s,
                    told=lambda found, of: report(runner.snapshot(f"reading start times {found}/{of}")),
                )
            if stored.state != "complete":
                ledger.save("complete", finished=True)
            report(runner.snapshot("done"))
        return self.result()

    async def _measure_floor(self, ledger: Ledger) -> None:
        """The floor with an answer of the agent's own content type and median size. Its failure is noted, not fatal."""
        content_type, size_bytes = ledger.typical_answer()
        try:
            async with null_agent(content_type, size_bytes) as endpoint:
                floor = Floor(
                    durations_ms=await measure_floor(endpoint), content_type=content_type, size_bytes=size_bytes
                )
        except (OSError, LoomError, TimeoutError) as error:
            _logger.warning("the harness floor could not be measured: %s", error)
            floor = Floor(reason=str(error) or type(error).__name__)
        ledger.save("running", floor=floor.stored())
