"""Advice on the number of calls reaches what it states, on samples of known distributions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from loomlib.statistics import (
    calls_for_percentile_difference,
    calls_for_width,
    estimate_percentile,
    estimate_percentile_difference,
)

Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]
LAWS: dict[str, Draw] = {
    "lognormal": lambda random, n: random.lognormal(5, 0.25, n),
    "gamma": lambda random, n: random.gamma(8, 20, n),
}


def _is_narrow(sample: NDArray[np.float64], p: float, within: float) -> bool:
    estimate = estimate_percentile(sample, p)
    assert estimate.value is not None
    assert estimate.low is not None
    assert estimate.high is not None
    return (
        not estimate.open_above
        and max(estimate.high - estimate.value, estimate.value - estimate.low) <= within * estimate.value
    )


@pytest.mark.parametrize("p", [0.5, 0.9])
@pytest.mark.parametrize("law", LAWS)
def test_studies_of_the_advised_size_are_as_narrow_as_asked_in_the_stated_share(law: str, p: float) -> None:
    random, narrow = np.random.default_rng(9), 0
    for _ in range(40):
        needed = calls_for_width(LAWS[law](random, 30), p, within=0.15)
        assert needed is not None
        narrow += sum(_is_narrow(LAWS[law](random, needed), p, 0.15) for _ in range(4))
    assert 0.7 <= narrow / 160 <= 0.95  # 80 % stated; the pilots are 40, each with four studies


def test_a_size_known_from_many_calls_is_neither_too_small_nor_twice_too_large() -> None:
    random = np.random.default_rng(2)
    needed = calls_for_width(random.lognormal(5, 0.3, 5_000), 0.9, within=0.1)
    assert needed is not None
    shares = {
        n: sum(_is_narrow(random.lognormal(5, 0.3, n), 0.9, 0.1) for _ in range(400)) / 400
        for n in (needed // 2, needed)
    }
    assert shares[needed] >= 0.74
    assert shares[needed // 2] < 0.5


@pytest.mark.parametrize("p", [0.5, 0.9])
def test_comparisons_of_the_advised_size_see_the_difference_in_the_stated_share(p: float) -> None:
    random, detections = np.random.default_rng(6), 0
    for _ in range(30):
        needed = calls_for_percentile_difference(random.lognormal(5, 0.3, 30), p, difference=0.25)
        assert needed is not None
        for _ in range(4):
            before, after = random.lognormal(5, 0.3, (2, needed))
            difference = estimate_percentile_difference(before, 1.25 * after, p)
            assert difference.low is not None
            detections += difference.low > 0
    assert 0.72 <= detections / 120 <= 0.97


def test_a_narrower_margin_and_a_smaller_difference_need_more_calls() -> None:
    pilot = np.random.default_rng(1).lognormal(5, 0.3, 40)
    widths = [calls_for_width(pilot, 0.9, within=margin) or 0 for margin in (0.3, 0.2, 0.1, 0.05)]
    assert widths == sorted(set(widths))
    differences = [calls_for_percentile_difference(pilot, 0.5, difference=size) or 0 for size in (0.4, 0.2, -0.1)]
    assert differences == sorted(set(differences))


def test_constant_durations_need_no_more_calls_than_bound_the_percentile() -> None:
    assert calls_for_width([100.0] * 10, 0.9, within=0.1) == 36
    assert calls_for_width([100.0] * 10, 0.5, within=0.1) == 6


def test_durations_that_vary_without_measure_need_more_than_the_most() -> None:
    assert calls_for_width(np.random.default_rng(1).lognormal(5, 3.5, 40), 0.99, within=0.02) is None


@pytest.mark.parametrize(("pilot", "message"), [([1.0] * 5, "at least 6"), ([1.0] * 6 + [0.0], "above 0")])
def test_a_pilot_that_says_nothing_is_refused(pilot: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        calls_for_width(pilot, 0.9, within=0.1)
    with pytest.raises(ValueError, match="margin"):
        calls_for_width([1.0] * 6, 0.9, within=0.0)
    with pytest.raises(ValueError, match="difference"):
        calls_for_percentile_difference([1.0] * 6, 0.9, difference=0.0)
