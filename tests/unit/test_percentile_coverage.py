"""How often intervals of percentiles, and of their differences, contain the truth of known distributions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from statistics import NormalDist

import numpy as np
import pytest
from numpy.typing import NDArray

from loomlib.statistics import estimate_percentile, estimate_percentile_difference, needed_for

Samples = NDArray[np.float64]
Law = tuple[Callable[[np.random.Generator, tuple[int, int]], Samples], Callable[[float], float]]
PERCENTILES = (0.5, 0.9, 0.95, 0.99)
COLD_SHARE = 0.3
_NORMAL = NormalDist()


def _lognormal(random: np.random.Generator, size: tuple[int, int]) -> Samples:
    return random.lognormal(0, 0.5, size)


def _exponential(random: np.random.Generator, size: tuple[int, int]) -> Samples:
    return random.exponential(1, size)


def _cold_and_warm(random: np.random.Generator, size: tuple[int, int]) -> Samples:
    cold, warm = random.lognormal(math.log(3), 0.3, size), random.lognormal(0, 0.1, size)
    return np.where(random.random(size) < COLD_SHARE, cold, warm)


def _whole_milliseconds(random: np.random.Generator, size: tuple[int, int]) -> Samples:
    return np.rint(random.lognormal(math.log(100), 0.3, size))


def _mixed_percentile(p: float) -> float:
    low, high = 0.1, 100.0
    for _ in range(80):
        middle = (low + high) / 2
        cold, warm = _NORMAL.cdf(math.log(middle / 3) / 0.3), _NORMAL.cdf(math.log(middle) / 0.1)
        low, high = (middle, high) if COLD_SHARE * cold + (1 - COLD_SHARE) * warm < p else (low, middle)
    return low


LAWS: dict[str, Law] = {
    "lognormal": (_lognormal, lambda p: math.exp(0.5 * _NORMAL.inv_cdf(p))),
    "exponential": (_exponential, lambda p: -math.log(1 - p)),
    "cold and warm": (_cold_and_warm, _mixed_percentile),
    "whole milliseconds": (_whole_milliseconds, lambda p: round(100 * math.exp(0.3 * _NORMAL.inv_cdf(p)))),
}


def _covered(law: str, n: int, samples: int) -> Iterator[tuple[float, float]]:
    """Return each percentile with the share of samples whose interval contains it."""
    draw, truth = LAWS[law]
    drawn = draw(np.random.default_rng(20), (samples, n))
    for p in PERCENTILES:
        if n >= needed_for(p):
            hits = 0
            for sample in drawn:
                estimate = estimate_percentile(sample, p)
                assert estimate.low is not None
                assert estimate.high is not None
                hits += estimate.low <= truth(p) and (estimate.open_above or truth(p) <= estimate.high)
            yield p, hits / samples


@pytest.mark.parametrize("n", [20, 36, 100])
@pytest.mark.parametrize("law", LAWS)
def test_intervals_cover_the_percentile_about_as_often_as_they_claim(law: str, n: int) -> None:
    # 2,000 samples: four standard errors are 2 percentage points.
    assert {p: share for p, share in _covered(law, n, 2_000) if not 0.93 <= share <= 0.97} == {}


@pytest.mark.parametrize("n", [6, 9, 12, 19])
@pytest.mark.parametrize("law", LAWS)
def test_intervals_of_few_calls_cover_the_percentile_at_least_as_often_as_they_claim(law: str, n: int) -> None:
    # 4,000 samples: three standard errors are 1 percentage point.
    assert {p: share for p, share in _covered(law, n, 4_000) if share < 0.94} == {}


@pytest.mark.parametrize(("n", "low", "high"), [(6, 1, 6), (9, 2, 8), (12, 3, 10), (19, 5, 15)])
def test_the_interval_of_a_median_of_few_calls_ends_at_the_ranks_of_the_sign_test(n: int, low: int, high: int) -> None:
    estimate = estimate_percentile([float(rank) for rank in range(1, n + 1)], 0.5)
    assert (estimate.low, estimate.high) == (low, high)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("n", [20, 30, 50, 100, 200, 500, 2_000])
@pytest.mark.parametrize("law", LAWS)
def test_intervals_cover_the_percentile_in_94_to_96_percent_of_samples(law: str, n: int) -> None:
    # Rounded durations are covered more often, never less: many of them equal the percentile.
    most = 1.0 if law == "whole milliseconds" else 0.96
    error = 0.0045  # three standard errors of 20,000 samples
    assert {p: share for p, share in _covered(law, n, 20_000) if not 0.94 - error <= share <= most + error} == {}


@pytest.mark.parametrize(("n", "p"), [(12, 0.5), (40, 0.9)])
def test_intervals_of_a_difference_cover_it_in_at_least_95_percent_of_samples(n: int, p: float) -> None:
    random = np.random.default_rng(7)
    before, after = random.lognormal(0, 0.5, (2_000, n)), 1.3 * random.lognormal(0, 0.5, (2_000, n))
    truth, hits = 0.3 * math.exp(0.5 * _NORMAL.inv_cdf(p)), 0
    for first, second in zip(before, after, strict=True):
        difference = estimate_percentile_difference(first, second, p)
        assert difference.low is not None
        assert difference.high is not None
        hits += difference.low <= truth <= difference.high
    assert 0.95 <= hits / 2_000 <= 0.985


def test_an_interval_without_an_upper_end_is_a_lower_bound_with_the_whole_confidence() -> None:
    # p90 of 20: P(Bin(20, 0.9) ≥ 15) = 98.9 %, P(≥ 16) = 95.7 %, P(≥ 17) = 86.7 %, so 95 % lies just above rank 16.
    estimate = estimate_percentile([float(k) for k in range(1, 21)], 0.9)
    assert estimate.open_above
    assert estimate.low is not None
    assert 16 < estimate.low < 16.5
    assert estimate.high == 20


def test_a_difference_of_samples_that_do_not_bound_their_percentile_has_no_value() -> None:
    difference = estimate_percentile_difference([1.0] * 35, [2.0] * 50, 0.9)
    assert (difference.value, difference.n, difference.needed_n) == (None, 35, 36)
    difference = estimate_percentile_difference([1.0] * 36, [2.0] * 50, 0.9)
    assert (difference.value, difference.low, difference.high) == (1.0, 1.0, 1.0)
