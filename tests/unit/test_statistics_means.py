"""Means over cases with repeats: how often their intervals hold the truth, and Inspect's numbers on the same data."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from loomlib.statistics import (
    bootstrap_means,
    cluster_means,
    clustered_standard_error,
    estimate_mean,
    standard_error,
)

Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]
INSPECT: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "data" / "evals" / "inspect_statistics.json").read_text()
)["samples"]
SAMPLES = 1_000
scores = st.floats(0, 1)
six_digits = st.integers(0, 10**6).map(lambda digits: digits / 10**6)
"""Scores of which no two that differ become one when their scale is moved, as 0 and 1e-108 do."""


def coverage(draw: Draw, truth: float, n: int, *, bounds: tuple[float, float] | None = (0.0, 1.0)) -> float:
    """The share of samples whose 95 % interval holds the truth, in percent."""
    random = np.random.Generator(np.random.PCG64(n))
    hits = 0
    for _ in range(SAMPLES):
        estimate = estimate_mean(draw(random, n), bounds=bounds)
        hits += estimate.low is not None and estimate.high is not None and estimate.low <= truth <= estimate.high
    return 100 * hits / SAMPLES


def mostly_ones(random: np.random.Generator, n: int) -> NDArray[np.float64]:
    return np.where(random.random(n) < 0.8, 1.0, random.random(n))


def three_repeats(random: np.random.Generator, n: int) -> NDArray[np.float64]:
    return random.binomial(3, random.beta(4, 0.5, n)) / 3


BOUNDED: dict[str, tuple[Draw, float]] = {
    "even": (lambda random, n: random.random(n), 0.5),
    "skewed": (lambda random, n: random.beta(5, 1, n), 5 / 6),
    "very skewed": (lambda random, n: random.beta(20, 1, n), 20 / 21),
    "mostly ones": (mostly_ones, 0.9),
    "three repeats of passes": (three_repeats, 4 / 4.5),
}


@pytest.mark.parametrize("n", [30, 100, 300, 1000])
@pytest.mark.parametrize("shape", BOUNDED)
def test_intervals_of_scores_hold_the_truth_in_95_of_100_samples(shape: str, n: int) -> None:
    draw, truth = BOUNDED[shape]
    assert coverage(draw, truth, n) == pytest.approx(95, abs=2)


@pytest.mark.parametrize("n", [30, 100, 300, 1000])
def test_intervals_of_skewed_values_without_bounds_hold_the_truth_in_95_of_100_samples(n: int) -> None:
    assert coverage(lambda random, n: random.exponential(1, n), 1.0, n, bounds=None) == pytest.approx(95, abs=2)
    assert coverage(lambda random, n: random.normal(3, 2, n), 3.0, n, bounds=None) == pytest.approx(95, abs=2)


def test_repeats_are_no_new_cases() -> None:
    """Taken for new cases, five repeats of 40 cases would give an interval that misses the truth every third time."""
    random = np.random.Generator(np.random.PCG64(1))
    hits = naive_hits = 0
    for _ in range(SAMPLES):
        cases = np.repeat(random.beta(2, 1, 40), 5)
        values = np.clip(cases + random.normal(0, 0.02, 200), 0, 1)
        truth = 2 / 3
        clustered, unclustered = estimate_mean(values, np.arange(200) // 5), estimate_mean(values)
        assert clustered.low is not None
        assert clustered.high is not None
        assert unclustered.low is not None
        assert unclustered.high is not None
        hits += clustered.low <= truth <= clustered.high
        naive_hits += unclustered.low <= truth <= unclustered.high
    assert 100 * hits / SAMPLES == pytest.approx(95, abs=2)
    assert 100 * naive_hits / SAMPLES < 70


@given(st.lists(scores, min_size=6, max_size=40), st.integers(1, 4))
def test_repeating_every_answer_changes_nothing(values: list[float], repeats: int) -> None:
    once = estimate_mean(values)
    repeated = estimate_mean(
        [v for v in values for _ in range(repeats)], [c for c in range(len(values)) for _ in range(repeats)]
    )
    assert repeated.n == once.n
    for name in ("value", "low", "high"):
        assert getattr(repeated, name) == pytest.approx(getattr(once, name), abs=1e-9)


@given(st.lists(six_digits, min_size=6, max_size=40))
def test_an_interval_of_scores_stays_on_their_scale_and_holds_the_mean(values: list[float]) -> None:
    estimate = estimate_mean(values)
    if estimate.value is not None and estimate.low is not None and estimate.high is not None:
        assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
        stretched = estimate_mean([10 * v - 4 for v in values], bounds=(-4, 6))
        assert stretched.low == pytest.approx(10 * estimate.low - 4, abs=1e-6)
        assert stretched.high == pytest.approx(10 * estimate.high - 4, abs=1e-6)


def test_five_cases_are_too_few_and_state_how_many_it_takes() -> None:
    estimate = estimate_mean([0.1, 0.9, 0.4, 0.3, 0.8])
    assert (estimate.value, estimate.reason, estimate.n, estimate.needed_n) == (None, "n too small", 5, 6)
    assert estimate_mean([]).value is None
    assert estimate_mean([0.5] * 12, [1] * 12).n == 1


def test_equal_values_inside_the_scale_have_no_interval_but_all_ones_have() -> None:
    inside = estimate_mean([0.7] * 40)
    assert inside.value is None
    assert str(inside) == "all 40 cases have 0.70: their variation cannot be estimated"
    assert estimate_mean([0.7] * 40, bounds=None).value is None
    perfect = estimate_mean([1.0] * 40)
    assert perfect.value == perfect.high == 1
    assert perfect.low == pytest.approx(0.907, abs=0.001)


def test_scores_beyond_their_bounds_and_values_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="give their bounds"):
        estimate_mean([0.5] * 6 + [1.5])
    with pytest.raises(ValueError, match="finite"):
        estimate_mean([0.5] * 6 + [float("nan")])
    with pytest.raises(ValueError, match="needs a cluster"):
        estimate_mean([0.5, 0.6], [1])


@pytest.mark.parametrize("name", INSPECT)
def test_means_and_standard_errors_are_those_of_inspect(name: str) -> None:
    cases, inspect = INSPECT[name]["cases"], INSPECT[name]["inspect"]
    values = [value for repeats in cases for value in repeats]
    clusters = [case for case, repeats in enumerate(cases) for _ in repeats]
    means = cluster_means(values, clusters)
    assert np.mean(values) == pytest.approx(inspect["mean"])
    assert standard_error(values) == pytest.approx(inspect["stderr"])
    assert clustered_standard_error(values, clusters) == pytest.approx(inspect["stderr_clustered"])
    assert estimate_mean(values, clusters).value == pytest.approx(inspect["case_mean"])
    assert standard_error(means) == pytest.approx(inspect["case_stderr"])
    # Both are 10,000 random resamples: a standard error of one in a hundred and forty each.
    assert bootstrap_means(means, seed=1).std() == pytest.approx(inspect["case_bootstrap_stderr"], rel=0.03)


@pytest.mark.parametrize("name", [name for name in INSPECT if "unequal" not in name])
def test_with_equally_many_repeats_both_clustered_standard_errors_are_one(name: str) -> None:
    inspect = INSPECT[name]["inspect"]
    assert inspect["case_stderr"] == pytest.approx(inspect["stderr_clustered"])


def test_half_way_up_the_scale_the_interval_is_the_plain_t_interval_of_inspect() -> None:
    inspect = INSPECT["passes, 40 cases × 5"]["inspect"]
    cases = INSPECT["passes, 40 cases × 5"]["cases"]
    estimate = estimate_mean([sum(repeats) / 5 for repeats in cases])
    assert estimate.low == pytest.approx(inspect["case_ci_t"]["lower"], abs=0.01)
    assert estimate.high == pytest.approx(inspect["case_ci_t"]["upper"], abs=0.01)
