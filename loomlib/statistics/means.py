"""Means of scores with confidence intervals that count cases, not repeats of a case.

Repeats of one case share its difficulty, so the case is what was drawn and what the interval counts (Miller, Adding
Error Bars to Evals, arXiv:2411.00640, 2024, §2.2). Each case counts once, with the mean of its repeats: with equally
many repeats that is the plain mean, its standard error is the cluster-robust one with CR2's small-sample correction
(Bell & McCaffrey, Survey Methodology 28:2, 2002; for a mean of equal clusters it is C/(C−1)), and t has C−1 degrees of
freedom. With unequal numbers of repeats (some failed), a case with failed repeats still has the same weight as the
others.

Three intervals were simulated (95 % wanted; 4,000 samples; n = 30 and 100). For scores between 0 and 1:

    scores                       mean ± t     Hall        Wilson's shape
    Beta(5, 1)                   94.1  94.7   95.3  95.5   94.8  95.1
    four fifths 1, else uniform  90.6  93.4   97.8  96.3   94.3  94.3
    three repeats, Beta(4, ½)    92.5  94.1   98.1  95.2   94.0  94.7
    pass rates of 0.97           58.7  81.7   57.7  94.7   94.0  97.0

so bounded scores get Wilson's shape: the set of means μ that a t test would not reject when the variance at μ is the
sample's, scaled as a share's is, by μ(1−μ) (for passes and failures it is Wilson's interval itself, with t for z and
Korn & Graubard's effective sample size). Where nine tenths of the scores are 1 and the rest uniform it holds 91 % at
n = 30, by an upper end that is right and a lower one that is too high. Scores without bounds get Hall's transformation
(JRSS B 54:1, 1992), which removes the skewness: 94.4 % for exponential values at n = 30 (t: 92.7), 92.5 for log-normal
ones (t: 88.2).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Final

from ..presentation.formats import TOO_SMALL, exact, number
from .estimates import Estimate
from .percentiles import CONFIDENCE, SMALLEST_N, FloatArray, finite_sample
from .student import t_quantile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

UNIT: Final = (0.0, 1.0)
"""The bounds of a score."""

MEAN_METHOD = "mean of case means, Wilson-type interval with t quantiles over cases"
UNBOUNDED_METHOD = "mean of case means, t interval by Hall's transformation over cases"


def cluster_means(values: Sequence[float] | FloatArray, clusters: Sequence[Hashable]) -> FloatArray:
    """Return the mean of each cluster's values, in the order in which clusters first appear.

    Args:
        values: The values.
        clusters: The cluster of each value.
    """
    import numpy as np

    sample = finite_sample(values)
    codes, sizes = _codes(clusters, sample.size)
    return np.bincount(codes, weights=sample, minlength=sizes.size) / sizes


def standard_error(values: Sequence[float] | FloatArray) -> float:
    """Return the standard error s / √n of independent values, with n − 1 degrees of freedom."""
    sample = finite_sample(values)
    if sample.size < 2:
        raise ValueError("one value has no standard error")
    return float(sample.std(ddof=1) / math.sqrt(sample.size))


def clustered_standard_error(values: Sequence[float] | FloatArray, clusters: Sequence[Hashable]) -> float:
    """Return the cluster-robust standard error of the plain mean of all values (each value counts once).

    √(C/(C−1)·Σ(Σᵢ eᵢ)²)/n over C clusters (Miller 2024, appendix A, with the finite-cluster correction), which is what
    Inspect reports. `estimate_mean` weighs cases instead of values; with equally many repeats both are the same.
    """
    import numpy as np

    sample = finite_sample(values)
    codes, sizes = _codes(clusters, sample.size)
    if sizes.size < 2:
        raise ValueError("one cluster has no standard error")
    sums = np.bincount(codes, weights=sample - sample.mean(), minlength=sizes.size)
    return float(math.sqrt((sums**2).sum() * sizes.size / (sizes.size - 1)) / sample.size)


def estimate_mean(
    values: Sequence[float] | FloatArray,
    clusters: Sequence[Hashable] | None = None,
    *,
    bounds: tuple[float, float] | None = UNIT,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Estimate the mean over cases; `n` of the result counts the cases.

    Args:
        values: The values.
        clusters: The case of each value; None when each value is a case of its own.
        bounds: Ends of the scale; None for values without any.
        confidence: Confidence level of the interval.

    Returns:
        The estimate; without a value below six cases, and when all values are equal and not at an end of the scale.
    """
    sample = finite_sample(values) if clusters is None else cluster_means(values, clusters)
    method = UNBOUNDED_METHOD if bounds is None else MEAN_METHOD
    n = int(sample.size)
    if n < SMALLEST_N:
        return Estimate.missing(TOO_SMALL, n=n, confidence=confidence, method=method, needed_n=SMALLEST_N)
    mean, variance = _moments(sample)
    if bounds is None:
        if variance == 0:
            return _constant(mean, n, confidence, method)
        low, high = _hall(sample, mean, variance, confidence)
    else:
        bottom, top = bounds
        if not (sample.min() >= bottom and sample.max() <= top):
            raise ValueError(f"scores lie between {exact(bottom)} and {exact(top)}: give their bounds, or None")
        if variance == 0 and bottom < mean < top:
            return _constant(mean, n, confidence, method)
        width = top - bottom
        spread = variance_ratio((mean - bottom) / width, variance / width**2)
        low, high = (
            bottom + width * end for end in wilson_shape((mean - bottom) / width, spread, n, confidence=confidence)
        )
    return Estimate(
        value=mean, low=min(low, mean), high=max(high, mean), n=n, confidence=confidence, method=method
    )  # fmt: skip


