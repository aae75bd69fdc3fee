"""Agreement of raters beyond chance: Krippendorff's alpha and Cohen's kappa, with bootstrap intervals over units.

Alpha is 1 − (n − 1)·Σ o_ck·δ²_ck / Σ n_c·n_k·δ²_ck (Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011): o
counts the pairs of values within a unit, weighted by 1/(m_u − 1) for a unit with m_u ratings; n_c are the row sums of
o, and n is their sum. δ² is 1 for different values (nominal), the squared number of ratings from one value to the
other, with half of those at either end (ordinal), or the squared difference (interval). A unit that fewer than two
raters judged is left out.

The intervals resample units, since raters of one unit are not independent. They are percentile intervals of 2,000
resamples; those with only one distinct value (where agreement is not defined) are left out.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .estimates import Estimate
from .percentiles import CONFIDENCE, SMALLEST_N

LEVELS_OF_MEASUREMENT: Final = ("nominal", "ordinal", "interval")
ALPHA_METHOD: Final = "Krippendorff's alpha, percentile bootstrap over units"
KAPPA_METHOD: Final = "Cohen's kappa, percentile bootstrap over units"
NO_VARIATION: Final = "every rating is the same: agreement beyond chance is not defined"
_RESAMPLES: Final = 2_000

FloatArray = NDArray[np.float64]


def krippendorff_alpha(ratings: Sequence[Sequence[float | None]], level: str = "nominal") -> float | None:
    """Return Krippendorff's alpha: 1 is perfect agreement, 0 that of chance, below 0 systematic disagreement.

    Krippendorff asks for 0.8, and 0.667 for tentative conclusions.

    Args:
        ratings: One sequence for each rater, with one value (or None) for each unit.
        level: Level of measurement: nominal, ordinal or interval.

    Returns:
        Alpha; None where it is not defined.
    """
    counts, values = _counted(ratings, level)
    if not counts.shape[0]:
        return None
    alpha = _alphas(np.ones((1, counts.shape[0])), counts, values, level)[0]
    return None if np.isnan(alpha) else float(alpha)


def estimate_alpha(
    ratings: Sequence[Sequence[float | None]], level: str = "nominal", *, seed: int = 0, confidence: float = CONFIDENCE
) -> Estimate:
    """Estimate Krippendorff's alpha; `n` of the result counts the units that two or more raters judged.

    Args:
        ratings: One sequence for each rater, with one value (or None) for each unit.
        level: Level of measurement: nominal, ordinal or interval.
        seed: Seed of the bootstrap.
        confidence: Confidence level of the interval.
    """
    counts, values = _counted(ratings, level)
    n = int(counts.shape[0])
    if n < SMALLEST_N:
        return Estimate.missing("n too small", n=n, confidence=confidence, method=ALPHA_METHOD, needed_n=SMALLEST_N)
    value = float(_alphas(np.ones((1, n)), counts, values, level)[0])
    replicates = _alphas(_weights(n, seed), counts, values, level)
    return _estimate(value, replicates, n, confidence, ALPHA_METHOD)


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Return Cohen's kappa of two raters' labels for the same units (EPM 20:1, 1960); None where it is not defined.

    Args:
        first: Labels of the first rater.
        second: Labels of the second rater.
    """
    table = _table(first, second)
    if not len(first):
        return None
    kappa = _kappas(table.sum(axis=0)[None])[0]
    return None if np.isnan(kappa) else float(kappa)


def estimate_kappa(
    first: Sequence[Hashable], second: Sequence[Hashable], *, seed: int = 0, confidence: float = CONFIDENCE
) -> Estimate:
    """Estimate Cohen's kappa.

    Args:
        first: Labels of the first rater.
        second: Labels of the second rater.
        seed: Seed of the bootstrap.
        confidence: Confidence level of the interval.
    """
    table = _table(first, second)
    n = len(first)
    if n < SMALLEST_N:
        return Estimate.missing("n too small", n=n, confidence=confidence, method=KAPPA_METHOD, needed_n=SMALLEST_N)
    value = float(_kappas(table.sum(axis=0)[None])[0])
    replicates = _kappas(np.tensordot(_weights(n, seed), table, axes=1))
    return _estimate(value, replicates, n, confidence, KAPPA_METHOD)


