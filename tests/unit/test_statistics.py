"""Percentiles, shares and differences, held to properties and to the definitions they cite."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomlib.statistics.estimates import Estimate
from loomlib.statistics.percentiles import (
    estimate_paired_difference,
    estimate_percentile,
    estimate_percentiles,
    estimate_share,
    is_bounded_above,
    needed_for,
    percentile,
)

durations = st.floats(0.001, 1e7, allow_nan=False)
samples = st.lists(durations, min_size=1, max_size=60)
shares = st.floats(0.01, 0.99)


@given(samples, shares)
def test_a_percentile_is_definition_8_of_hyndman_and_fan(values: list[float], p: float) -> None:
    assert percentile(values, p) == pytest.approx(float(np.quantile(values, p, method="median_unbiased")), rel=1e-9)


@given(samples, shares, shares)
def test_a_higher_percentile_is_never_smaller(values: list[float], p: float, q: float) -> None:
    low, high = sorted((p, q))
    assert percentile(values, low) <= percentile(values, high) * (1 + 1e-12)


@given(st.lists(durations, max_size=400), st.lists(shares, max_size=4))
def test_several_percentiles_of_an_unsorted_sample_are_those_of_the_sorted_one(
    values: list[float], wanted: list[float]
) -> None:
    assert estimate_percentiles(values, wanted) == [estimate_percentile(sorted(values), p) for p in wanted]


@given(st.lists(durations, min_size=6, max_size=60), st.sampled_from([0.5, 0.9]), st.randoms())
def test_the_order_of_the_observations_changes_nothing(values: list[float], p: float, shuffler: random.Random) -> None:
    shuffled = list(values)
    shuffler.shuffle(shuffled)
    assert estimate_percentile(values, p) == estimate_percentile(shuffled, p)


@given(st.lists(durations, min_size=10, max_size=60), st.sampled_from([0.5, 0.9]))
def test_an_interval_holds_its_value_and_stays_within_the_data(values: list[float], p: float) -> None:
    estimate = estimate_percentile(values, p)
    assert estimate.value is not None
    assert estimate.low is not None
    assert estimate.high is not None
    assert min(values) <= estimate.low <= estimate.value <= estimate.high <= max(values)


@given(durations, st.integers(10, 200), st.sampled_from([0.5, 0.9]))
def test_constant_data_has_an_interval_of_width_zero(value: float, n: int, p: float) -> None:
    estimate = estimate_percentile([value] * n, p)
    assert (estimate.low, estimate.value, estimate.high) == (value, value, value)


@pytest.mark.parametrize(("p", "needed", "bounded"), [(0.5, 6, 6), (0.9, 10, 36), (0.99, 100, 368)])
def test_a_percentile_is_reported_and_bounded_from_the_n_that_the_module_derives(
    p: float, needed: int, bounded: int
) -> None:
    assert needed_for(p) == needed
    assert not is_bounded_above(p, bounded - 1)
    assert is_bounded_above(p, bounded)
    few = estimate_percentile([1.0 * k for k in range(needed - 1)], p)
    assert not few.is_known
    assert (str(few), few.needed_n) == ("n too small", needed)
    assert estimate_percentile([1.0 * k for k in range(needed)], p).is_known


def test_an_interval_that_the_sample_cannot_bound_is_shown_as_at_least() -> None:
    estimate = estimate_percentile([300.0 + k for k in range(10)], 0.9)
    assert estimate.open_above
    assert "–≥309]" in str(estimate)


@given(st.lists(st.tuples(durations, durations), min_size=6, max_size=40))
def test_a_paired_difference_turns_its_sign_with_the_pair(pairs: list[tuple[float, float]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    forth = estimate_paired_difference(first, second)
    back = estimate_paired_difference(second, first)
    assert forth.value is not None
    assert back.value is not None
    assert forth.value == pytest.approx(-back.value, abs=1e-6)


def test_what_a_pair_shares_cancels() -> None:
    generator = np.random.default_rng(2)
    drift = generator.normal(0, 500, 20)
    difference = estimate_paired_difference(list(drift + 310), list(drift + 10))
    assert (difference.low, difference.high) == (pytest.approx(300), pytest.approx(300))


def test_pairs_of_two_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="the same length"):
        estimate_paired_difference([1.0], [1.0, 2.0])


@given(st.integers(0, 200), st.integers(1, 200))
def test_a_share_lies_within_its_wilson_interval(hits: int, n: int) -> None:
    estimate = estimate_share(min(hits, n), n)
    assert estimate.value is not None
    assert estimate.low is not None
    assert estimate.high is not None
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1


def test_wilsons_interval_has_the_published_values() -> None:
    # Newcombe, Statistics in Medicine 17 (1998), table I, method 3: 81 of 263.
    estimate = estimate_share(81, 263)
    assert (estimate.low, estimate.high) == (pytest.approx(0.2553, abs=5e-5), pytest.approx(0.3662, abs=5e-5))
    assert estimate_share(0, 20).high == pytest.approx(0.1611, abs=5e-5)


def test_failed_calls_cannot_slip_into_a_percentile_as_nan() -> None:
    with pytest.raises(ValueError, match="finite"):
        estimate_percentile([1.0] * 9 + [float("nan")], 0.5)


def test_an_estimate_without_a_value_has_a_reason() -> None:
    with pytest.raises(ValueError, match="needs a reason"):
        Estimate(value=None, low=None, high=None, n=0, confidence=0.95, method="")
    with pytest.raises(ValueError, match="does not contain"):
        Estimate(value=1.0, low=2.0, high=3.0, n=9, confidence=0.95, method="")


def test_a_seed_has_no_effect_and_is_deprecated():
    values, others = [float(k) for k in range(30)], [float(k % 7) for k in range(30)]
    with pytest.warns(DeprecationWarning, match=r"estimate_percentile\(seed=\) is deprecated: it has no effect"):
        assert estimate_percentile(values, 0.5, seed=3) == estimate_percentile(values, 0.5)
    with pytest.warns(DeprecationWarning, match=r"estimate_paired_difference\(seed=\)"):
        assert estimate_paired_difference(values, others, seed=3) == estimate_paired_difference(values, others)
