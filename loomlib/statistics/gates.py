"""Verdicts on a limit by a whole confidence interval: passed, missed, or unclear."""

from __future__ import annotations

from typing import Final

from .estimates import Estimate

PASSED: Final = "passed"
MISSED: Final = "missed"
UNCLEAR: Final = "unclear"
GATE_OUTCOMES: Final = (PASSED, MISSED, UNCLEAR)


def outcome_at_least(estimate: Estimate, limit: float) -> str:
    """Compare a figure with the least that is acceptable.

    Args:
        estimate: The figure with its interval.
        limit: The least that is acceptable, in the figure's unit.

    Returns:
        "missed" when the whole interval is below `limit`, "passed" when it is at or above it, else "unclear".
    """
    if estimate.low is None or estimate.high is None:
        return UNCLEAR
    if estimate.high < limit and not estimate.open_above:
        return MISSED
    return PASSED if estimate.low >= limit else UNCLEAR


def outcome_at_most(estimate: Estimate, limit: float, *, allow_open: bool = False) -> str:
    """Compare a figure with the most that is allowed.

    Args:
        estimate: The figure with its interval.
        limit: The most that is allowed, in the figure's unit.
        allow_open: Whether an interval whose upper end is open (see `Estimate.open_above`) can pass.

    Returns:
        "missed" when the whole interval is above `limit`, "passed" when it is at or below it, else "unclear".
    """
    if estimate.low is None or estimate.high is None:
        return UNCLEAR
    if estimate.low > limit:
        return MISSED
    return PASSED if estimate.high <= limit and (allow_open or not estimate.open_above) else UNCLEAR


def outcome_not_worse(difference: Estimate, margin: float) -> str:
    """Compare a difference with a margin of non-inferiority (Piaggio et al., CONSORT, JAMA 308:24, 2012).

    Args:
        difference: New minus baseline; more is better.
        margin: The most that the new version may be worse, 0 or above, in the difference's unit.

    Returns:
        "missed" when the whole interval is worse than the margin, "passed" when none of it is, else "unclear".
    """
    if margin < 0:
        raise ValueError(f"a margin is 0 or above, not {margin}")
    return outcome_at_least(difference, -margin)
