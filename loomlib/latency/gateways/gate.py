"""A gate on the time that a gateway adds to a tool call."""

from __future__ import annotations

from loomlib.experiments import Gate
from loomlib.presentation.formats import milliseconds
from loomlib.statistics.gates import decide_at_most

from .estimates import call_estimates
from .result import GatewayResult


def judge(result: GatewayResult, max_added_ms: float) -> Gate:
    """Compare the time that the gateway adds to a call with a limit.

    Args:
        result: The study.
        max_added_ms: The limit on the median, in milliseconds.
    """
    if max_added_ms <= 0:
        raise ValueError(f"a limit must be above 0 ms, not {max_added_ms}")
    estimates = call_estimates(result)
    decision = decide_at_most(estimates.added, max_added_ms, estimates.differences, percentile=0.5)
    text = f"p50 added to a call by the gateway: {estimates.added.text('ms')}, limit {milliseconds(max_added_ms)}"
    if decision.is_missed_by_all and estimates.added.value is None:
        text += f"; {decision.all_missed('pair')}"
    elif advice := decision.advice("pair"):
        text += f"; {advice}"
    return Gate(
        outcome=decision.outcome,
        limit=max_added_ms,
        figure=estimates.added,
        text=f"Gate {decision.outcome}: {text}.",
        data={"limit_ms": max_added_ms, "added_ms": estimates.added.summary(), "needed_n": decision.needed_n},
    )
