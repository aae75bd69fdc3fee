"""A step of a load test as it is stored: its load, its figures, and whether it holds the SLO."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from loomlib.experiments import MeasuredUnit, unit_fields
from loomlib.presentation.formats import NumberKind, exact
from loomlib.statistics import Estimate
from loomlib.store import MeasurementRow

from ..load.calls import INTERRUPTED, NOT_SENT, LoadCall
from ..load.columns import call_columns
from ..load.objectives import CostObjective, LatencyObjective
from ..load.slo import ObjectiveResult, Slo, exceeding

if TYPE_CHECKING:
    from ..load.engine import LoadStep
    from ..load.step_figures import StepFigures

WARM_UP_SHARE: Final = 0.2
"""The share of a step whose calls are excluded from percentiles: the step begins with an idle agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepObjective:
    """The result of a step for one objective of the SLO.

    Attributes:
        name: The figure: `p90 TTFT`, `errors`.
        kind: Its unit.
        limit: The limit, in that unit.
        outcome: "holds", "does not hold" or "not enough calls".
        figure: The figure with its 95 % interval.
        needed_n: About how many calls would decide it; None when it is decided or unknown.
    """

    name: str
    kind: NumberKind
    limit: float
    outcome: str
    figure: Estimate
    needed_n: int | None = None

    def stored(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        names = ("name", "kind", "limit", "outcome", "needed_n")
        return {**{name: getattr(self, name) for name in names}, "figure": self.figure.summary()}

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> StepObjective:
        """Return what `stored` wrote."""
        values: dict[str, Any] = {**stored, "figure": Estimate.read(stored["figure"])}
        return cls(**values)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadTestStep(MeasuredUnit):
    """One step.

    Attributes:
        load: Calls a second, or users of a closed loop; None before it was made.
        seconds: How long calls were offered.
        elapsed_s: Duration of the step up to its last answer, in seconds.
        outcome: "holds", "does not hold" or "not enough calls".
        is_met_by_estimates: Whether the figures themselves, without their intervals, are within the limits.
        figures: Its figures.
        connect_p50_ms: Median time to open a connection, of calls that opened one; None when all were reused.
        statuses: Unsuccessful responses, by HTTP status.
        objectives: The results that decided the outcome, in the SLO's order; empty for steps of earlier releases.
        kinds: Figures of the calls of each kind, such as "turn 2" or "16 kB"; empty when all are of one kind.
    """

    load: float | None = None
    seconds: float = 0.0
    elapsed_s: float = 0.0
    outcome: str = ""
    is_met_by_estimates: bool = False
    figures: StepFigures | None = field(default=None, repr=False)
    connect_p50_ms: float | None = None
    statuses: Mapping[str, int] = field(default_factory=dict[str, int])
    objectives: tuple[StepObjective, ...] = field(default=(), repr=False)
    kinds: Mapping[str, StepFigures] = field(default_factory=dict[str, "StepFigures"], repr=False)

    @classmethod
    def read(cls, row: MeasurementRow) -> LoadTestStep:
        """Return a stored step."""
        details = row.details
        if "load" not in details:
            return cls(**unit_fields(row))
        names = ("load", "seconds", "elapsed_s", "outcome", "connect_p50_ms", "statuses")
        return cls(
            **unit_fields(row),
            **{name: details[name] for name in names},
            is_met_by_estimates=details["looks_held"],
            figures=read_figures(details["figures"]),
            objectives=tuple(StepObjective.read(one) for one in details.get("objectives", ())),
            kinds={kind: read_figures(one) for kind, one in details.get("kinds", {}).items()},
        )


def evidence_from_s(seconds: float, slo: Slo) -> float:
    """Return the time from which the calls of a step count, in seconds, as in the search for the highest load.

    Args:
        seconds: How long calls are offered.
        slo: The SLO: the longest limit on a latency counts, too.
    """
    return max(WARM_UP_SHARE * seconds, min(slo.longest_limit_ms / 1e3, seconds / 2))


def step_details(
    step: LoadStep, calls: Sequence[LoadCall], slo: Slo, *, load: float, seconds: float, elapsed_s: float, users: bool,
    labels: Sequence[str] = (), is_scheduled: bool = True,
) -> dict[str, Any]:  # fmt: skip
    """Return the stored form of a step.

    Args:
        step: The step.
        calls: Its measured calls.
        slo: The objectives.
        load: The load.
        seconds: How long calls were offered.
        elapsed_s: How long the step took.
        users: Whether the load is a number of users.
        labels: The kind of each call, by the call's index in the step.
        is_scheduled: Whether all calls had scheduled start times.
    """
    from loomlib.statistics import percentile

    from ..load.step_figures import step_figures

    from_s = evidence_from_s(seconds, slo)
    evidence = [call.index for call in calls if call.intended_s >= from_s]
    sent_calls = [call for call in calls if call.state != NOT_SENT] if users else calls
    figures_of = partial(
        step_figures,
        sent_calls,
        seconds=seconds if is_scheduled and not users else None,
        slo=slo,
        cpu_s=step.cpu_s,
        processes=step.processes,
    )
    whole, steady = figures_of(), figures_of(only=evidence)
    figures = replace(whole, n=steady.n, ttft=steady.ttft, duration=steady.duration, errors=steady.errors)
    columns = call_columns(calls, from_s=from_s)
    result = slo.evaluate(columns)
    beyond = [exceeding(one, columns) for one in slo.objectives if not isinstance(one, CostObjective)]
    opened = [call.connect_ms for call in calls if call.connect_ms]
    statuses: dict[str, int] = {}
    for call in calls:
        if call.status is not None and call.status >= 300 and call.state != INTERRUPTED:
            statuses[str(call.status)] = statuses.get(str(call.status), 0) + 1
    return {
        "load": load,
        "seconds": seconds,
        "elapsed_s": elapsed_s,
        "outcome": result.outcome,
        "looks_held": all(hits.size and float(hits.mean()) <= allowed for hits, allowed in beyond),
        "figures": stored_figures(figures),
        "connect_p50_ms": percentile(opened, 0.5) if opened else None,
        "statuses": statuses,
        "objectives": [_objective(one).stored() for one in result.objectives],
        "kinds": {
            kind: stored_figures(figures_of(only=indexes)) for kind, indexes in _by_kind(evidence, labels).items()
        },
    }


def _by_kind(indexes: Sequence[int], labels: Sequence[str]) -> dict[str, list[int]]:
    """Return the calls of each kind, in the order in which kinds first occur; nothing when there is only one kind."""
    kinds: dict[str, list[int]] = {}
    for index in sorted(indexes):
        kinds.setdefault(labels[index] if index < len(labels) else "", []).append(index)
    return kinds if len(kinds) > 1 else {}


def _objective(one: ObjectiveResult) -> StepObjective:
    objective = one.objective
    is_latency = isinstance(objective, LatencyObjective)
    assert not isinstance(objective, CostObjective)  # limits of a step have none: `LoadDesign.limits`
    return StepObjective(
        name=objective.name,
        kind="ms" if is_latency else "share",
        limit=objective.limit_ms if is_latency else objective.limit,
        outcome=one.outcome,
        figure=one.figure,
        needed_n=one.needed_n,
    )


def stored_figures(figures: StepFigures) -> dict[str, Any]:
    """Return the figures of a step as JSON-ready values."""
    names = (
        "n", "seconds", "offered_per_s", "made_per_s", "waiting_p99_ms", "not_sent", "interrupted",
        "cpu_ms_per_call", "cpu_share",
    )  # fmt: skip
    return {
        **{name: getattr(figures, name) for name in names},
        "ttft": {str(p): one.estimate.summary() for p, one in figures.ttft.items()},
        "duration": {str(p): one.estimate.summary() for p, one in figures.duration.items()},
        "errors": figures.errors.estimate.summary(),
        "goodput": None if figures.goodput is None else figures.goodput.estimate.summary(),
        "failures": dict(figures.failures),
        "lag": {"p50_ms": figures.lag.p50_ms, "p99_ms": figures.lag.p99_ms},
    }


def read_figures(stored: Mapping[str, Any]) -> StepFigures:
    """Return the figures of a step from `stored_figures`."""
    from ..load.step_figures import ScheduleLag, StepFigure, StepFigures

    lag = ScheduleLag(**stored["lag"])

    def figure(name: str, estimate: Mapping[str, Any], kind: str) -> StepFigure:
        return StepFigure(name=name, estimate=Estimate.read(estimate), kind=cast("NumberKind", kind), lag=lag)

    def percentiles(name: str, of: Mapping[str, Any]) -> dict[float, StepFigure]:
        return {float(p): figure(f"p{exact(round(float(p) * 100))} {name}", one, "ms") for p, one in of.items()}

    read = {"ttft", "duration", "errors", "goodput", "failures", "lag"}
    return StepFigures(
        **{name: value for name, value in stored.items() if name not in read},
        ttft=percentiles("TTFT", stored["ttft"]),
        duration=percentiles("duration", stored["duration"]),
        errors=figure("errors", stored["errors"], "share"),
        goodput=None if stored["goodput"] is None else figure("goodput", stored["goodput"], "number"),
        failures=stored["failures"],
        lag=lag,
    )