def _counted(ratings: Sequence[Sequence[float | None]], level: str) -> tuple[FloatArray, FloatArray]:
    """Return how often each value occurs in each unit with two or more ratings, and the values in order."""
    if level not in LEVELS_OF_MEASUREMENT:
        raise ValueError(f"level must be one of {', '.join(LEVELS_OF_MEASUREMENT)}, not {level!r}")
    if len({len(rating) for rating in ratings}) > 1:
        raise ValueError("every rater needs one value (or None) for each unit")
    values = sorted({value for rating in ratings for value in rating if value is not None})
    places = {value: at for at, value in enumerate(values)}
    counts = np.zeros((len(ratings[0]) if ratings else 0, len(values)))
    for rating in ratings:
        for unit, value in enumerate(rating):
            if value is not None:
                counts[unit, places[value]] += 1
    return counts[counts.sum(axis=1) >= 2], np.asarray(values, dtype=np.float64)


def _alphas(weights: FloatArray, counts: FloatArray, values: FloatArray, level: str) -> FloatArray:
    """Return alpha for each row of `weights`, which give each unit's multiplicity in the sample."""
    sizes = counts.sum(axis=1)
    totals = weights @ counts
    n = totals.sum(axis=1)
    if level == "interval":
        centred = values - values.mean()
        # Σ over pairs of (a − b)² is 2·(m·Σx² − (Σx)²), for a unit as for the whole.
        within = 2 * (sizes * (counts @ centred**2) - (counts @ centred) ** 2) / (sizes - 1)
        observed = weights @ within
        expected = 2 * (n * (totals @ centred**2) - (totals @ centred) ** 2)
    else:
        pairs = counts[:, :, None] * counts[:, None, :]
        pairs[:, range(len(values)), range(len(values))] -= counts
        pairs /= (sizes - 1)[:, None, None]
        coincidences = np.tensordot(weights, pairs, axes=1)
        distance = _distances(totals, level)
        observed = (coincidences * distance).sum(axis=(1, 2))
        expected = (totals[:, :, None] * totals[:, None, :] * distance).sum(axis=(1, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(expected > 1e-12, 1 - (n - 1) * observed / expected, np.nan)


def _distances(totals: FloatArray, level: str) -> FloatArray:
    if level == "nominal":
        return np.broadcast_to(1 - np.eye(totals.shape[1]), (totals.shape[0], totals.shape[1], totals.shape[1]))
    # Σ of n_g from c to k, less half of n_c and n_k: the difference of the mid-ranks.
    middle = np.cumsum(totals, axis=1) - totals / 2
    return (middle[:, :, None] - middle[:, None, :]) ** 2


def _table(first: Sequence[Hashable], second: Sequence[Hashable]) -> FloatArray:
    if len(first) != len(second):
        raise ValueError(f"both raters must judge the same units, not {len(first)} and {len(second)}")
    labels = {label: at for at, label in enumerate(dict.fromkeys((*first, *second)))}
    table = np.zeros((len(first), len(labels), len(labels)))
    for unit, (one, other) in enumerate(zip(first, second, strict=True)):
        table[unit, labels[one], labels[other]] = 1
    return table


def _kappas(tables: FloatArray) -> FloatArray:
    n = tables.sum(axis=(1, 2))
    agreed = np.trace(tables, axis1=1, axis2=2) / n
    by_chance = (tables.sum(axis=1) * tables.sum(axis=2)).sum(axis=1) / n**2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(by_chance < 1 - 1e-12, (agreed - by_chance) / (1 - by_chance), np.nan)


def _weights(n: int, seed: int) -> FloatArray:
    random = np.random.Generator(np.random.PCG64(seed))
    return random.multinomial(n, np.full(n, 1 / n), size=_RESAMPLES).astype(np.float64)


def _estimate(value: float, replicates: FloatArray, n: int, confidence: float, method: str) -> Estimate:
    if np.isnan(value):
        return Estimate.missing(NO_VARIATION, n=n, confidence=confidence, method=method)
    valid = replicates[~np.isnan(replicates)]
    tail = (1 - confidence) / 2
    low, high = (float(end) for end in np.quantile(valid, (tail, 1 - tail)))
    return Estimate(value=value, low=min(low, value), high=max(high, value), n=n, confidence=confidence, method=method)
