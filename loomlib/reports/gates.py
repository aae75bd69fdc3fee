"""A gate on the 90th percentile of calls' durations, decided on its confidence interval."""

from __future__ import annotations

from collections.abc import Sequence

from loomlib.experiments import Gate
from loomlib.presentation.formats import milliseconds, plural
from loomlib.statistics.estimates import Estimate
from loomlib.statistics.gates import MISSED, PASSED, Decision, decide_at_most
from loomlib.statistics.percentiles import estimate_percentile


def judge_durations(durations_ms: Sequence[float], max_p90_ms: float) -> Gate:
    """Compare the 90th percentile of durations (ms) with a limit.

    Args:
        durations_ms: Durations of answered calls.
        max_p90_ms: The limit, in milliseconds.
    """
    p90 = estimate_percentile(durations_ms, 0.9)
    decision = decide_at_most(p90, max_p90_ms, durations_ms, allow_open=True)
    return Gate(
        outcome=decision.outcome,
        limit=max_p90_ms,
        figure=p90,
        text=_sentence(decision, max_p90_ms, p90),
        data={"limit_ms": max_p90_ms, "p90": p90.summary(), "needed_n": decision.needed_n},
    )


def _sentence(decision: Decision, limit_ms: float, p90: Estimate) -> str:
    limit = milliseconds(limit_ms)
    if p90.value is None and decision.outcome == MISSED:
        return f"Gate missed: {decision.all_missed('answered call')} of {limit}."
    if p90.value is None:
        return (
            f"Gate unclear: {plural(p90.n, 'answered call')}, {p90.needed_n} are needed to judge the limit of {limit}."
        )
    measured = f"p90 {milliseconds(p90.value)} (95 % interval {p90.interval_text('ms')}), limit {limit}"
    if decision.outcome == MISSED:
        return f"Gate missed by {milliseconds(p90.value - limit_ms)}: {measured}."
    if decision.outcome == PASSED:
        return f"Gate passed: {measured}."
    return f"Gate unclear: {measured}; {decision.advice('call')}."
