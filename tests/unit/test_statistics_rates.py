"""Pass rates, pass@k and pass^k: printed examples, brute force, Inspect's numbers, and how often intervals hold."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomlib.statistics import (
    estimate_pass_all,
    estimate_pass_at,
    estimate_rate,
    estimate_share,
    pass_at_k,
    pass_hat_k,
)

INSPECT: dict[str, Any] = {
    name: sample
    for name, sample in json.loads(
        (Path(__file__).parents[1] / "data" / "evals" / "inspect_statistics.json").read_text()
    )["samples"].items()
    if name.startswith("passes")
}
SAMPLES = 1_000


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_shares_are_newcombes_examples_of_wilsons_interval(hits: int, n: int, low: float, high: float) -> None:
    """Newcombe, Statistics in Medicine 17 (1998), table I, method 3."""
    for estimate in (estimate_share(hits, n), estimate_rate([1] * hits + [0] * (n - hits), [1] * n)):
        assert estimate.low == pytest.approx(low, abs=5e-5)
        assert estimate.high == pytest.approx(high, abs=5e-5)


@given(st.integers(1, 7).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_and_pass_hat_k_are_the_shares_among_all_choices_of_k_tries(drawn: tuple[int, int, int]) -> None:
    tries, passes, k = drawn
    chosen = list(combinations([True] * passes + [False] * (tries - passes), k))
    assert pass_at_k(passes, tries, k) == pytest.approx(sum(map(any, chosen)) / len(chosen))
    assert pass_hat_k(passes, tries, k) == pytest.approx(sum(map(all, chosen)) / len(chosen))


def test_many_tries_overflow_nothing() -> None:
    assert 0 < pass_at_k(1, 5000, 100) < 0.03
    assert pass_hat_k(4999, 5000, 100) == pytest.approx(0.98)


@pytest.mark.parametrize("name", INSPECT)
def test_pass_at_k_and_pass_hat_k_are_those_of_inspect_case_by_case(name: str) -> None:
    cases, inspect = INSPECT[name]["cases"], INSPECT[name]["inspect"]
    passes, tries = [int(sum(repeats)) for repeats in cases], [len(repeats) for repeats in cases]
    for k in map(int, inspect["pass_at"]):
        by_case = [pass_at_k(c, n, k) for c, n in zip(passes, tries, strict=True)]
        assert by_case == pytest.approx(inspect["pass_at"][str(k)])
        assert estimate_pass_at(passes, tries, k).value == pytest.approx(np.mean(by_case))
        assert [pass_hat_k(c, n, k) for c, n in zip(passes, tries, strict=True)] == pytest.approx(
            inspect["pass_k"][str(k)]
        )
        assert estimate_pass_all(passes, tries, k).value == pytest.approx(np.mean(inspect["pass_k"][str(k)]))


@pytest.mark.parametrize("name", INSPECT)
def test_wilsons_intervals_are_those_of_inspect_with_and_without_repeats(name: str) -> None:
    cases, inspect = INSPECT[name]["cases"], INSPECT[name]["inspect"]
    estimate = estimate_rate([int(sum(repeats)) for repeats in cases], [len(repeats) for repeats in cases])
    interval = inspect.get("ci_wilson", inspect["ci_wilson_clustered"])
    assert estimate.value == pytest.approx(inspect["mean"])
    assert (estimate.low, estimate.high) == pytest.approx((interval["lower"], interval["upper"]))


@pytest.mark.parametrize("n", [30, 100, 300, 1000])
@pytest.mark.parametrize(("easy", "hard"), [(4, 0.5), (0.5, 0.1), (1, 1)])
def test_intervals_of_repeated_passes_hold_the_truth_in_95_of_100_samples(easy: float, hard: float, n: int) -> None:
    random, tries = np.random.Generator(np.random.PCG64(7)), np.full(n, 3)
    truth, hits, all_hits = easy / (easy + hard), 0, 0
    # All of three tries pass with the third moment of Beta(easy, hard).
    all_truth = float(np.prod([(easy + i) / (easy + hard + i) for i in range(3)]))
    for _ in range(SAMPLES):
        passes = random.binomial(3, random.beta(easy, hard, n))
        rate, pass_all = estimate_rate(passes, tries), estimate_pass_all(passes, tries, 3)
        assert rate.low is not None
        assert rate.high is not None
        assert pass_all.low is not None
        assert pass_all.high is not None
        hits += rate.low <= truth <= rate.high
        all_hits += pass_all.low <= all_truth <= pass_all.high
    assert 100 * hits / SAMPLES == pytest.approx(95, abs=2)
    assert 100 * all_hits / SAMPLES == pytest.approx(95, abs=2)


@pytest.mark.parametrize("n", [30, 100, 300, 1000])
def test_intervals_of_rates_hold_the_truth_in_95_of_100_samples_over_all_rates(n: int) -> None:
    random = np.random.Generator(np.random.PCG64(8))
    hits = 0
    for truth in random.random(SAMPLES):
        rate = estimate_share(int(random.binomial(n, truth)), n)
        assert rate.low is not None
        assert rate.high is not None
        hits += rate.low <= truth <= rate.high
    assert 100 * hits / SAMPLES == pytest.approx(95, abs=2)


def test_where_all_pass_repeats_count_as_no_more_than_their_cases() -> None:
    perfect = estimate_rate([5] * 20, [5] * 20)
    assert perfect.value == perfect.high == 1
    assert perfect.low is not None
    assert perfect.low < 0.9  # 100 tries taken for new cases would say 0.96


def test_repeats_are_never_worth_more_than_tries() -> None:
    """Every case passes two of three tries: they do not vary at all, but tries do."""
    rate = estimate_rate([2] * 20, [3] * 20)
    tries = estimate_share(40, 60)
    assert rate.low is not None
    assert tries.low is not None
    assert rate.low <= tries.low


def test_cases_with_too_few_tries_are_left_out_of_k_and_reported() -> None:
    assert estimate_pass_at([1] * 8 + [1], [2] * 8 + [1], 2).n == 8
    none = estimate_pass_at([1] * 8, [1] * 8, 2)
    assert (none.value, none.reason) == (None, "no case was tried 2 times")
    assert estimate_rate([0, 0], [0, 0]).reason == "nothing scored"
    assert estimate_rate([1, 2], [3, 3]).needed_n == 6


@pytest.mark.parametrize(
    "bad",
    [
        lambda: estimate_rate([4], [3]),
        lambda: estimate_rate([1, 1], [3]),
        lambda: estimate_pass_at([1], [3], 0),
        lambda: pass_at_k(1, 3, 4),
        lambda: pass_hat_k(4, 3, 1),
    ],
)
def test_impossible_counts_are_refused(bad: Any) -> None:
    with pytest.raises(ValueError):
        bad()
