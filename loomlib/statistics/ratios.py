"""A part's share of a whole over many calls: one sum divided by another, with its interval.

The interval is the expanded percentile bootstrap (Hesterberg, What Teachers Should Know About the Bootstrap, The
American Statistician 69:4, 2015): quantiles Φ(±√(n/(n−1))·t) of the replicates make up for the bootstrap's narrowness
in small samples. Of gamma durations it covers the ratio in 93 % of samples at n = 6 and 95 % at 12 and 24; the plain
percentile bootstrap in 85, 92 and 94 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from ..presentation.formats import TOO_SMALL
from .estimates import Estimate
from .percentiles import CONFIDENCE, RESAMPLES, SMALLEST_N
from .student import t_quantile

RATIO_METHOD = "ratio of sums, expanded percentile bootstrap over the calls"
_CHUNK = 2_000_000
"""Drawn numbers held at once (16 MB), so that a thousand calls need no more memory than ten."""


def estimate_ratio(
    parts: Sequence[float], wholes: Sequence[float], *, seed: int, confidence: float = CONFIDENCE
) -> Estimate:
    """Estimate `sum(parts) / sum(wholes)`. Unlike medians of shares, such ratios add up to 1 over the parts.

    Args:
        parts: The part of each call.
        wholes: The whole of each call; calls are resampled with both.
        seed: Seed of the bootstrap.
        confidence: Confidence level of the interval.

    Returns:
        The ratio; without a value below six calls.
    """
    part, whole = np.asarray(parts, dtype=np.float64), np.asarray(wholes, dtype=np.float64)
    if part.shape != whole.shape:
        raise ValueError(f"each part needs its whole: got {part.size} and {whole.size}")
    if whole.size < SMALLEST_N:
        return Estimate.missing(
            TOO_SMALL, n=int(whole.size), confidence=confidence, method=RATIO_METHOD, needed_n=SMALLEST_N
        )
    if not (np.isfinite(part).all() and np.isfinite(whole).all() and (whole > 0).all() and (part >= 0).all()):
        raise ValueError("each whole must be above 0, and no part negative or missing")
    random = np.random.Generator(np.random.PCG64(seed))
    at_once = max(1, _CHUNK // whole.size)
    replicates: list[float] = []
    while len(replicates) < RESAMPLES:
        drawn = random.integers(0, whole.size, (min(at_once, RESAMPLES - len(replicates)), whole.size))
        replicates.extend((part[drawn].sum(axis=1) / whole[drawn].sum(axis=1)).tolist())
    n = int(whole.size)
    tail = NormalDist().cdf(-math.sqrt(n / (n - 1)) * t_quantile((1 + confidence) / 2, n - 1))
    low, high = (float(end) for end in np.quantile(replicates, (tail, 1 - tail)))
    value = float(part.sum() / whole.sum())
    return Estimate(
        value=value,
        low=min(low, value),
        high=max(high, value),
        n=n,
        confidence=confidence,
        method=RATIO_METHOD,
    )
