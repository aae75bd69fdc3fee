"""The test of A/B tests: false alarms, power, coverage, and what looking early costs."""

from __future__ import annotations

import numpy as np
import pytest

from loomlib.statistics import compare_groups, permutation_p_values, sessions_for_difference

TESTS = 2_000
SESSIONS = 200


def drawn(kind: str, random: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    if kind == "score":
        return random.beta(4, 1, shape)
    if kind == "latency":
        return random.lognormal(6, 1, shape)
    return random.binomial(5, 0.1, shape) / 5  # the share of a session's calls that failed


@pytest.mark.parametrize("share", [0.5, 0.9])
@pytest.mark.parametrize("kind", ["score", "latency", "failures"])
def test_two_thousand_tests_of_equal_versions_raise_4_to_6_percent_false_alarms(kind, share):
    values = drawn(kind, np.random.default_rng(20_261), (SESSIONS, TESTS))
    alarms = permutation_p_values(values, int(SESSIONS * share), seed=1, permutations=999) < 0.05
    assert 0.04 <= alarms.mean() <= 0.06


def test_the_planned_number_of_sessions_finds_the_difference_four_times_in_five():
    n = sessions_for_difference(0.5, deviation=1.0, share=0.5)
    assert 120 <= n <= 130
    values = np.random.default_rng(3).normal(0, 1, (n, 2_000))
    values[n // 2 :] += 0.5
    is_significant = permutation_p_values(values, n // 2, seed=1, permutations=999) < 0.05
    assert 0.76 <= is_significant.mean() <= 0.84
    assert sessions_for_difference(0.5, deviation=1.0, share=0.1) > 2.5 * n  # uneven shares need more sessions


def test_stopping_at_the_first_small_p_value_doubles_the_false_alarms():
    values = np.random.default_rng(4).normal(0, 1, (400, 500))
    order = np.random.default_rng(5).permutation(400)
    is_second = order >= 200
    alarms = np.zeros(500, dtype=bool)
    for looked_at in (80, 160, 240, 320, 400):
        first = values[:looked_at][~is_second[:looked_at]]
        second = values[:looked_at][is_second[:looked_at]]
        alarms |= permutation_p_values(np.vstack([first, second]), len(first), seed=1, permutations=999) < 0.05
    assert alarms.mean() > 0.1


def test_the_interval_covers_the_difference_of_skewed_groups_of_nine_to_one():
    random = np.random.default_rng(6)
    covered = 0
    for seed in range(60):
        difference = compare_groups(random.lognormal(0, 1, 180), random.lognormal(0, 1, 20) + 1, seed=seed).difference
        covered += difference.low <= 1 <= difference.high
    assert covered / 60 >= 0.88


def test_the_interval_excludes_zero_where_p_is_small():
    random = np.random.default_rng(7)
    for seed in range(20):
        compared = compare_groups(random.normal(0, 1, 60), random.normal(0.35, 1, 60), seed=seed)
        excludes = not compared.difference.low <= 0 <= compared.difference.high
        assert excludes == (compared.p_value < 0.05) or abs(compared.p_value - 0.05) < 0.002


def test_groups_without_variation_and_small_groups_have_no_p_value_and_say_why():
    same = compare_groups([1.0] * 10, [1.0] * 10, seed=1)
    assert same.p_value is None
    assert "all values are equal" in same.difference.reason
    small = compare_groups([1.0, 2.0], [1.0] * 10, seed=1)
    assert (small.p_value, small.difference.reason) == (None, "n too small")
    apart = compare_groups([0.0] * 20, [1.0] * 20, seed=1)
    assert apart.p_value < 0.001
    with pytest.raises(ValueError, match="count failures"):
        compare_groups([1.0, float("nan")], [1.0], seed=1)


def test_many_sessions_are_compared_by_welchs_test():
    random = np.random.default_rng(8)
    compared = compare_groups(random.normal(0, 1, 15_000), random.normal(0.1, 2, 15_000), seed=1)
    assert "Welch" in compared.difference.method
    assert compared.p_value < 0.001
    assert compared.difference.low <= 0.1 <= compared.difference.high
