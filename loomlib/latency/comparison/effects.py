"""Differences between agents with their intervals: percentiles of durations, and shares of failed calls."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from loomlib.statistics.estimates import Estimate
from loomlib.statistics.percentiles import (
    CONFIDENCE,
    estimate_percentile,
    estimate_share,
    is_bounded_above,
    percentile,
    percentile_replicates,
)

from .result import ComparisonResult

EFFECT_METHOD: Final = "difference of percentiles, percentile bootstrap of both samples"
SHARE_DIFFERENCE_METHOD: Final = "Newcombe's score interval"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEffect:
    """One agent's estimates and their differences from the first agent's (this one minus the first).

    Attributes:
        agent: Its label.
        p50: Median duration of its answered calls, in milliseconds.
        p90: 90th percentile, in milliseconds.
        failures: Share of its calls that failed, 0 to 1.
        p50_difference: Difference of the medians in milliseconds; None for the first agent.
        p90_difference: Difference of the 90th percentiles.
        failure_difference: Difference of the shares of failed calls.
    """

    agent: str
    p50: Estimate
    p90: Estimate
    failures: Estimate
    p50_difference: Estimate | None = None
    p90_difference: Estimate | None = None
    failure_difference: Estimate | None = None


def effects(result: ComparisonResult) -> list[AgentEffect]:
    """Return the estimates of each agent, in the design's order."""
    seed, labels = result.design.seed, list(result.design.agents)
    first = _durations(result, labels[0])
    found: list[AgentEffect] = []
    for place, label in enumerate(labels):
        durations, failures = _durations(result, label), _failures(result, label)
        is_other = place > 0
        found.append(
            AgentEffect(
                agent=label,
                p50=estimate_percentile(durations, 0.5, seed=seed),
                p90=estimate_percentile(durations, 0.9, seed=seed),
                failures=failures,
                p50_difference=_percentile_difference(first, durations, 0.5, seed) if is_other else None,
                p90_difference=_percentile_difference(first, durations, 0.9, seed) if is_other else None,
                failure_difference=_share_difference(found[0].failures, failures) if is_other else None,
            )
        )
    return found


def _durations(result: ComparisonResult, label: str) -> list[float]:
    return [call.duration_ms for call in result.of(label) if call.is_done and call.duration_ms is not None]


def _failures(result: ComparisonResult, label: str) -> Estimate:
    made = [call for call in result.of(label) if not call.is_pending]
    return estimate_share(sum(call.is_failed for call in made), len(made))


def _percentile_difference(first: list[float], second: list[float], p: float, seed: int) -> Estimate:
    """Estimate a difference of percentiles; without a value where a sample is too small to bound its percentile."""
    import numpy as np

    estimates = [estimate_percentile(values, p, seed=seed) for values in (first, second)]
    n = min(len(first), len(second))
    if not all(is_bounded_above(p, len(values)) for values in (first, second)) or any(
        e.value is None for e in estimates
    ):
        needed = max(6, math.ceil(math.log((1 - CONFIDENCE) / 2) / math.log(p)))
        return Estimate.missing("n too small", n=n, confidence=CONFIDENCE, method=EFFECT_METHOD, needed_n=needed)
    value = percentile(second, p) - percentile(first, p)
    # Two streams of one seed: the samples are independent, and so are their resamples.
    replicates = percentile_replicates(second, p, seed=seed + 1) - percentile_replicates(first, p, seed=seed)
    tail = (1 - CONFIDENCE) / 2
    low, high = (float(end) for end in np.quantile(replicates, (tail, 1 - tail)))
    return Estimate(
        value=value, low=min(low, value), high=max(high, value), n=n, confidence=CONFIDENCE, method=EFFECT_METHOD
    )


def _share_difference(first: Estimate, second: Estimate) -> Estimate:
    """Estimate a difference of shares from their Wilson intervals.

    Newcombe, Interval estimation for the difference between independent proportions, Statistics in Medicine 17, 1998,
    method 10.
    """
    n = min(first.n, second.n)
    ends = (first.value, first.low, first.high, second.value, second.low, second.high)
    if any(end is None for end in ends):
        return Estimate.missing("no calls", n=n, confidence=CONFIDENCE, method=SHARE_DIFFERENCE_METHOD, needed_n=1)
    p1, l1, u1, p2, l2, u2 = (float(end or 0.0) for end in ends)
    return Estimate(
        value=p2 - p1,
        low=p2 - p1 - math.hypot(p2 - l2, u1 - p1),
        high=p2 - p1 + math.hypot(u2 - p2, p1 - l1),
        n=n,
        confidence=CONFIDENCE,
        method=SHARE_DIFFERENCE_METHOD,
    )
