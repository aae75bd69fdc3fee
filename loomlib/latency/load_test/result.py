"""The result of a load test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from loomlib.dispatch import call
from loomlib.experiments import Gate, StudyRecord
from loomlib.store import MeasurementRow, StudyRow

from .design import LoadDesign
from .parts import StepParts
from .steps import LoadTestStep

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLoad:
    """The highest load that holds the SLO.

    Attributes:
        load: The estimate; None when even the lowest load does not hold.
        low: Lower end of its 95 % interval, or of the bracket.
        high: Upper end; None when the highest load that was offered holds.
        is_within_tolerance: Whether the interval is within the tolerance.
        reason: Why the search ended.
    """

    load: float | None
    low: float | None
    high: float | None
    is_within_tolerance: bool
    reason: str

    @property
    def is_between_steps(self) -> bool:
        """Whether `low` and `high` are loads of steps, not the interval of an estimate."""
        return self.load is not None and self.load == self.low


@dataclass(frozen=True, kw_only=True, repr=False)
class LoadResult(StudyRecord):
    """A load test as it is currently stored.

    Attributes:
        agent_name: The agent.
        qualifier: Its endpoint.
        steps: The steps, in the order in which they were made.
        found: The highest load that holds the SLO; None before it is known.
        parts: The time breakdown at some loads, by the step's position.
        traces_error: Why traces could not be read; empty otherwise.
    """

    agent_name: str
    qualifier: str
    design: LoadDesign
    steps: tuple[LoadTestStep, ...] = field(repr=False)
    found: FoundLoad | None
    parts: Mapping[int, StepParts] = field(repr=False)
    traces_error: str = ""

    @classmethod
    def read(cls, study: StudyRow, rows: Sequence[MeasurementRow]) -> dict[str, Any]:
        """Return the fields of a stored study."""
        environment = study.environment
        design = LoadDesign.read(study.design)
        steps = tuple(LoadTestStep.read(row) for row in rows)
        highest = _bounded(environment.get("highest"), design, steps)
        return {
            "agent_name": study.agent_name or study.agent_arn,
            "qualifier": str(environment.get("qualifier", "DEFAULT")),
            "design": design,
            "steps": steps,
            "found": highest,
            "parts": {int(place): StepParts.read(one) for place, one in environment.get("traces", {}).items()},
            "traces_error": str(environment.get("traces_error", "")),
        }

    @property
    def units(self) -> tuple[LoadTestStep, ...]:
        """The steps that were made and, while the test is not complete, the pending ones."""
        return self.steps if self.state != "complete" else tuple(step for step in self.steps if not step.is_pending)

    @property
    def subject_line(self) -> str:
        """The agent and its endpoint."""
        return f"{self.agent_name} · {self.qualifier}"

    @cached_property
    def by_load(self) -> tuple[LoadTestStep, ...]:
        """The steps that were made, by their load."""
        done_steps = [step for step in self.steps if step.is_done and step.load is not None]
        return tuple(sorted(done_steps, key=lambda step: (step.load or 0.0, step.position)))

    @property
    def low_step(self) -> LoadTestStep | None:
        """The step at the lowest load."""
        return self.by_load[0] if self.by_load else None

    @property
    def held_step(self) -> LoadTestStep | None:
        """The step at the highest load that is not above the one that was found."""
        limit = None if self.found is None else self.found.load
        below = [
            step
            for step in self.by_load
            if limit is not None and (step.load or 0.0) <= limit and step.is_met_by_estimates
        ]
        return below[-1] if below else None

    @property
    def knee_step(self) -> LoadTestStep | None:
        """The step at the lowest load beyond the one that was found; None when all hold."""
        limit = 0.0 if self.found is None or self.found.load is None else self.found.load
        beyond = [step for step in self.by_load if (step.load or 0.0) > limit and not step.is_met_by_estimates]
        clear = [step for step in beyond if (step.load or 0.0) > 1.1 * limit]
        return next(iter(clear or beyond), None)

    @property
    def traced_steps(self) -> tuple[LoadTestStep, ...]:
        """The steps whose traces are read: at the lowest load, at the one that holds, and beyond it."""
        chosen = {step.position: step for step in (self.low_step, self.held_step, self.knee_step) if step is not None}
        return tuple(chosen.values())

    @property
    def is_traced(self) -> bool:
        """Whether the traces of these steps were found."""
        return bool(self.parts) and all(
            step.position in self.parts and self.parts[step.position].n for step in self.traced_steps
        )

    @property
    def cost(self) -> StepParts | None:
        """The costs of calls in `cost_step`; None when no traces were read."""
        return None if self.cost_step is None else self.parts[self.cost_step.position]

    @property
    def cost_step(self) -> LoadTestStep | None:
        """The step whose calls' costs are known: at the load that holds, else at the lowest one."""
        steps = [step for step in (self.held_step, self.low_step) if step is not None]
        return next((step for step in steps if step.position in self.parts), None)

    def sentences(self) -> list[str]:
        """Return the load that holds, what limits it, and what it costs; then whether the measurement was disturbed."""
        disturbed = self.conditions.sentence()
        first, *others = self._view("sentences")
        return [first, *([disturbed] if disturbed else []), *others]

    def time_table(self) -> pd.DataFrame:
        """Return the time breakdown of a call: one row for each part, one column for each load with traces."""
        return call("LoadResult.where_time_goes", self).frame()

    def kind_table(self) -> pd.DataFrame:
        """Return one row for each kind of call at each load, such as "turn 2"; none when there is one kind only."""
        return call("LoadResult.kinds", self).frame()

    def gate(self, min_load: float, *, allow_overload: bool = False) -> Gate:
        """Compare the highest load that holds the SLO with the required load.

        Args:
            min_load: The required load, in calls a second or users.
            allow_overload: Whether to decide the gate also when the machine was overloaded.
        """
        gate: Gate = call("LoadResult.gate", self, min_load)
        return gate if allow_overload else gate.under(self.conditions)

    def gate_at(self, load: float, *, allow_overload: bool = False) -> Gate:
        """Decide whether the SLO holds at a load that was offered: passed, missed, or unclear, by 95 % intervals.

            LoadStudy(agent, slo="p90 TTFT < 800 ms, errors < 1 %", loads=[20]).run().gate_at(20)

        Args:
            load: One of the test's `loads`, in calls a second or users.
            allow_overload: Whether to decide the gate also when the machine was overloaded.

        Raises:
            ValueError: That load was not offered.
        """
        gate: Gate = call("LoadResult.gate_at", self, load)
        return gate if allow_overload else gate.under(self.conditions)


