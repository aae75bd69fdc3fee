"""The number of calls that a study of a percentile needs: for an interval of a given width, or to detect a difference.

A pilot sample provides the spread: its logarithms, smoothed by a Gaussian kernel (Silverman, Density Estimation, 1986,
eq. 3.31), are the distribution that further calls are assumed to follow. For a number of calls, 400 studies are
simulated and their intervals of order statistics are computed (`order_statistics`); the result is the smallest number
with which the stated share of intervals is narrow enough, or excludes zero difference. Only the order statistics that
the intervals end at are drawn: of n uniform draws they are sums of gamma variables (Devroye, Non-Uniform Random Variate
Generation, 1986, §V.2), so 10,000 calls cost no more than 20.

A pilot of 20 calls may underestimate the spread, so the spread of the logarithms is increased by the factor 1 + 2.5/m
for a pilot of m calls. Pilots of 20 and 40 lognormal or gamma durations gave sizes of which 80 to 87 % of the studies
had narrow enough intervals where 80 % was requested; 84 to 91 % of the comparisons detected the difference
(tests/unit/test_percentile_power.py). The conditions of the calls (time of day, release, proportion of cold starts) are
assumed to stay the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from .order_statistics import lower_rank, upper_rank
from .percentiles import CONFIDENCE, SMALLEST_N, FloatArray, bounded_from

ASSURANCE = 0.8
MOST_CALLS = 10_000
_STUDIES = 400
_SEED = 20
_GRID = 2_001
_EXACT = 1.02
_PILOT_DOUBT = 2.5


def calls_for_width(
    pilot: Sequence[float] | FloatArray, p: float, *, within: float, assurance: float = ASSURANCE
) -> int | None:
    """Return how many calls give an interval of percentile `p` with both ends within a margin of its value.

    Args:
        pilot: Durations of earlier calls, all above 0; six at least.
        p: The percentile, 0 to 1.
        within: The margin as a share of the value, such as 0.1.
        assurance: Share of the studies of that size whose interval is narrow enough.

    Returns:
        The number of calls; None when more than 10,000 are needed.
    """
    import numpy as np

    if not 0 < within < 1:
        raise ValueError(f"a margin must be between 0 and 1, not {within}")
    _check_assurance(assurance)
    quantile = _smoothed(pilot)

    def is_enough(n: int) -> bool:
        low, value, high = _intervals(quantile, n, p, _SEED)
        return float((np.maximum(high - value, value - low) <= within * value).mean()) >= assurance

    return _smallest(is_enough, bounded_from(p))


def calls_for_percentile_difference(
    pilot: Sequence[float] | FloatArray, p: float, *, difference: float, power: float = ASSURANCE
) -> int | None:
    """Return how many calls each of two samples needs to detect a difference of percentile `p`.

    It is detected when the 95 % interval of the difference (`estimate_percentile_difference`) excludes 0.

    Args:
        pilot: Durations of earlier calls, all above 0; six at least.
        p: The percentile, 0 to 1.
        difference: The difference to detect, as a share of the percentile: 0.2 for 20 % slower, −0.2 for faster.
        power: Share of the comparisons of that size that detect it.

    Returns:
        Calls in each sample; None when more than 10,000 are needed.
    """
    import numpy as np

    if difference == 0 or difference <= -1 or not math.isfinite(difference):
        raise ValueError(f"the difference to detect must be above -1 and not 0, not {difference}")
    _check_assurance(power)
    quantile = _smoothed(pilot)

    def is_enough(n: int) -> bool:
        l1, v1, u1 = _intervals(quantile, n, p, _SEED)
        l2, v2, u2 = (end * (1 + difference) for end in _intervals(quantile, n, p, _SEED + 1))
        change = v2 - v1
        low, high = change - np.hypot(v2 - l2, u1 - v1), change + np.hypot(u2 - v2, v1 - l1)
        return float(((low > 0) if difference > 0 else (high < 0)).mean()) >= power

    return _smallest(is_enough, bounded_from(p))


def _smallest(is_enough: Callable[[int], bool], fewest: int) -> int | None:
    """Return the smallest size that is enough, to 2 %, by doubling and bisection."""
    enough, too_few = fewest, fewest - 1
    while not is_enough(enough):
        if enough >= MOST_CALLS:
            return None
        too_few, enough = enough, min(2 * enough, MOST_CALLS)
    while enough - too_few > 1 and enough > too_few * _EXACT:
        middle = (enough + too_few) // 2
        if is_enough(middle):
            enough = middle
        else:
            too_few = middle
    return enough


def _intervals(
    quantile: Callable[[FloatArray], FloatArray], n: int, p: float, seed: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the lower ends, the values and the upper ends of percentile `p` in simulated studies of n calls."""
    import numpy as np

    certainty = (1 + CONFIDENCE) / 2
    low, high = lower_rank(n, p, certainty), upper_rank(n, p, certainty)
    assert low is not None
    assert high is not None
    middle = min(max((n + 1 / 3) * p + 1 / 3, 1.0), float(n))
    ranks = sorted(
        {low[0], min(low[0] + 1, n), math.floor(middle), min(math.floor(middle) + 1, n), high[0], high[0] - 1}
    )
    random = np.random.default_rng(seed)
    gaps = np.diff([0, *ranks, n + 1])
    sums = np.cumsum(random.gamma(gaps, size=(_STUDIES, len(gaps))), axis=1)
    at_ranks = quantile(sums[:, :-1] / sums[:, -1:])
    drawn = {rank: at_ranks[:, place] for place, rank in enumerate(ranks)}
    weight = middle - math.floor(middle)
    return (
        (1 - low[1]) * drawn[low[0]] + low[1] * drawn[min(low[0] + 1, n)],
        (1 - weight) * drawn[math.floor(middle)] + weight * drawn[min(math.floor(middle) + 1, n)],
        (1 - high[1]) * drawn[high[0]] + high[1] * drawn[high[0] - 1],
    )


