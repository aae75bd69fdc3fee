"""The numbers of an agent, or of several together, over a time. A failed call is counted and never given a duration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from ..statistics import Estimate, estimate_mean, estimate_percentile, estimate_share
from ..store import INTERRUPTED
from ..telemetry.cost import Amount

if TYPE_CHECKING:
    from ..store import CostSum, Store
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
"""The numbers that a rule can be about, and their units."""

Values = NDArray[np.float64]

NOT_THE_AGENTS: Final = (INTERRUPTED, "cancelled")
"""Classes of failure that are the asker's doing."""

_SEED: Final = 0
_NOTHING: Final = np.array([], dtype=np.float64)
_RESAMPLES: Final = 2_000
"""Enough for two digits of an interval's ends, and for a hundred agents at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What is known of some invocations.

    `failures` counts the failed by class. `open` are those still under way, `interrupted` those whose asker stopped
    listening or ended first: neither says anything of the agent, and the error rate leaves them out. Cold starts are
    known of `cold_start_mean.n` of the `sessions`; `priced` counts the invocations whose cost was looked up (the
    others are unknown items of `cost`). `unreached` ended without having reached the agent (never sent, throttled or
    refused): of these it is known that they cost nothing.
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

    def number(self, name: str) -> Estimate:
        """One of `NUMBERS` with its doubt. Counts are exact; a cost is "at least" where some of it is unknown."""
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
        raise ValueError(f"{name!r} is none of {', '.join(NUMBERS)}")

    def row(self) -> dict[str, Any]:
        """One row of a table: plain numbers with their ends and n; None where n is too small."""
        found: dict[str, Any] = {
            "invocations": self.invocations, "failed": self.failed, "open": self.open, "sessions": self.sessions,
        }  # fmt: skip
        for name in ("error_rate", "cold_start_mean_ms", "cold_start_p90_ms", "duration_p50_ms", "duration_p90_ms"):
            estimate = self.number(name)
            found |= {
                name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high,
                f"{name}_n": estimate.n,
            }  # fmt: skip
        return found | {
            "cost": self.cost.value, "cost_state": self.cost.state, "currency": self.cost.currency,
            "priced": self.priced, "simulated": self.simulated, "unreached": self.unreached,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFigures:
    """The numbers of all agents together, and of each by its id in the catalog."""

    total: Figures
    by_agent: Mapping[int, Figures]


@dataclass(slots=True)
class _Seen:
    """What the store counted of one agent, or of all. `durations` are in order: they are sorted once."""

    outcomes: Counter[tuple[str, str | None]]
    unreached: int
    sessions: int
    cold_starts: Values
    durations: Values
    costs: Sequence[CostSum]

    def figures(self) -> Figures:
        by_status: Counter[str] = Counter()
        failures: Counter[str] = Counter()
        for (status, failure), count in self.outcomes.items():
            by_status[status] += count
            if status == "error":
                failures[failure or "unknown"] += count
        interrupted = sum(failures.pop(each, 0) for each in NOT_THE_AGENTS)
        failed, complete = sum(failures.values()), by_status["complete"]
        ended = failed + complete
        priced = sum(each.priced for each in self.costs)
        return Figures(
            invocations=sum(by_status.values()),
            complete=complete,
            failed=failed,
            open=by_status["pending"] + by_status["streaming"],
            interrupted=interrupted,
            failures=dict(failures.most_common()),
            sessions=self.sessions,
            error_rate=estimate_share(failed, ended),
            cold_start_mean=estimate_mean(self.cold_starts, bounds=None),
            cold_start_p90=_percentile(self.cold_starts, 0.9),
            duration_p50=_percentile(self.durations, 0.5),
            duration_p90=_percentile(self.durations, 0.9),
            cost=_cost(self.costs, without=max(0, ended + interrupted - self.unreached - priced)),
            priced=priced,
            simulated=sum(each.simulated for each in self.costs),
            unreached=self.unreached,
        )


def read_figures(store: Store, agent_ids: Sequence[int], window: Window) -> AgentFigures:
    """The numbers of these agents over a time; an agent that was never asked has them too, without values."""
    ids, since, until = list(agent_ids), window.since, window.until
    outcomes: dict[int, Counter[tuple[str, str | None]]] = {id: Counter() for id in ids}
    unreached: Counter[int] = Counter()
    for each in store.figures.outcomes(ids, since, until):
        outcomes[each.agent_id][each.status, each.failure] += each.count
        if each.status in ("complete", "error") and not each.reached:
            unreached[each.agent_id] += each.count
    sessions = store.figures.sessions(ids, since, until)
    cold_starts = store.figures.cold_starts(ids, since, until)
    durations = store.figures.durations(ids, since, until)
    costs = store.figures.costs(ids, since, until)
    seen = {
        id: _Seen(
            outcomes=outcomes[id],
            unreached=unreached[id],
            sessions=sessions.get(id, 0),
            cold_starts=np.array(cold_starts.get(id, ()), dtype=np.float64),
            durations=np.sort(np.array(durations.get(id, ()), dtype=np.float64)),
            costs=[each for each in costs if each.agent_id == id],
        )
        for id in ids
    }
    by_agent = {id: each.figures() for id, each in seen.items()}
    return AgentFigures(total=by_agent[ids[0]] if len(ids) == 1 else _together(seen.values()), by_agent=by_agent)


def _together(seen: Iterable[_Seen]) -> Figures:
    parts = list(seen)
    outcomes: Counter[tuple[str, str | None]] = Counter()
    for each in parts:
        outcomes.update(each.outcomes)
    whole = _Seen(
        outcomes=outcomes,
        unreached=sum(each.unreached for each in parts),
        sessions=sum(each.sessions for each in parts),
        cold_starts=np.concatenate([each.cold_starts for each in parts] or [_NOTHING]),
        # A stable sort merges what is in order already.
        durations=np.sort(np.concatenate([each.durations for each in parts] or [_NOTHING]), kind="stable"),
        costs=[cost for each in parts for cost in each.costs],
    )
    return whole.figures()


def _percentile(values: Values, p: float) -> Estimate:
    return estimate_percentile(values, p, seed=_SEED, resamples=_RESAMPLES)


def _cost(costs: Sequence[CostSum], *, without: int) -> Amount:
    """The sum; an ended invocation that nobody priced is an unknown item. Of several currencies the sum is unknown."""
    currencies = {each.currency for each in costs}
    if len(currencies) > 1:
        return Amount(unknown=without + sum(each.priced for each in costs))
    known = sum((each.known for each in costs), start=Amount().known)
    return Amount(
        known=known,
        unknown=without + sum(each.unknown for each in costs),
        is_estimate=any(each.is_estimate for each in costs),
        currency=next(iter(currencies), "USD"),
    )


def _of_cost(amount: Amount, priced: int) -> Estimate:
    value = amount.value
    if value is None or not priced:
        reason = "no cost is known" if amount.unknown else "no calls"
        return Estimate.missing(reason, n=priced, confidence=1.0, method="sum of known costs", needed_n=1)
    return Estimate(
        value=value, low=value, high=value, n=priced, confidence=1.0, method="sum of known costs",
        open_above=amount.unknown > 0,
    )  # fmt: skip


def _exactly(count: int, *, n: int) -> Estimate:
    return Estimate(value=count, low=count, high=count, n=n, confidence=1.0, method="counted")
