"""Percentiles, shares and differences with confidence intervals.

Percentiles are Hyndman & Fan's definition 8 (Sample Quantiles in Statistical Packages, The American Statistician 50:4,
1996), which they recommend: its estimates are about median-unbiased whatever the distribution. Their intervals are
percentile-bootstrap intervals. BCa is not used: its acceleration comes from the jackknife, which is inconsistent for a
percentile (Efron & Tibshirani, An Introduction to the Bootstrap, 1993, §11.6).

The resamples are drawn without resampling: the k-th smallest of n draws with replacement is the observation of rank
⌊n·U⌋ with U the k-th smallest of n uniforms, which is Beta(k, n−k+1) distributed, and the next one follows from it.
That is the bootstrap's distribution exactly, and 10,000 replicates cost the same for 10 calls as for 100,000.

How many observations a percentile needs (`needed_for`): six at least, the smallest n whose range holds the median with
95 % confidence (2·0.5ⁿ ≤ 0.05); and so many that one observation is expected beyond it, n·(1−p) ≥ 1: 10 for p90, 100
for p99. From there to n = ln(0.025)/ln(p) (36 for p90, 368 for p99) the largest observation lies below the true
percentile with more than 2.5 % probability, no distribution-free upper bound exists, and the interval is marked open
above. Measured on log-normal samples: the median's interval covers it in 93–95 % of samples for n = 6–100, that of p90
in 94 % at n = 50, 89 % at n = 36, 87 % at n = 20 and 62 % at n = 10, missing by an upper end that is too low.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from ..presentation.formats import TOO_SMALL
from .estimates import Estimate

FloatArray = NDArray[np.float64]

CONFIDENCE = 0.95
RESAMPLES = 10_000
SMALLEST_N = 6
PERCENTILE_METHOD = "Hyndman-Fan 8, percentile bootstrap"
SHARE_METHOD = "Wilson score"


def needed_for(p: float) -> int:
    """Return the smallest sample size for which percentile `p` (0 < p < 1) is reported; see the module's text."""
    _check_p(p)
    beyond = min(p, 1 - p)
    return max(SMALLEST_N, math.ceil(round(1 / beyond, 9)))


def is_bounded_above(p: float, n: int, confidence: float = CONFIDENCE) -> bool:
    """Return whether `n` observations can bound percentile `p` above: pⁿ ≤ (1 − confidence) / 2.

    Args:
        p: The percentile as a share between 0 and 1 (0.9 for P90).
        n: Number of independent observations.
        confidence: Confidence level of a two-sided interval.
    """
    return p**n <= (1 - confidence) / 2


def percentile(values: Sequence[float] | FloatArray, p: float) -> float:
    """Return percentile `p` (0 < p < 1) of a non-empty sample, by Hyndman & Fan's definition 8."""
    _check_p(p)
    return _percentile(_ordered(values), p)


def _percentile(ordered: FloatArray, p: float) -> float:
    if not ordered.size:
        raise ValueError("an empty sample has no percentile")
    lower, weight = _position(ordered.size, p)
    return float(_between(ordered, np.array([lower]), np.array([min(lower + 1, ordered.size - 1)]), weight)[0])


def percentile_replicates(
    values: Sequence[float] | FloatArray, p: float, *, seed: int, resamples: int = RESAMPLES
) -> FloatArray:
    """Return percentile `p` of each bootstrap resample (n draws with replacement, the iid bootstrap).

    Args:
        values: The sample.
        p: The percentile, 0 to 1.
        seed: Seed of the bootstrap.
        resamples: Number of resamples.
    """
    _check_p(p)
    return _replicates(_ordered(values), p, seed=seed, resamples=resamples)


def _replicates(ordered: FloatArray, p: float, *, seed: int, resamples: int) -> FloatArray:
    n = ordered.size
    if not n:
        raise ValueError("an empty sample has no percentile")
    random = np.random.Generator(np.random.PCG64(seed))
    lower, weight = _position(n, p)
    rank = lower + 1
    first = random.beta(rank, n - rank + 1, resamples)
    second = 1 - (1 - first) * random.random(resamples) ** (1 / (n - rank)) if rank < n else first
    last = n - 1
    return _between(
        ordered,
        np.minimum((first * n).astype(np.intp), last),
        np.minimum((np.maximum(second, first) * n).astype(np.intp), last),
        weight,
    )


