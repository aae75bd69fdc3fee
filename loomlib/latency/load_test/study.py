"""The load test as a study: its steps by the load engine, and traces of calls at three loads."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from loomlib.errors import LoomError, StudyError
from loomlib.experiments import StudyLedger, StudyRun
from loomlib.jobs.dask import WorkerReference
from loomlib.store import PlannedMeasurement, StudyRow

from ..agent_study import EndpointStudy
from ..design import DEFAULT_PROMPT
from ..load.bodies import Bodies
from ..load.calls import LoadCall
from ..load.plans import LoadPlan, plan_load
from ..load.replay import StoredTraffic
from ..load.search import HighestLoad
from ..load.sessions import SessionScenario
from .design import KIND, POISSON, RECORDED, LoadDesign
from .estimate import LoadEstimate, check_allowed, estimate_load
from .next_step import MeasuredStep, PlannedStep, next_step
from .parts import step_parts
from .procedure import LoadSteps
from .result import LoadResult
from .steps import LoadTestStep, evidence_from_s
from .subject import AgentWithLoadTarget, LoadTestAgent, SampledCall, loaded_agent
from .traffic import RecordedTraffic, read_value, stored_value

if TYPE_CHECKING:
    from ..load.engine import LoadEngine, LoadStep

TRACED_CALLS: Final = 24
"""Calls of a step whose traces are read: with them the median of a part has an interval."""


class LoadStudy(EndpointStudy[LoadTestAgent, LoadTestStep, LoadResult]):
    """The highest load at which an agent meets a service level objective, what limits it, and what it costs.

    Calls are made by the load engine, in processes of their own, and timed from the intended start of each. By default
    the study searches for the highest load that holds the SLO; with `loads`, it offers these one after another. A
    stopped test keeps its measurements, and continues with `LoadStudy.resume(agent, study_id).run()`.

    Examples:
        >>> result = LoadStudy(agent, slo="p90 TTFT < 800 ms, errors < 1 %", highest=40).run()
        >>> result.sentences()[0]

    Args:
        agent: The agent, such as `bench.agent("calculator")`.
        slo: The service level objective as text: limits on percentiles of TTFT and duration, on errors, on cost.
        loads: Loads to offer one after another, in calls a second (users, for "closed"); without them, a search.
        arrivals: "poisson" (independent callers), "constant", "bursty", "ramp" (at a rate that grows linearly from 0 to
            twice the load), "closed" (users who wait for each answer), or "recorded": the agent's stored invocations
            with their prompts, sessions and think times, sped up or slowed down to each of `loads`.
        lowest: The lowest load of a search.
        highest: The highest load that may be offered.
        seconds: How long a search may take, or each step of `loads` lasts.
        sessions: Number of sessions that are opened in advance and used in turn; 0 for a new session with each call. Or
            another scenario: `PreWarmedPool`, `Conversations`, `StickySessions` or `WarmSessions` with calls that keep
            sessions alive, of `loomlib.latency.load.sessions`.
        prompt: Sent with every call.
        requests: Requests that differ, in place of the prompt: `PromptLengths`, `PayloadSizes` or `GrowingPrompts` of
            `loomlib.latency.load.bodies`.
        seed: Seed of the arrivals.
        timeout_s: Seconds from sending a call until its response must be complete.
        most_calls: The most calls that the test may make: 5,000 on AWS by default, unlimited on the local AgentCore.
        study_id: Id of a stored study to resume.
        name: Name of the study.
    """

    kind: ClassVar[str] = KIND
    result_type = LoadResult
    design: LoadDesign

    def __init__(
        self,
        agent: LoadTestAgent | AgentWithLoadTarget,
        *,
        slo: str = "p90 TTFT < 800 ms, errors < 1 %",
        loads: Sequence[float] = (),
        arrivals: str = POISSON,
        lowest: float = 1.0,
        highest: float = 50.0,
        seconds: float = 60.0,
        sessions: int | SessionScenario = 8,
        prompt: str | None = None,
        requests: Bodies | None = None,
        seed: int = 0,
        timeout_s: float = 60.0,
        most_calls: int = 0,
        study_id: str | None = None,
        name: str = "",
    ) -> None:
        self.agent = loaded_agent(agent)
        is_scenario = not isinstance(sessions, int)
        recorded = (
            RecordedTraffic.of(self.agent.recorded(), agent=self.agent.name)
            if arrivals == RECORDED and not study_id
            else None
        )
        self.design = LoadDesign(
            slo=slo,
            arrivals=arrivals,
            lowest=lowest,
            highest=highest,
            loads=tuple(loads),
            seconds=seconds,
            sessions=0 if is_scenario else sessions,
            scenario=stored_value(sessions) if is_scenario else None,
            requests=None if requests is None else stored_value(requests),
            recorded=None if recorded is None else asdict(recorded),
            prompt=DEFAULT_PROMPT if prompt is None else prompt,
            seed=seed,
            timeout_s=timeout_s,
            most_calls=most_calls,
            name=name,
        )
        super().__init__(self.agent.store, study_id)
        self.measured_steps: list[MeasuredStep] = []
        self._planned: tuple[int, PlannedStep | HighestLoad | None] | None = None
        self._traffic: StoredTraffic | None = None

    @classmethod
    def resume(cls, agent: LoadTestAgent | AgentWithLoadTarget, study_id: str) -> Self:
        """Return a stored load test with its stored design; `run()` makes the remaining steps.

        Args:
            agent: The agent.
            study_id: The study's id.

        Raises:
            StudyError: No study of this id is stored.
        """
        return cls(agent, study_id=study_id).use_stored_design()

    @property
    def colours(self) -> Mapping[str, str]:
        """No colours: the steps are of one kind."""
        return {}

    def estimate(self) -> LoadEstimate:
        """Return how many calls the test may make and what they may cost; no call is made."""
        return estimate_load(self.design, self.agent)

    def header(self) -> StudyRow:
        """Return the study as it is to be stored, unless it may make more calls than are allowed."""
        check_allowed(self.estimate(), self.design, self.agent)
        return self.row(
            scope=self.agent.scope,
            agent_arn=self.agent.arn,
            agent_name=self.agent.name,
            environment={"qualifier": self.agent.qualifier, "platform_version": self.agent.platform_version},
            labels=tuple(self.agent.labels),
        )

    def planned(self) -> Sequence[PlannedMeasurement]:
        """Return the steps; a search makes as many of them as it needs."""
        return self.design.planned()

    def condition(self, unit: LoadTestStep) -> str:
        """Return the name under which steps are counted."""
        return self.design.condition(unit.position)

    def for_workers(self) -> WorkerReference:
        """Refuse to be measured by the workers of a Dask cluster.

        Raises:
            StudyError: Always. A load is offered at the times of one schedule and measured by one clock, which the
                workers of several machines do not have; the engine uses every processor of its own machine.
        """
        raise StudyError(
            "A load test is made by one machine, whose load engine has a process for each processor; workers of a Dask "
            "cluster have no common clock",
            on=self.study_id,
            try_="run it without dask=; for more load, on a machine with more processors",
        )

    async def procedure(self, run: StudyRun) -> LoadSteps:
        """Return the procedure that makes the steps."""
        self.measured_steps = [
            MeasuredStep(calls=cache(partial(self.calls_of, unit)), elapsed_s=unit.elapsed_s)
            for unit in self.units()
            if unit.is_done
        ]
        self._planned = None
        return LoadSteps(self, run)

    def enough(self, unit: LoadTestStep) -> str | None:
        """Return why the search has ended; None to continue."""
        highest = self.planned_step(unit.position)
        if not isinstance(highest, HighestLoad):
            return None
        StudyLedger(self.store, self.study_id).save("running", highest=_stored(highest))
        return highest.reason

    def planned_step(self, position: int) -> PlannedStep | HighestLoad | None:
        """Return the step at a position, or the result of the search.

        Args:
            position: The number of steps before it.
        """
        if self._planned is None or self._planned[0] != position:
            self._planned = (position, next_step(self.design, self.measured_steps[:position]))
        return self._planned[1]

    def plan(self, position: int, step: PlannedStep) -> LoadPlan:
        """Return the calls of a step; the same ones each time.

        Args:
            position: The step's place.
            step: Its load and length.
        """
        design = self.design
        if design.traffic is not None:
            return self._stored_traffic(design.traffic).plan(
                run=f"{self.study_id}/{position}",
                bodies=self.agent.bodies,
                speed=design.traffic.speed(step.load),
                until_s=step.seconds,
            )
        requests = None if design.requests is None else read_value(design.requests)
        return plan_load(
            design.arrivals_at(step.load, step.seconds),
            self.agent.bodies(design.prompt) if requests is None else self.agent.requests(requests),
            seconds=step.seconds,
            run=self.study_id,
            seed=design.seed + position,
            sessions=design.session_scenario(),
            session_seed=design.seed if design.keeps_sessions else None,
        )

    def make(
        self,
        plan: LoadPlan,
        step: PlannedStep,
        position: int,
        on_call: Callable[[LoadCall], None] | None,
        stop: threading.Event,
    ) -> LoadStep:
        """Run a step with the load engine; a complete one is read from its journals.

        Args:
            plan: The step's calls.
            step: Its length.
            position: Its place.
            on_call: Called with each call that ends.
            stop: When it is set, no more calls are sent.
        """
        timer = threading.Timer(step.seconds, stop.set)
        # The users' time counts from the start of the step, when the engine's processes are ready.
        on_start = timer.start if self.design.is_closed_loop else None
        try:
            return self._engine().run(
                plan.calls, step=_step_name(position), on_call=on_call, on_start=on_start, stop=stop
            )
        finally:
            timer.cancel()

    def open_sessions(self, plan: LoadPlan, unit: LoadTestStep, stop: threading.Event) -> None:
        """Open the sessions by a call in each, and store these calls.

        Args:
            plan: The plan of the step that uses the sessions.
            unit: The step.
            stop: When it is set, no more calls are sent.

        Raises:
            StudyError: No session could be opened.
        """
        name = f"open-{unit.position:03d}-{time.time_ns()}"
        step = self._engine().run(plan.before, step=name, stop=stop)
        if stop.is_set():
            return
        failed = [call for call in step.calls if not call.is_complete]
        if len(failed) == len(plan.before):
            raise StudyError(
                f"No session could be opened: {failed[0].failure}: {failed[0].error_message}",
                on=f"{self.agent.name}, study {self.study_id}",
                try_="agent.invoke(…) until it answers",
            )
        self.agent.keep(
            [_timed(step, call) for call in step.calls if call.done_s is not None],
            self.design.prompt,
            (f"study:{self.study_id}", "opening"),
        )

    def calls_of(self, unit: LoadTestStep) -> Sequence[LoadCall]:
        """Return the measured calls of a step, from its journals.

        Args:
            unit: A step that was made.

        Raises:
            StudyError: The journals are missing.
        """
        plan, step = self._stored_step(unit)
        return [step.calls[index] for index in plan.measured]

    async def finish(self, run: StudyRun) -> None:
        """Store calls of three steps with other invocations, and read their traces, which on AWS arrive late."""
        result = self.result()
        if result.is_traced or not result.traced_steps:
            return
        run.report("reading traces")
        ledger = run.ledger
        kept_ids: dict[str, Any] = dict(ledger.stored.environment.get("kept", {}))
        try:
            for unit in result.traced_steps:
                if str(unit.position) not in kept_ids:
                    kept_ids[str(unit.position)] = await asyncio.to_thread(self._keep_calls, unit)
                    ledger.save(ledger.stored.state, kept=kept_ids)
            ids = [id for unit in result.traced_steps for id in kept_ids[str(unit.position)]]
            traces = {trace.invocation_id: trace for trace in await asyncio.to_thread(self.agent.traces, ids)}
        except LoomError as error:
            # The measured times are valid without them, and running the study again reads them.
            ledger.save(ledger.stored.state, traces_error=error.what)
            return
        parts = {
            str(unit.position): step_parts([traces[id] for id in kept_ids[str(unit.position)]])
            for unit in result.traced_steps
        }
        ledger.save(ledger.stored.state, traces=parts, traces_error="")

    def _keep_calls(self, unit: LoadTestStep) -> list[int]:
        """Store calls of a step that are spread evenly over its steady part."""
        plan, step = self._stored_step(unit)
        from_s = evidence_from_s(unit.seconds, self.design.limits)
        calls = [step.calls[index] for index in plan.measured]
        steady = [call for call in calls if call.is_complete and call.intended_s >= from_s]
        every = max(1, len(steady) // TRACED_CALLS)
        labels = (f"study:{self.study_id}", "timed", f"position:{unit.position}")
        chosen = [_timed(step, call) for call in steady[::every][:TRACED_CALLS]]
        if (recorded := self.design.traffic) is None:
            return self.agent.keep(chosen, self.design.prompt, labels)
        traffic = self._stored_traffic(recorded).calls
        ids = [self.agent.keep([one], traffic[one.call.index].prompt or "", labels) for one in chosen]
        return [id for call_ids in ids for id in call_ids]

    def _stored_traffic(self, recorded: RecordedTraffic) -> StoredTraffic:
        """Read the invocations that the test repeats, once."""
        if self._traffic is None:
            traffic = StoredTraffic.of(self.agent.recorded(recorded.until_id))
            self._traffic = recorded.check(traffic, agent=self.agent.name)
        return self._traffic

    def _stored_step(self, unit: LoadTestStep) -> tuple[LoadPlan, LoadStep]:
        assert unit.load is not None
        if not (self._folder / _step_name(unit.position)).is_dir():
            raise StudyError(
                "The journals of a load test are missing",
                on=str(self._folder),
                try_="restore the folder, or run a new load test",
            )
        planned_step = PlannedStep(load=unit.load, seconds=unit.seconds)
        plan = self.plan(unit.position, planned_step)
        stop = threading.Event()
        stop.set()  # only read: calls that were never sent are not sent now
        return plan, self.make(plan, planned_step, unit.position, None, stop)

    @property
    def _folder(self) -> Path:
        return self.agent.folder / self.study_id

    def _engine(self) -> LoadEngine:
        from ..load.engine import LoadEngine

        return LoadEngine(self.agent.target(), folder=self._folder, timeout_s=self.design.timeout_s)


def _step_name(position: int) -> str:
    return f"step-{position:03d}"


def _timed(step: LoadStep, call: LoadCall) -> SampledCall:
    sent_s, done_s = call.sent_s or 0.0, call.done_s or 0.0
    return SampledCall(
        call=call, sent_unix_s=step.unix_s(sent_s), done_unix_s=step.unix_s(done_s), trace_id=step.trace_id(call)
    )


def _stored(highest: HighestLoad) -> dict[str, Any]:
    return {
        "load": highest.load,
        "low": highest.low,
        "high": highest.high,
        "is_within_tolerance": highest.is_within_tolerance,
        "reason": highest.reason,
    }
