"""The latency study: cold, warm and sticky calls of one agent, run and resumed."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from loomlib.errors import LoomError, StudyError
from loomlib.experiments import StudyLedger, StudyRun
from loomlib.jobs.dask import WorkerReference, resolve_reference

from .advice import CallsAdvice, advise
from .agent_study import AgentStudy
from .calls import Calls
from .design import DEFAULT_PROMPT, StudyDesign
from .floor import Floor, measure_floor, null_agent
from .measured_agent import AgentOfWorkers, AgentWithPauses, AgentWithProcessStarts, AgentWithStudyTarget, MeasuredAgent
from .measurements import Measurement
from .result import StudyResult
from .scenarios import Scenario
from .starts import find_starts
from .stopping import stopping_reason
from .theme import SCENARIO_STYLES

if TYPE_CHECKING:
    import pandas as pd

    from loomlib.store import PlannedMeasurement

_logger = logging.getLogger(__name__)

START_DEADLINE_S = 120.0
"""Default limit of the wait for start lines after the last call, in seconds for the whole study."""


class LatencyStudy(AgentStudy[Measurement, StudyResult, StudyDesign]):
    """How long an agent takes to respond: cold, warm and sticky calls in a random order, one at a time.

    The whole plan is stored before the first call and every call is stored as it ends. A study that was stopped or
    killed is resumed by running it again with its `study_id`, or with `LatencyStudy.resume(agent, study_id)`: it makes
    only the pending calls. A call whose end was not recorded is repeated as attempt 2.

    Examples:
        >>> study = LatencyStudy(agent, cold=20, warm=20, sticky=20)
        >>> result = study.run()
        >>> result.table()

    Args:
        agent: The agent, such as `bench.agent("calculator")`.
        cold: Calls that are the first of a new session.
        warm: Calls that are the second of a new session; the first is not timed.
        sticky: Calls in one long-lived session, after a first one that is not timed.
        prompt: Sent with every call.
        seed: Seed of the order.
        sticky_length: Timed calls in one long-lived session before another is opened; None for all.
        timeout_s: Limit of each call, in seconds.
        study_id: Id of a stored study to resume.
        name: Name of the study.
        find_starts: Whether to read from the logs when the agent started.
        start_deadline_s: Limit of that reading, in seconds for the whole study.
        until: When to stop before the last planned call, such as "p90 within 10 %" or "failures within 2 %".
    """

    kind: ClassVar[str] = "latency"
    result_type = StudyResult

    def __init__(
        self,
        agent: MeasuredAgent | AgentWithStudyTarget,
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
        until: str | None = None,
    ) -> None:
        super().__init__(agent, study_id=study_id)
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
            until=until,
        )
        self._start_deadline_s = start_deadline_s

    def plan(self) -> pd.DataFrame:
        """Return the calls in the order in which they are made: position, block, scenario and session."""
        import pandas as pd

        rows = [
            (call.position, call.block, call.scenario.value, self.design.session_plan(call))
            for call in self.design.calls()
        ]
        return pd.DataFrame(rows, columns=["position", "block", "scenario", "session"])

    def advice(
        self, *, p: float = 0.9, within: float = 0.1, difference: float | None = None, pilot: str | None = None
    ) -> CallsAdvice:
        """Return the number of calls that each scenario needs, from the spread of an earlier study; no call is made.

        Examples:
            >>> advice = LatencyStudy(agent, sticky=0).advice(within=0.1)
            >>> print(advice)
            >>> LatencyStudy(agent, sticky=0, **advice.counts()).run()

        Args:
            p: The percentile of interest, 0 to 1.
            within: The required margin of its interval, as a share of its value.
            difference: The difference between two studies that must be detectable, as a share; in place of a margin.
            pilot: Id of the earlier study; the newest of the same agent, endpoint and prompt by default.

        Raises:
            StudyError: No earlier study is stored: run a pilot first.
        """
        return advise(
            self.store,
            self.design,
            agent_arn=self.agent.arn,
            scope=self.agent.scope,
            qualifier=self.agent.qualifier,
            p=p,
            within=within,
            difference=difference,
            pilot=pilot,
        )

    # Methods that the kernel calls (see `Study`).

    @property
    def colours(self) -> Mapping[str, str]:
        """The colours of the scenarios."""
        return {scenario.value: style.colour for scenario, style in SCENARIO_STYLES.items()}

    def planned(self) -> Sequence[PlannedMeasurement]:
        """Return the calls in the order in which they are made."""
        from loomlib.store import PlannedMeasurement

        return [
            PlannedMeasurement(
                position=call.position,
                block=call.block,
                scenario=call.scenario.value,
                session_plan=self.design.session_plan(call),
            )
            for call in self.design.calls()
        ]

    def units(self) -> Sequence[Measurement]:
        """Read the calls from the store."""
        return [Measurement.read(row) for row in StudyLedger(self.store, self.study_id).rows()]

    def condition(self, unit: Measurement) -> str:
        """Return the call's scenario."""
        return unit.scenario.value

    def chain(self, unit: Measurement) -> str:
        """Return the unit's chain: a worker of a cluster makes the calls of a session, and those of a block."""
        return unit.session_plan if unit.scenario is Scenario.STICKY else f"block {unit.block}"

    def for_workers(self) -> WorkerReference:
        """Return how a worker of a Dask cluster creates this study.

        Raises:
            StudyError: It has a stopping rule, which depends on the order of the calls, or workers cannot create its
                agent.
        """
        if self.design.until is not None:
            raise StudyError(
                "A study with a stopping rule makes its calls one after another",
                on=f"until={self.design.until!r}",
                try_='leave out `until`, or run it without runner="dask"',
            )
        if not isinstance(self.agent, AgentOfWorkers):
            raise StudyError(
                "Workers of a Dask cluster cannot make this agent",
                on=f"{self.agent.name}, a {type(self.agent).__name__}",
                try_='run the study without runner="dask"',
            )
        arguments = {"agent": self.agent.for_workers().stored(), "study_id": self.study_id}
        return WorkerReference(factory=f"{__name__}:study_of_worker", arguments=arguments)

    def enough(self, unit: Measurement) -> str | None:
        """Return a sentence with the intervals once each scenario meets the design's stopping rule."""
        rule = self.design.stopping_rule
        return None if rule is None else stopping_reason(self.design, rule, self.units, unit)

    async def procedure(self, run: StudyRun) -> Calls:
        """Return the procedure that makes the calls."""
        return Calls(self)

    async def finish(self, run: StudyRun) -> None:
        """Measure the harness floor once, and look up the start times that are still unknown."""
        if "floor" not in run.ledger.stored.environment:
            run.report("measuring the harness floor")
            floor = await self._measure_floor()
            run.ledger.save(run.ledger.stored.state, floor=floor.stored())
        if self.design.find_starts:
            await find_starts(
                self.agent,
                run.ledger,
                self.units(),
                deadline_s=self._start_deadline_s,
                report=lambda done, total: run.report(f"reading start times {done}/{total}"),
            )

        if "garbage_collections_ms" not in run.ledger.stored.environment:
            run.report("reading garbage collections")
            pauses = await run.blocking(self._garbage_collections)
            if pauses is not None:
                run.ledger.save(run.ledger.stored.state, garbage_collections_ms=pauses)

        if self.design.find_starts and "process_starts" not in run.ledger.stored.environment:
            run.report("reading which calls started a process")
            process_starts = await run.blocking(self._process_starts)
            if process_starts is not None:
                run.ledger.save(run.ledger.stored.state, process_starts=process_starts)

    def _process_starts(self) -> dict[str, bool] | None:
        """Return, by position, whether each call started a process; None where the logs do not say."""
        if not isinstance(self.agent, AgentWithProcessStarts):
            return None
        positions = self._answered_positions()
        try:
            process_starts = self.agent.process_starts(list(positions))
        except LoomError as error:
            _logger.warning("which calls started a process could not be read: %s", error)
            return None
        return {str(positions[id]): started_process for id, started_process in process_starts.items()}

    def _answered_positions(self) -> dict[int, int]:
        """Return the positions of the answered calls by their invocations."""
        return {
            call.invocation_id: call.position
            for call in self.units()
            if call.is_done and call.invocation_id is not None
        }

    def _garbage_collections(self) -> dict[str, float] | None:
        """Return, by position, the milliseconds of full garbage collections in each call; None without data."""
        if not isinstance(self.agent, AgentWithPauses):
            return None
        positions = self._answered_positions()
        try:
            pauses_ms = self.agent.garbage_collections_ms(list(positions))
        except LoomError as error:
            _logger.warning("the garbage collections could not be read: %s", error)
            return None
        return {str(positions[id]): ms for id, ms in pauses_ms.items()}

    async def _measure_floor(self) -> Floor:
        """Measure the floor with a response of the agent's content type and median size. A failure is only recorded."""
        content_type, size_bytes = self._typical_answer()
        try:
            async with null_agent(content_type, size_bytes) as endpoint:
                durations = await measure_floor(endpoint)
        except (OSError, LoomError, TimeoutError) as error:
            _logger.warning("the harness floor could not be measured: %s", error)
            return Floor(reason=str(error) or type(error).__name__)
        return Floor(durations_ms=durations, content_type=content_type, size_bytes=size_bytes)

    def _typical_answer(self) -> tuple[str, int]:
        answers = [
            answer
            for call in self.units()
            if call.is_done and call.invocation_id is not None
            if (answer := self.store.invocations.get(call.invocation_id)) is not None
        ]
        if not answers:
            return "application/json", 64
        types = Counter(answer.content_type or "application/json" for answer in answers)
        sizes = sorted(answer.bytes_received for answer in answers)
        return types.most_common(1)[0][0], sizes[len(sizes) // 2]


def study_of_worker(agent: Mapping[str, Any], study_id: str) -> LatencyStudy:
    """Return a stored study, on a worker of a Dask cluster.

    Args:
        agent: The stored reference of its agent.
        study_id: The study.
    """
    return LatencyStudy.resume(resolve_reference(agent), study_id)