def _smoothed(pilot: Sequence[float] | FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Return the quantile function of the pilot's smoothed logarithms."""
    import numpy as np

    values = np.asarray(pilot, dtype=np.float64)
    if values.size < SMALLEST_N:
        raise ValueError(f"a pilot needs at least {SMALLEST_N} calls, not {values.size}")
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError("the durations of a pilot must be finite and above 0")
    logs = np.log(values)
    centre = float(np.median(logs))
    logs = centre + (logs - centre) * (1 + _PILOT_DOUBT / values.size)
    spread = float(logs.std(ddof=1))
    quarters = np.quantile(logs, (0.25, 0.75))
    middle = float(quarters[1] - quarters[0]) / 1.34
    bandwidth = 0.9 * min(spread, middle or spread) * values.size**-0.2
    if bandwidth < 1e-9:
        return lambda shares: np.exp(np.quantile(logs, shares))
    reach = 4.5 * bandwidth
    steps = np.arange(_GRID, dtype=np.float64) / (_GRID - 1)
    first, last = float(logs.min()) - reach, float(logs.max()) + reach
    grid: FloatArray = np.asarray(first + (last - first) * steps, dtype=np.float64)
    below: FloatArray = _normal_cdf((grid[:, None] - _thinned(logs)) / bandwidth).mean(axis=1)

    def quantile(shares: FloatArray) -> FloatArray:
        logarithms: FloatArray = np.interp(shares, below, grid)
        return np.exp(logarithms)

    return quantile


def _thinned(logs: FloatArray) -> FloatArray:
    """Return at most 400 quantiles of a large pilot: its shape, without a matrix of its size."""
    import numpy as np

    return logs if logs.size <= 400 else np.quantile(logs, (np.arange(400) + 0.5) / 400)


def _normal_cdf(z: FloatArray) -> FloatArray:
    """Return Φ(z) to 1e-4, by the logistic form of Bowling et al. (JIEM 2:1, 2009)."""
    import numpy as np

    return 1 / (1 + np.exp(-np.clip(1.5976 * z + 0.07056 * z**3, -60, 60)))


def _check_assurance(share: float) -> None:
    if not 0.5 <= share < 1:
        raise ValueError(f"the share must be between 0.5 and 1, not {share}")
