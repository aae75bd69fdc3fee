"""A limit held against a whole interval: passed, missed, or unclear. A number without its doubt decides nothing."""

from __future__ import annotations

from typing import Final

from .estimates import Estimate

PASSED: Final = "passed"
MISSED: Final = "missed"
UNCLEAR: Final = "unclear"
GATE_OUTCOMES: Final = (PASSED, MISSED, UNCLEAR)


def outcome_at_least(estimate: Estimate, limit: float) -> str:
    """Missed when the whole interval lies below `limit`, passed when it lies at or above it, else unclear."""
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
    """How a difference (new minus baseline; more is better) stands to a margin of non-inferiority.

    Missed only when it is worse by more than `margin` (0 or above, in the difference's unit) beyond doubt, passed when
    being worse by more than that is ruled out (Piaggio et al., CONSORT for non-inferiority trials, JAMA 308:24, 2012),
    else unclear: the cases are too few to tell.
    """
    if margin < 0:
        raise ValueError(f"a margin is 0 or above, not {margin}")
    return outcome_at_least(difference, -margin)
