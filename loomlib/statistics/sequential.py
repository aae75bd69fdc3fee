"""Confidence sequences: intervals that are valid at every look, so that a study may stop as soon as one is narrow.

A fixed-size interval covers the true value in 95 % of samples of a size that was chosen in advance. Checking after each
call and stopping at a narrow interval lowers that coverage. A confidence sequence covers the true value at all sample
sizes simultaneously.

For 0/1 observations with rate p, S ones in n, and a Beta(a, b) prior chosen before the data, the mixture

    M = B(a + S, b + n − S) / B(a, b) / (p^S · (1 − p)^(n − S))

is a martingale that begins at 1, so it ever reaches 1/α with probability at most α (Ville 1939; Robbins, Annals of
Mathematical Statistics 41:5, 1970). The rates for which M < 1/α are the interval: the mixture is a bet against each
p (Waudby-Smith & Ramdas, Estimating means of bounded random variables by betting, JRSS B 86:1, 2024).

A percentile is the same question: of independent observations, those at or below percentile p are 0/1 with rate p. The
counts S for which M < 1/α are ranks, and the order statistics at these ranks bound the percentile, whatever the
distribution, ties included (Howard & Ramdas, Sequential estimation of quantiles, Bernoulli 28:3, 2022). The prior has
its mean at p and the weight of `tuned_for` / 8 observations, which makes the interval narrowest near that size; 8 is
2·ln(1/α) + ln(1 + 2·ln(1/α)) for α = 5 % (Howard et al., Annals of Statistics 49:2, 2021, §3.5). Calls that depend on
each other, such as those of one slow hour, are not independent: no interval here accounts for that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from .estimates import Estimate
from .percentiles import CONFIDENCE, FloatArray, needed_for, percentile

SEQUENCE_METHOD = "confidence sequence by beta-binomial mixture, holds at every look"
TUNED_FOR = 500
_STEPS = 60


def sequence_share(hits: int, n: int, *, confidence: float = CONFIDENCE) -> Estimate:
    """Estimate the share `hits / n` with an interval that is valid at every look; the prior is Beta(½, ½).

    Args:
        hits: Observations that count so far.
        n: Observations so far.
        confidence: Probability that the share is within the interval at all sizes.
    """
    if not 0 <= hits <= n:
        raise ValueError(f"{hits} of {n} is not a share")
    if n == 0:
        return Estimate.missing("no calls", n=0, confidence=confidence, method=SEQUENCE_METHOD, needed_n=1)
    share, limit = hits / n, -math.log(1 - confidence)

    def is_outside(rate: float) -> bool:
        return _log_mixture(hits, n, rate, 0.5, 0.5) >= limit

    # M falls towards the observed share and rises beyond it, so each end is found by bisection.
    low = _edge(0.0, share, is_outside) if hits else 0.0
    high = _edge(1.0, share, is_outside) if hits < n else 1.0
    return Estimate(value=share, low=low, high=high, n=n, confidence=confidence, method=SEQUENCE_METHOD)


def sequence_percentile(
    values: Sequence[float] | FloatArray, p: float, *, tuned_for: int = TUNED_FOR, confidence: float = CONFIDENCE
) -> Estimate:
    """Estimate percentile `p` (0 < p < 1) with an interval that is valid at every look.

    Args:
        values: The observations so far.
        p: The percentile as a share.
        tuned_for: Size near which the interval is narrowest; choose it before the first observation.
        confidence: Probability that the percentile is within the interval at all sizes.

    Returns:
        The estimate; without a value below `needed_for(p)` observations. Where no rank bounds the percentile above, the
        interval ends at the largest observation and `open_above` is set; likewise at the smallest one below, where the
        durations of calls are bounded by 0 anyway.
    """
    if tuned_for < 1:
        raise ValueError(f"tuned_for must be at least 1, not {tuned_for}")
    n = len(values)
    if n < needed_for(p):
        return Estimate.missing(
            "too few observations", n=n, confidence=confidence, method=SEQUENCE_METHOD, needed_n=needed_for(p)
        )
    value = percentile(values, p)
    ordered = sorted(float(observation) for observation in values)
    first, last = _ranks(n, p, tuned_for, confidence)
    return Estimate(
        value=value,
        low=min(ordered[first - 1] if first else 0.0 if ordered[0] >= 0 else ordered[0], value),
        high=max(ordered[min(last, n - 1)], value),
        n=n,
        confidence=confidence,
        method=SEQUENCE_METHOD,
        open_above=last >= n,
    )


def _ranks(n: int, p: float, tuned_for: int, confidence: float) -> tuple[int, int]:
    """Return the smallest and the largest number of observations at or below the percentile that is not rejected."""
    weight = max(1.0, tuned_for / 8)
    limit = -math.log(1 - confidence)

    def is_rejected(count: int) -> bool:
        return _log_mixture(count, n, p, p * weight, (1 - p) * weight) >= limit

    # M is convex in the count, with its minimum near n·p.
    middle = round(n * p)
    first, last = _search(middle, -1, is_rejected), _search(middle, n + 1, is_rejected)
    return first, last


def _search(inside: int, outside: int, is_rejected: Callable[[int], bool]) -> int:
    while abs(outside - inside) > 1:
        middle = (inside + outside) // 2
        if is_rejected(middle):
            outside = middle
        else:
            inside = middle
    return inside


def _edge(outside: float, inside: float, is_outside: Callable[[float], bool]) -> float:
    for _ in range(_STEPS):
        middle = (outside + inside) / 2
        if is_outside(middle):
            outside = middle
        else:
            inside = middle
    return outside  # the outer side of the last step: never narrower than the sequence


def _log_mixture(hits: int, n: int, rate: float, a: float, b: float) -> float:
    misses = n - hits
    if (hits and rate <= 0) or (misses and rate >= 1):
        return math.inf
    odds = (hits * math.log(rate) if hits else 0.0) + (misses * math.log1p(-rate) if misses else 0.0)
    return _log_beta(a + hits, b + misses) - _log_beta(a, b) - odds


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
