"""Ranks of the sorted sample that bound a percentile with a stated certainty, whatever the distribution.

Of n independent observations, those at or below percentile p are binomial with rate p, so that the r-th smallest one
is at or below the percentile with certainty P(Bin(n, p) ≥ r), which is exact for every continuous distribution. These
certainties come in steps. Between two neighbours the bound is interpolated (Hettmansperger & Sheather, Confidence
intervals based on interpolated order statistics, Statistics & Probability Letters 4, 1986, for the median; Nyblom,
Note on interpolated order statistics, ibid. 14, 1992, for every percentile): when exactly r observations are at or
below the percentile and the density is about constant between both, the gap below it is exponential with rate r/p and
the gap above it with rate (n−r)/(1−p), so that (1−λ)·x₍r₎ + λ·x₍r₊₁₎ is at or below it with probability
b / (b + a·λ/(1−λ)) with a = r/p and b = (n−r)/(1−p). In small samples neighbours are far apart, and the density between
them cannot be taken as constant: below 20 observations nothing is interpolated, so that each bound has at least the
requested certainty.
"""

from __future__ import annotations

import math
from functools import lru_cache

INTERPOLATED_FROM = 20
"""Smallest sample size for which bounds are interpolated between two order statistics."""

_SPREADS = 9
"""Standard deviations around the mean that are summed; a binomial's probability beyond them is below 1e-15."""


@lru_cache(maxsize=4096)
def lower_rank(n: int, p: float, certainty: float) -> tuple[int, float] | None:
    """Return the rank (from 1) and the weight λ of the next one, whose interpolation is at or below percentile `p`.

    Args:
        n: Number of independent observations.
        p: The percentile, between 0 and 1.
        certainty: The probability with which the bound is at or below the percentile.

    Returns:
        None when even the smallest observation is above the percentile too often.
    """
    mean, reach = n * p, _SPREADS * math.sqrt(n * p * (1 - p)) + _SPREADS
    last = min(n, math.ceil(mean + reach))
    tail, tail_above = 0.0, 0.0
    for rank in range(last, 0, -1):
        tail = tail_above + _probability(n, rank, p)
        if tail >= certainty:
            share = (certainty - tail_above) / (tail - tail_above)
            return rank, _weight(n, p, rank, share) if n >= INTERPOLATED_FROM else 0.0
        tail_above = tail
    return None


def upper_rank(n: int, p: float, certainty: float) -> tuple[int, float] | None:
    """Return the rank (from 1) and the weight of the one before it, whose interpolation is at or above percentile `p`.

    Args:
        n: Number of independent observations.
        p: The percentile, between 0 and 1.
        certainty: The probability with which the bound is at or above the percentile.

    Returns:
        None when even the largest observation is below the percentile too often.
    """
    mirrored = lower_rank(n, 1 - p, certainty)
    return None if mirrored is None else (n + 1 - mirrored[0], mirrored[1])


def confidence_above(n: int, p: float, at_or_below: int) -> float:
    """Return the certainty that percentile `p` is above a limit: P(Bin(n, p) > k) + ½·P(Bin(n, p) = k).

    Half of the step at k, the mid-p-value (Lancaster, JASA 56, 1961), makes the certainty ½ where k is as expected.

    Args:
        n: Number of independent observations.
        p: The percentile, between 0 and 1.
        at_or_below: How many of them are at or below the limit, k.
    """
    above = math.fsum(_probability(n, hits, p) for hits in range(at_or_below + 1, n + 1))
    return min(1.0, above + _probability(n, at_or_below, p) / 2)


def _weight(n: int, p: float, rank: int, share: float) -> float:
    """Return λ such that `share` of the samples with exactly `rank` observations below still have the bound below."""
    if rank == n:
        return 0.0
    below, above = rank / p, (n - rank) / (1 - p)
    odds = above * (1 - share) / (below * share)
    return odds / (1 + odds)


def _probability(n: int, hits: int, p: float) -> float:
    ways = math.lgamma(n + 1) - math.lgamma(hits + 1) - math.lgamma(n - hits + 1)
    return math.exp(ways + hits * math.log(p) + (n - hits) * math.log1p(-p))
