"""Metrics of one agent or several over a time window; a failed invocation is counted and has no duration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..statistics import Estimate, estimate_mean, estimate_percentile, estimate_percentiles, estimate_share
from ..store import INTERRUPTED, CallFigures, CostSum, Store
from ..telemetry.cost import Amount
from .window import Window

NUMBERS: Final[Mapping[str, str]] = {
    "error_rate": "share",
    "cold_start_mean_ms": "ms",
    "cold_start_p90_ms": "ms",
    "duration_p50_ms": "ms",
    "duration_p90_ms": "ms",
    "cost": "USD",
    "invocations": "calls",
    "sessions": "sessions",
}
"""The metrics that an alert rule can use, and their units."""

FloatArray = NDArray[np.float64]

CALLER_FAILURES: Final = (INTERRUPTED, "cancelled")
"""Kinds of failure caused by the caller, not the agent."""

_NOTHING: Final = np.array([], dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Metrics of a set of invocations.

    Attributes:
        invocations: Number of invocations.
        complete: Invocations with a complete answer.
        failed: Invocations that failed.
        open: Invocations still running; excluded from the error rate.
        interrupted: Invocations whose caller stopped or ended first; excluded from the error rate.
        failures: Failed invocations by kind of failure.
        sessions: Number of sessions.
        error_rate: Share of ended invocations that failed.
        cold_start_mean: Mean cold start in ms, over the sessions whose cold start is known (its `n`).
        cold_start_p90: 90th percentile of the cold start in ms.
        duration_p50: Median duration of complete answers in ms.
        duration_p90: 90th percentile of the duration in ms.
        cost: Total cost; invocations without a known cost are its unknown items.
        priced: Invocations whose cost was looked up.
        simulated: Invocations with a simulated cost.
        unreached: Invocations that ended before they reached the agent (never sent, throttled or refused); they cost
            nothing.
        observed: Mean or percentile in ms of the few values known, by metric, where they are too few for an estimate.
    """

    invocations: int
    complete: int
    failed: int
    open: int
    interrupted: int
    failures: Mapping[str, int]
    sessions: int
    error_rate: Estimate
    cold_start_mean: Estimate
    cold_start_p90: Estimate
    duration_p50: Estimate
    duration_p90: Estimate
    cost: Amount
    priced: int
    simulated: int
    unreached: int = 0
    observed: Mapping[str, float] = field(default_factory=dict[str, float])

    def number(self, name: str) -> Estimate:
        """Return one of the metrics in `NUMBERS` with its interval.

        Counts are exact; a cost is a lower bound when part of it is unknown. A cost in another currency has no value in
        dollars; its estimate's reason states it.
        """
        estimates = {
            "error_rate": self.error_rate,
            "cold_start_mean_ms": self.cold_start_mean,
            "cold_start_p90_ms": self.cold_start_p90,
            "duration_p50_ms": self.duration_p50,
            "duration_p90_ms": self.duration_p90,
        }
        if name in estimates:
            return estimates[name]
        if name == "cost":
            return _of_cost(self.cost, self.priced + self.unreached)
        if name in ("invocations", "sessions"):
            count = self.invocations if name == "invocations" else self.sessions
            return _exactly(count, n=count)
        raise ValueError(f"the metric must be one of {', '.join(NUMBERS)}, not {name!r}")

    def row(self) -> dict[str, Any]:
        """Return one row of a table: values, interval bounds and n; None where n is too small."""
        row: dict[str, Any] = {
            "invocations": self.invocations, "failed": self.failed, "open": self.open, "sessions": self.sessions,
        }  # fmt: skip
        for name in ("error_rate", "cold_start_mean_ms", "cold_start_p90_ms", "duration_p50_ms", "duration_p90_ms"):
            estimate = self.number(name)
            row |= {
                name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high,
                f"{name}_n": estimate.n,
            }  # fmt: skip
        return row | {
            "cost": self.cost.value, "cost_state": self.cost.state, "currency": self.cost.currency,
            "priced": self.priced, "simulated": self.simulated, "unreached": self.unreached,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFigures:
    """Metrics of all agents together, and of each by its id in the catalog."""

    total: Figures
    by_agent: Mapping[int, Figures]


@dataclass(slots=True)
class _Counts:
    """Counts from the store for one agent or all."""

    outcomes: Counter[tuple[str, str | None]]
    unreached: int
    sessions: int
    cold_starts: FloatArray
    durations: FloatArray
    costs: Sequence[CostSum]

    def figures(self) -> Figures:
        by_status: Counter[str] = Counter()
        failures: Counter[str] = Counter()
        for (status, failure), count in self.outcomes.items():
            by_status[status] += count
            if status == "error":
                failures[failure or "unknown"] += count
        interrupted = sum(failures.pop(kind, 0) for kind in CALLER_FAILURES)
        failed, complete = sum(failures.values()), by_status["complete"]
        ended = failed + complete
        priced = sum(cost.priced for cost in self.costs)
        duration_p50, duration_p90 = estimate_percentiles(self.durations, (0.5, 0.9))
        estimates = {
            "cold_start_mean_ms": estimate_mean(self.cold_starts, bounds=None),
            "cold_start_p90_ms": estimate_percentile(self.cold_starts, 0.9),
            "duration_p50_ms": duration_p50,
            "duration_p90_ms": duration_p90,
        }
        return Figures(
            invocations=sum(by_status.values()),
            complete=complete,
            failed=failed,
            open=by_status["pending"] + by_status["streaming"],
            interrupted=interrupted,
            failures=dict(failures.most_common()),
            sessions=self.sessions,
            error_rate=estimate_share(failed, ended),
            cold_start_mean=estimates["cold_start_mean_ms"],
            cold_start_p90=estimates["cold_start_p90_ms"],
            duration_p50=estimates["duration_p50_ms"],
            duration_p90=estimates["duration_p90_ms"],
            cost=_cost(self.costs, without=max(0, ended + interrupted - self.unreached - priced)),
            priced=priced,
            simulated=sum(cost.simulated for cost in self.costs),
            unreached=self.unreached,
            observed={name: self._observed(name) for name, one in estimates.items() if one.n and not one.is_known},
        )

    def _observed(self, name: str) -> float:
        values = self.cold_starts if name.startswith("cold_start") else self.durations
        return float(values.mean() if name.endswith("mean_ms") else np.quantile(values, 0.5 if "p50" in name else 0.9))


def read_figures(store: Store, agent_ids: Sequence[int], window: Window) -> AgentFigures:
    """Read the metrics of agents over a time window.

    An agent without invocations has metrics too, without values.

    Args:
        store: The store.
        agent_ids: The agents' ids in the catalog.
        window: The time window.
    """
    ids = list(agent_ids)
    calls = store.call_figures.read(ids, window.since, window.until)
    counts = {id: _count(call_figures) for id, call_figures in calls.items()}
    by_agent = {id: counted.figures() for id, counted in counts.items()}
    return AgentFigures(total=by_agent[ids[0]] if len(ids) == 1 else _together(counts.values()), by_agent=by_agent)


def _count(calls: CallFigures) -> _Counts:
    outcomes: Counter[tuple[str, str | None]] = Counter()
    unreached = 0
    for outcome in calls.outcomes:
        outcomes[outcome.status, outcome.failure] += outcome.count
        if outcome.status in ("complete", "error") and not outcome.reached:
            unreached += outcome.count
    return _Counts(
        outcomes=outcomes,
        unreached=unreached,
        sessions=calls.sessions,
        cold_starts=calls.cold_starts,
        durations=calls.durations,
        costs=calls.costs,
    )


def _together(counts: Iterable[_Counts]) -> Figures:
    parts = list(counts)
    outcomes: Counter[tuple[str, str | None]] = Counter()
    for part in parts:
        outcomes.update(part.outcomes)
    whole = _Counts(
        outcomes=outcomes,
        unreached=sum(part.unreached for part in parts),
        sessions=sum(part.sessions for part in parts),
        cold_starts=np.concatenate([part.cold_starts for part in parts] or [_NOTHING]),
        durations=np.concatenate([part.durations for part in parts] or [_NOTHING]),
        costs=[cost for part in parts for cost in part.costs],
    )
    return whole.figures()


def _cost(costs: Sequence[CostSum], *, without: int) -> Amount:
    """Sum costs; an ended invocation without a price is an unknown item, and a sum of several currencies is unknown."""
    currencies = {cost.currency for cost in costs}
    if len(currencies) > 1:
        return Amount(unknown=without + sum(cost.priced for cost in costs))
    known_total = sum((cost.known for cost in costs), start=Amount().known)
    return Amount(
        known=known_total,
        unknown=without + sum(cost.unknown for cost in costs),
        is_estimate=any(cost.is_estimate for cost in costs),
        currency=next(iter(currencies), "USD"),
    )


def _of_cost(amount: Amount, priced: int) -> Estimate:
    value = amount.value
    if value is None or not priced:
        reason = "no known cost" if amount.unknown else "no invocations"
        return Estimate.missing(reason, n=priced, confidence=1.0, method="sum of known costs", needed_n=1)
    if amount.currency != "USD":
        reason = f"{amount}, which is not in USD"
        return Estimate.missing(reason, n=priced, confidence=1.0, method="sum of known costs")
    return Estimate(
        value=value, low=value, high=value, n=priced, confidence=1.0, method="sum of known costs",
        open_above=amount.unknown > 0,
    )  # fmt: skip


def _exactly(count: int, *, n: int) -> Estimate:
    return Estimate(value=count, low=count, high=count, n=n, confidence=1.0, method="counted")
