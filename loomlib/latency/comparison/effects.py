"""Differences between agents with their intervals: percentiles of durations, and shares of failed calls."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from loomlib.statistics.estimates import Estimate
from loomlib.statistics.percentiles import (
    CONFIDENCE,
    difference_of,
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


def difference_confidence(result: ComparisonResult) -> float:
    """Return the confidence level of each difference from the first agent: with k agents, 1 − 5 % / (k − 1).

    All intervals of one figure together then contain the true differences in at least 95 % of studies (Bonferroni;
    Dunn, Multiple comparisons among means, JASA 56:293, 1961).
    """
    return 1 - (1 - CONFIDENCE) / (len(result.design.agents) - 1)


def effects(result: ComparisonResult) -> list[AgentEffect]:
    """Return the estimates of each agent, in the design's order."""
    first, *others = result.design.agents
    agent_effects = [_estimates(result, first)]
    for label in others:
        agent_effects.append(_against(result, first, _estimates(result, label)))
    return agent_effects


def _estimates(result: ComparisonResult, label: str) -> AgentEffect:
    durations = _durations(result, label)
    return AgentEffect(
        agent=label,
        p50=estimate_percentile(durations, 0.5),
        p90=estimate_percentile(durations, 0.9),
        failures=_failures(result, label, CONFIDENCE),
    )


def _against(result: ComparisonResult, first: str, effect: AgentEffect) -> AgentEffect:
    level = difference_confidence(result)
    before, after = _durations(result, first), _durations(result, effect.agent)
    failures = [_failures(result, label, level) for label in (first, effect.agent)]
    return replace(
        effect,
        p50_difference=estimate_percentile_difference(before, after, 0.5, confidence=level),
        p90_difference=estimate_percentile_difference(before, after, 0.9, confidence=level),
        failure_difference=difference_of(*failures, method=SHARE_DIFFERENCE_METHOD, needed_n=1),
    )


def _durations(result: ComparisonResult, label: str) -> list[float]:
    return [call.duration_ms for call in result.of(label) if call.is_done and call.duration_ms is not None]


def _failures(result: ComparisonResult, label: str, confidence: float) -> Estimate:
    ended_calls = [call for call in result.of(label) if not call.is_pending]
    return estimate_share(sum(call.is_failed for call in ended_calls), len(ended_calls), confidence=confidence)