def _bounded(stored: Mapping[str, Any] | None, design: LoadDesign, steps: Sequence[LoadTestStep]) -> FoundLoad | None:
    """Return the result of the search, bounded by the steps on both sides when it has no interval."""
    if stored is None:
        return _of_steps(design, steps)
    highest = FoundLoad(**stored)
    between = _of_steps(design, steps)
    if highest.load is None or highest.low is not None or highest.high is not None or between is None:
        return highest
    return replace(between, reason=highest.reason)


def _of_steps(design: LoadDesign, steps: Sequence[LoadTestStep]) -> FoundLoad | None:
    """Return the highest load at which this and every lower step met the SLO; None before a step was run."""
    done_steps = sorted(
        (step for step in steps if step.is_done and step.load is not None), key=lambda step: step.load or 0.0
    )
    if not done_steps:
        return None
    failed_load = next((step.load for step in done_steps if not step.is_met_by_estimates), None)
    held_loads = [
        step.load
        for step in done_steps
        if step.is_met_by_estimates and (failed_load is None or (step.load or 0.0) < failed_load)
    ]
    load = held_loads[-1] if held_loads else None
    reason = "these loads were offered" if not design.is_search else "the test is not finished"
    return FoundLoad(load=load, low=load, high=failed_load, is_within_tolerance=False, reason=reason)
