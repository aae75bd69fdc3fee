"""Verdicts on a limit by a whole confidence interval: passed, missed, or unclear.

One rule takes precedence over the interval: a limit that every single measurement misses is missed, however few there
are. A gate with too few measurements for an interval could otherwise never fail.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from ..presentation.formats import number, plural
from .estimates import Estimate
from .percentiles import bounded_from

PASSED: Final = "passed"
MISSED: Final = "missed"
UNCLEAR: Final = "unclear"
GATE_OUTCOMES: Final = (PASSED, MISSED, UNCLEAR)
_MOST_NEEDED: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The verdict on a figure and its limit, and what is needed for a decision.

    Attributes:
        outcome: "passed", "missed" or "unclear".
        n: Sample size of the figure.
        measured: Number of single measurements: more than `n` where several belong to one case.
        is_missed_by_all: Whether every single measurement misses the limit.
        needed_n: Number of measurements that would decide an unclear gate if the figure stays where it is; None when
            it is decided, or when that number is not known.
    """

    outcome: str
    n: int
    measured: int
    is_missed_by_all: bool = False
    needed_n: int | None = None

    def advice(self, noun: str) -> str:
        """Return how many measurements an unclear gate needs; "" for a decided one.

        Args:
            noun: What was measured, such as "warm call".
        """
        if self.outcome != UNCLEAR:
            return ""
        total = f"there {'is' if self.n == 1 else 'are'} {number(self.n, 0)}"
        if self.needed_n is None:
            return f"more {plural(2, noun).partition(' ')[2]} are needed to decide ({total})"
        if self.needed_n > _MOST_NEEDED:
            return f"the figure is too close to the limit: more than {plural(_MOST_NEEDED, noun)} are needed ({total})"
        verb = "is" if self.needed_n == 1 else "are"
        return f"about {plural(self.needed_n, noun)} {verb} needed to decide ({total})"

    def all_missed(self, noun: str) -> str:
        """Describe that every measurement misses the limit: `all 3 warm calls miss the limit`.

        Args:
            noun: What was measured, such as "warm call".
        """
        if self.measured == 1:
            return f"the only {noun} misses the limit"
        return f"all {plural(self.measured, noun)} miss the limit"


def decide_at_least(estimate: Estimate, limit: float, values: Iterable[float]) -> Decision:
    """Decide a gate on the smallest acceptable value.

    Args:
        estimate: The figure with its interval.
        limit: The least that is acceptable, in the figure's unit.
        values: The single measurements of which the figure is an estimate; 0 or 1 for a rate.
    """
    return _decide(outcome_at_least(estimate, limit), estimate, limit, [value < limit for value in values])


def decide_at_most(
    estimate: Estimate,
    limit: float,
    values: Iterable[float],
    *,
    allow_open: bool = False,
    percentile: float | None = None,
) -> Decision:
    """Decide a gate on the largest allowed value.

    Args:
        estimate: The figure with its interval.
        limit: The most that is allowed, in the figure's unit.
        values: The single measurements of which the figure is an estimate.
        allow_open: Whether an interval whose upper end is open can pass.
        percentile: The percentile that the figure is, as a share between 0 and 1; None for other figures. Without
            `allow_open`, the gate needs enough measurements to bound it above.
    """
    outcome = outcome_at_most(estimate, limit, allow_open=allow_open)
    bounded_n = 0 if allow_open or percentile is None else bounded_from(percentile, estimate.confidence)
    return _decide(outcome, estimate, limit, [value > limit for value in values], bounded_n=bounded_n)


def decide_not_worse(difference: Estimate, margin: float, values: Iterable[float]) -> Decision:
    """Decide a gate against a baseline; see `outcome_not_worse`.

    Args:
        difference: New minus baseline; more is better.
        margin: Largest accepted loss of the new version.
        values: The single differences.
    """
    return _decide(outcome_not_worse(difference, margin), difference, -margin, [value < -margin for value in values])


def _decide(outcome: str, estimate: Estimate, limit: float, misses: list[bool], *, bounded_n: int = 0) -> Decision:
    n, measured = estimate.n, len(misses)
    if misses and all(misses):
        return Decision(outcome=MISSED, n=n, measured=measured, is_missed_by_all=True)
    needed_n = _needed(estimate, limit, n, bounded_n) if outcome == UNCLEAR else None
    return Decision(outcome=outcome, n=n, measured=measured, needed_n=needed_n)


def _needed(estimate: Estimate, limit: float, n: int, bounded_n: int) -> int | None:
    """Return the sample size at which the interval would no longer contain the limit.

    The interval's half on the limit's side shrinks with the square root of the sample size. An upper end that the
    verdict needs is known from `bounded_n` measurements.
    """
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return None if estimate.needed_n is None else max(estimate.needed_n, bounded_n)
    if not n:
        return None
    distance = abs(limit - estimate.value)
    least = n + 1
    if limit >= estimate.value:
        half = estimate.high - estimate.value
        least = max(least, bounded_n)
    else:
        half = estimate.value - estimate.low
    if not half:  # an interval without width, or open above: its width says nothing about the size needed
        return bounded_n if bounded_n > n else None
    if distance <= half * math.sqrt(n / (_MOST_NEEDED + 1)):
        return _MOST_NEEDED + 1
    return max(least, math.ceil(n * (half / distance) ** 2))


def outcome_at_least(estimate: Estimate, limit: float) -> str:
    """Compare a figure with the smallest acceptable value.

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
    """Compare a figure with the largest allowed value.

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
        margin: Largest accepted loss of the new version, 0 or above, in the difference's unit.

    Returns:
        "missed" when the whole interval is worse than the margin, "passed" when none of it is, else "unclear".
    """
    if margin < 0:
        raise ValueError(f"a margin must be 0 or above, not {margin}")
    return outcome_at_least(difference, -margin)