def variance_ratio(mean: float, variance: float) -> float:
    """Return the variance of values between 0 and 1 over that of passes and failures with the same mean.

    Args:
        mean: Mean of the values.
        variance: Their variance.
    """
    most = mean * (1 - mean)
    return variance / most if most > 0 else 1.0


def wilson_shape(
    mean: float, spread: float, n: int, *, confidence: float = CONFIDENCE, df: float | None = None
) -> tuple[float, float]:
    """Return both ends of the interval for a mean between 0 and 1; see the module's text.

    Args:
        mean: The mean.
        spread: The cases' `variance_ratio`.
        n: Number of cases.
        confidence: Confidence level of the interval.
        df: Degrees of freedom of t; n − 1 by default.
    """
    t = t_quantile(0.5 + confidence / 2, n - 1 if df is None else df)
    square = t * t * spread / n
    centre = (mean + square / 2) / (1 + square)
    half = math.sqrt(square * mean * (1 - mean) + square * square / 4) / (1 + square)
    return max(0.0, centre - half), min(1.0, centre + half)


def _hall(sample: FloatArray, mean: float, variance: float, confidence: float) -> tuple[float, float]:
    n = sample.size
    deviation = math.sqrt(variance)
    standardized = (sample - mean) / deviation
    # NumPy's power of an array takes a hundred times as long as two products (200,000 values).
    skew = float((standardized * standardized * standardized).mean()) / math.sqrt(n)
    slope = skew / 3
    t = t_quantile(0.5 + confidence / 2, n - 1)

    def undone(y: float) -> float:
        # Near no skewness the cube root's difference would lose all its digits, and the transformation is the identity.
        if abs(slope) < 1e-9:
            return y
        return (math.cbrt(1 + 3 * slope * (y - skew / 6)) - 1) / slope

    error = deviation / math.sqrt(n)
    return mean - error * undone(t), mean - error * undone(-t)


def _moments(sample: FloatArray) -> tuple[float, float]:
    """Return mean and variance (n − 1); exact for equal values, whose variance is 0."""
    if sample.min() == sample.max():
        return float(sample[0]), 0.0
    return float(sample.mean()), float(sample.var(ddof=1))


def _constant(mean: float, n: int, confidence: float, method: str) -> Estimate:
    reason = f"all {n} cases have {number(mean)}: their variation cannot be estimated"
    return Estimate.missing(reason, n=n, confidence=confidence, method=method)


def _codes(clusters: Sequence[Hashable], n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    import numpy as np

    if len(clusters) != n:
        raise ValueError(f"each value needs a cluster: got {len(clusters)} for {n}")
    cluster_codes: dict[Hashable, int] = {}
    codes = np.fromiter(
        (cluster_codes.setdefault(cluster, len(cluster_codes)) for cluster in clusters), dtype=np.intp, count=n
    )
    return codes, np.bincount(codes, minlength=len(cluster_codes))
