"""Differences between agents with their intervals: percentiles of durations, and shares of failed calls."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from loomlib.statistics.estimates import Estimate
from loomlib.statistics.percentiles import (
    CONFIDENCE,
    estimate_percentile,
    estimate_percentile_difference,
    estimate_share,
)

from .result import ComparisonResult

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
    labels = list(result.design.agents)
    first = _durations(result, labels[0])
    found: list[AgentEffect] = []
    for place, label in enumerate(labels):
        durations, failures = _durations(result, label), _failures(result, label)
        is_other = place > 0
        found.append(
            AgentEffect(
                agent=label,
                p50=estimate_percentile(durations, 0.5),
                p90=estimate_percentile(durations, 0.9),
                failures=failures,
                p50_difference=estimate_percentile_difference(first, durations, 0.5) if is_other else None,
                p90_difference=estimate_percentile_difference(first, durations, 0.9) if is_other else None,
                failure_difference=_share_difference(found[0].failures, failures) if is_other else None,
            )
        )
    return found


def _durations(result: ComparisonResult, label: str) -> list[float]:
    return [call.duration_ms for call in result.of(label) if call.is_done and call.duration_ms is not None]


def _failures(result: ComparisonResult, label: str) -> Estimate:
    made = [call for call in result.of(label) if not call.is_pending]
    return estimate_share(sum(call.is_failed for call in made), len(made))


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