def estimate_percentile(
    values: Sequence[float] | FloatArray,
    p: float,
    *,
    seed: int,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
) -> Estimate:
    """Estimate percentile `p` with its bootstrap interval.

    Args:
        values: The sample.
        p: The percentile, 0 to 1.
        seed: Seed of the bootstrap.
        confidence: Confidence level of the interval.
        resamples: Number of resamples.

    Returns:
        The estimate; without a value below `needed_for(p)` observations.
    """
    ordered = _ordered(values)
    if ordered.size < needed_for(p):
        return Estimate.missing(
            TOO_SMALL, n=ordered.size, confidence=confidence, method=PERCENTILE_METHOD, needed_n=needed_for(p)
        )
    value = _percentile(ordered, p)
    replicates = _replicates(ordered, p, seed=seed, resamples=resamples)
    tail = (1 - confidence) / 2
    low, high = (float(end) for end in np.quantile(replicates, (tail, 1 - tail)))
    # The value belongs to its interval by definition; in a tiny or tied sample the bootstrap may fall beside it.
    return Estimate(
        value=value,
        low=min(low, value),
        high=max(high, value),
        n=int(ordered.size),
        confidence=confidence,
        method=PERCENTILE_METHOD,
        open_above=not is_bounded_above(p, int(ordered.size), confidence),
    )


def estimate_paired_difference(
    first: Sequence[float], second: Sequence[float], *, seed: int, confidence: float = CONFIDENCE
) -> Estimate:
    """Estimate the median of `first[k] − second[k]`, bootstrapped over the pairs: what a pair shares cancels.

    Args:
        first: First values of the pairs.
        second: Second values of the pairs.
        seed: Seed of the bootstrap.
        confidence: Confidence level of the interval.
    """
    if len(first) != len(second):
        raise ValueError(f"pairs need two samples of the same length, not {len(first)} and {len(second)}")
    return estimate_percentile(np.subtract(first, second), 0.5, seed=seed, confidence=confidence)


def estimate_share(hits: int, n: int, *, confidence: float = CONFIDENCE) -> Estimate:
    """Estimate the share `hits / n` with Wilson's score interval (JASA 22, 1927), which is valid at 0 of n as well.

    Args:
        hits: Observations that count.
        n: Observations in all.
        confidence: Confidence level of the interval.
    """
    if not 0 <= hits <= n:
        raise ValueError(f"{hits} of {n} is not a share")
    if n == 0:
        return Estimate.missing("no calls", n=0, confidence=confidence, method=SHARE_METHOD, needed_n=1)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share, square = hits / n, z * z / n
    centre = (share + square / 2) / (1 + square)
    half = z * math.sqrt(share * (1 - share) / n + square / (4 * n)) / (1 + square)
    return Estimate(
        value=share,
        low=min(max(0.0, centre - half), share),
        high=max(min(1.0, centre + half), share),
        n=n,
        confidence=confidence,
        method=SHARE_METHOD,
    )


def _position(n: int, p: float) -> tuple[int, float]:
    """Return the order statistic (from 0) just below percentile `p`, and the weight of the next one."""
    rank = (n + 1 / 3) * p + 1 / 3
    lower = min(max(math.floor(rank), 1), n)
    weight = min(max(rank - lower, 0.0), 1.0) if lower < n else 0.0
    return lower - 1, weight


def _between(ordered: FloatArray, lower: NDArray[np.intp], upper: NDArray[np.intp], weight: float) -> FloatArray:
    # Written so that equal neighbours give exactly themselves: constant data has a constant percentile.
    return ordered[lower] + weight * (ordered[upper] - ordered[lower])


def _ordered(values: Sequence[float] | FloatArray) -> FloatArray:
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    if not np.isfinite(ordered).all():
        raise ValueError("a sample must have finite numbers only: count failed calls instead of giving them a value")
    return ordered


def _check_p(p: float) -> None:
    if not 0 < p < 1:
        raise ValueError(f"a percentile must be between 0 and 1, not {p}")
