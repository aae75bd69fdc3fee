"""The procedure that runs the steps of a load test one after another, and stops them."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from loomlib.errors import CreditsUsedUpError, LoomError
from loomlib.experiments import Procedure, StudyRun, UnitOutcome
from loomlib.presentation.formats import number, plural, seconds

from ..load.calls import LoadCall
from ..load.plans import LoadPlan
from ..load.search import HighestLoad
from .credit import StepCredit
from .next_step import MeasuredStep, PlannedStep
from .steps import LoadTestStep, step_details

if TYPE_CHECKING:
    from ..load.engine import LoadStep
    from .design import LoadDesign
    from .subject import LoadTestAgent

_logger = logging.getLogger(__name__)
_REPORT_S: Final = 1.0


class LoadTest(Protocol):
    """The object that makes the calls of the steps: a `LoadStudy`."""

    @property
    def design(self) -> LoadDesign:
        """The design."""
        ...

    @property
    def agent(self) -> LoadTestAgent:
        """The agent."""
        ...

    @property
    def measured_steps(self) -> list[MeasuredStep]:
        """The steps that were made."""
        ...

    def planned_step(self, position: int) -> PlannedStep | HighestLoad | None:
        """Return the step at a position."""
        ...

    def plan(self, position: int, step: PlannedStep) -> LoadPlan:
        """Return the calls of a step."""
        ...

    def make(
        self,
        plan: LoadPlan,
        step: PlannedStep,
        position: int,
        on_call: Callable[[LoadCall], None] | None,
        stop: threading.Event,
    ) -> LoadStep:
        """Make a step by the load engine."""
        ...

    def open_sessions(self, plan: LoadPlan, unit: LoadTestStep, stop: threading.Event) -> None:
        """Open the sessions of a plan by a call in each."""
        ...

    def unreachable(self, name: str) -> LoomError:
        """Return the error for an agent whose service accepts no connections."""
        ...


class LoadSteps(Procedure[LoadTestStep]):
    """Runs one step for each unit; the sessions that it needs are opened before it, and ended after the last step."""

    def __init__(self, study: LoadTest, run: StudyRun) -> None:
        self._study, self._design, self._run = study, study.design, run
        self._opened: dict[str, None] = {}

    async def measure(self, unit: LoadTestStep, session_id: str | None) -> UnitOutcome:
        """Run the step; an interrupted one is continued with the calls that were not sent."""
        planned_step = self._study.planned_step(unit.position)
        assert isinstance(planned_step, PlannedStep)
        plan = self._study.plan(unit.position, planned_step)
        credit = StepCredit(self._study.agent.store, self._run.ledger, unit.position)
        # Users call as fast as they are answered: such a step continues until the credit is used up.
        fewest = round(planned_step.load) if self._design.is_closed_loop else len(plan.calls)
        is_opened = all(call.session_id in self._opened for call in plan.before)
        opening = 0 if is_opened else len(plan.before)
        credited_calls = await asyncio.to_thread(credit.hold, len(plan.calls), fewest, opening=opening)
        if opening:
            self._opened |= dict.fromkeys(call.session_id for call in plan.before)
            self._run.report(f"opening {plural(opening, 'session')}")
            await self._stoppable(partial(self._study.open_sessions, plan, unit))
        return await self._step(
            unit, planned_step, plan, credit, most=None if credited_calls >= len(plan.calls) else credited_calls
        )

    async def close(self) -> None:
        """End the sessions."""
        for session_id in self._opened:
            try:
                await asyncio.to_thread(self._study.agent.end_session, session_id)
            except LoomError as error:
                _logger.debug("a session could not be ended: %s", error, extra={"session_id": session_id})
        self._opened = {}

    async def _step(
        self, unit: LoadTestStep, planned_step: PlannedStep, plan: LoadPlan, credit: StepCredit, *, most: int | None
    ) -> UnitOutcome:
        """Run the step; with `most`, only until that many calls, for which credit is reserved, have been sent."""
        study, began_s, answered, is_used_up = self._study, time.monotonic(), 0, False
        # Each user has at most one call that is not answered yet.
        last = None if most is None else most - credit.sent_before - round(planned_step.load)
        steps: list[LoadStep] = []

        def make(stop: threading.Event) -> LoadStep:
            def count(_: LoadCall) -> None:
                nonlocal answered, is_used_up
                answered += 1
                if last is not None and answered >= last and not stop.is_set():
                    is_used_up = True
                    stop.set()

            steps.append(study.make(plan, planned_step, unit.position, count, stop))
            return steps[0]

        reporting = asyncio.create_task(self._report(planned_step, began_s, lambda: answered))
        try:
            load_step = await self._stoppable(make)
        finally:
            reporting.cancel()
            for step in steps:  # none when the engine failed
                await asyncio.to_thread(credit.settle, sum(call.sent_s is not None for call in step.calls))
        if is_used_up:
            raise CreditsUsedUpError(
                f"The tenant's credit was used up after {plural(answered, 'call')} of a step",
                on=f"{study.agent.name}, study {self._run.ledger.study_id}",
                try_="ask the administrator, who can run: loom tenants credit NAME AMOUNT; then resume the study",
            )
        calls = [load_step.calls[index] for index in plan.measured]
        elapsed_s = time.monotonic() - began_s
        ended = [call for call in calls if call.sent_s is not None]
        if all(call.failure == "transport" for call in ended) and not await study.agent.is_alive():
            raise study.unreachable(study.agent.name)
        details = await asyncio.to_thread(
            step_details,
            load_step,
            calls,
            self._design.limits,
            load=planned_step.load,
            seconds=planned_step.seconds,
            elapsed_s=elapsed_s,
            users=self._design.is_closed_loop,
            labels=plan.labels,
            is_scheduled=plan.is_scheduled,
        )
        study.measured_steps.append(MeasuredStep(calls=lambda: calls, elapsed_s=elapsed_s))
        return UnitOutcome(values={"duration_ms": elapsed_s * 1e3}, details=details)

    async def _stoppable(self, make: Callable[[threading.Event], Any]) -> Any:
        """Run the load engine; when the study is stopped, make it stop sending calls and wait until it has ended."""
        stop = threading.Event()
        work = asyncio.ensure_future(asyncio.to_thread(make, stop))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            stop.set()
            await asyncio.wait([work])
            raise

    async def _report(self, planned_step: PlannedStep, began_s: float, answer_count: Callable[[], int]) -> None:
        unit = "users" if self._design.is_closed_loop else "calls a second"
        while True:
            elapsed_s = time.monotonic() - began_s
            time_left = (
                ""
                if planned_step.left_s is None
                else f" · at most {seconds(max(1.0, planned_step.left_s - elapsed_s))} left"
            )
            self._run.report(f"{number(planned_step.load)} {unit}: {plural(answer_count(), 'answer')}{time_left}")
            await asyncio.sleep(_REPORT_S)
