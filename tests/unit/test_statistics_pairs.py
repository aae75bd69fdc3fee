"""Paired tests, their false alarms, adjusted p-values, power and gates."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from loomlib.statistics import (
    MISSED,
    PASSED,
    UNCLEAR,
    Estimate,
    benjamini_hochberg,
    cases_for_difference,
    cases_for_rate_difference,
    cohens_d,
    cohens_h,
    detectable_difference,
    discordant_odds_ratio,
    estimate_difference,
    holm,
    mcnemar,
    outcome_at_least,
    outcome_at_most,
    outcome_not_worse,
    paired_bootstrap,
    paired_t,
)

Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]


def flips(won: float, lost: float) -> Draw:
    """Differences of passes and failures: shares `won` and `lost` of the cases differ."""

    def draw(random: np.random.Generator, n: int) -> NDArray[np.float64]:
        u = random.random(n)
        return np.where(u < won, 1.0, np.where(u < won + lost, -1.0, 0.0))

    return draw


def repeated(random: np.random.Generator, n: int) -> NDArray[np.float64]:
    """Three tries of both versions on cases that are easy or hard for both alike."""
    rates = random.beta(4, 1, n)
    return (random.binomial(3, rates) - random.binomial(3, rates)) / 3


def graded(random: np.random.Generator, n: int) -> NDArray[np.float64]:
    return random.beta(5, 1, n) - random.beta(5, 1, n)


NULL: dict[str, Draw] = {"three repeats": repeated, "scores": graded}


@pytest.mark.parametrize("n", [30, 100, 1000])
@pytest.mark.parametrize("kind", NULL)
def test_the_paired_test_raises_five_false_alarms_in_a_hundred(kind: str, n: int) -> None:
    random = np.random.Generator(np.random.PCG64(9))
    rows = [NULL[kind](random, n) for _ in range(4_000)]
    p_values = [paired_t(row).p_value for row in rows]
    assert 100 * np.mean([p is not None and p < 0.05 for p in p_values]) == pytest.approx(5, abs=1)


@pytest.mark.parametrize("n", [30, 100, 300, 1000])
def test_mcnemars_test_raises_five_false_alarms_in_a_hundred(n: int) -> None:
    random = np.random.Generator(np.random.PCG64(10))
    tables = random.multinomial(n, (0.25, 0.25, 0.5), 6_000)
    assert 100 * np.mean([mcnemar(int(w), int(lost)) < 0.05 for w, lost, _ in tables]) == pytest.approx(5, abs=1)


@pytest.mark.parametrize("n", [30, 300])
def test_where_few_cases_differ_the_tests_alarm_too_rarely_never_too_often(n: int) -> None:
    random = np.random.Generator(np.random.PCG64(11))
    tables = random.multinomial(n, (0.03, 0.03, 0.94), 4_000)
    assert np.mean([mcnemar(int(w), int(lost)) < 0.05 for w, lost, _ in tables]) < 0.06
    assert np.mean([(paired_t(flips(0.03, 0.03)(random, n)).p_value or 1) < 0.05 for _ in range(2_000)]) < 0.06


@pytest.mark.parametrize("n", [30, 100, 1000])
@pytest.mark.parametrize(("won", "lost"), [(0.1, 0.02), (0.2, 0.05), (0.25, 0.25), (0.02, 0.12)])
def test_intervals_of_differences_hold_the_truth_in_95_of_100_samples(won: float, lost: float, n: int) -> None:
    assert held(flips(won, lost), won - lost, n) >= 93
    assert held(flips(won, lost), won - lost, n) <= 98.5  # few flips at n = 30: wider than need be


@pytest.mark.parametrize("n", [30, 100, 1000])
def test_intervals_of_graded_and_repeated_differences_hold_the_truth_in_95_of_100_samples(n: int) -> None:
    assert held(graded, 0, n) == pytest.approx(95, abs=2)
    assert held(lambda random, n: graded(random, n) * 0.1 + 0.03, 0.03, n) == pytest.approx(95, abs=2)
    assert held(repeated, 0, n) == pytest.approx(95, abs=2.5)


def test_a_version_that_only_loses_does_not_slip_through() -> None:
    """Plain t holds the truth in 78 of 100 samples here."""
    assert held(flips(0, 0.05), -0.05, 30) >= 95
    assert held(flips(0, 0.05), -0.05, 300) >= 93


def held(draw: Draw, truth: float, n: int) -> float:
    random = np.random.Generator(np.random.PCG64(n))
    estimates = [estimate_difference(draw(random, n)) for _ in range(1_500)]
    return 100 * float(np.mean([e.low is not None and e.low <= truth <= (e.high or 0) for e in estimates]))


def test_mcnemar_is_fagerlands_example_of_hyperresponsive_airways() -> None:
    """Fagerland, Lydersen & Laake (2013): 1 and 7 discordant pairs, exact 0.070, mid-p 0.039."""
    assert mcnemar(1, 7, exact=True) == pytest.approx(0.0703, abs=5e-5)
    assert mcnemar(1, 7) == pytest.approx(0.0391, abs=5e-5)
    assert mcnemar(7, 1) == mcnemar(1, 7)


def test_mcnemar_is_agrestis_example_of_the_prime_minister() -> None:
    """Agresti, Categorical Data Analysis (2002), table 10.1: 86 and 150 changed their minds, z² = 17.36."""
    assert mcnemar(86, 150) == pytest.approx(math.erfc(math.sqrt(17.36 / 2)), rel=0.1)
    assert mcnemar(0, 0) == mcnemar(4, 4) == 1


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_mid_p_value_is_the_exact_one_less_half_of_what_was_seen(won: int, lost: int) -> None:
    probability = math.comb(won + lost, won) / 2 ** (won + lost)
    assert mcnemar(won, lost) <= mcnemar(won, lost, exact=True) <= 1
    if won != lost:
        assert mcnemar(won, lost, exact=True) - mcnemar(won, lost) == pytest.approx(probability)


def test_the_paired_t_test_is_students_own_example_of_sleep() -> None:
    """Student, The Probable Error of a Mean (1908): ten patients, t = 4.062 with 9 degrees of freedom."""
    gained = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]
    assert paired_t(gained).p_value == pytest.approx(0.002833, abs=1e-6)
    assert cohens_d(gained) == pytest.approx(4.0621 / math.sqrt(10), abs=1e-4)


def test_differences_that_do_not_vary_are_tested_by_their_sign() -> None:
    assert paired_t([-1.0] * 10).p_value == pytest.approx(2 / 2**10)
    assert paired_t([0.0] * 10).p_value == 1
    assert (paired_t([0.1] * 5).p_value, paired_t([0.1] * 5).reason) == (None, "n too small")
    assert cohens_d([0.1] * 5) is None


def test_where_no_case_differs_the_interval_still_states_how_many_could() -> None:
    estimate = estimate_difference([0.0] * 100)
    assert estimate.value == 0
    assert estimate.high == pytest.approx(2.8 / 102, abs=0.001)  # the rule of three, a little tighter on both sides
    assert estimate_difference([0.0] * 100, most=None).value is None
    assert estimate_difference([0.5] * 5).needed_n == 6


def test_an_interval_of_passes_is_bonett_and_prices_with_t_for_z() -> None:
    won, lost, n = 12, 5, 80
    estimate = estimate_difference([1.0] * won + [-1.0] * lost + [0.0] * (n - won - lost))
    p, q = (won + 1) / (n + 2), (lost + 1) / (n + 2)
    half = 1.9904502 * math.sqrt((p + q - (p - q) ** 2) / (n + 2))
    assert (estimate.low, estimate.high) == pytest.approx((p - q - half, p - q + half), abs=1e-6)


def test_the_bootstrap_agrees_with_t_on_many_cases_and_repeats_itself_under_its_seed() -> None:
    differences = graded(np.random.Generator(np.random.PCG64(3)), 500)
    bootstrap, t = paired_bootstrap(differences, seed=5), estimate_difference(differences)
    assert bootstrap == paired_bootstrap(differences, seed=5)
    assert (bootstrap.low, bootstrap.high) == pytest.approx((t.low, t.high), abs=0.002)
    rounded = np.round(differences, 1)
    assert (paired_bootstrap(rounded, seed=5).low) == pytest.approx(estimate_difference(rounded).low, abs=0.002)
    assert paired_bootstrap([0.5] * 20, seed=5).value is None


def test_holm_adjusts_as_in_his_procedure() -> None:
    """p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") in R: 0.03, 0.06, 0.06, 0.02."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([]) == ()


def test_benjamini_and_hochberg_reject_the_four_of_their_example() -> None:
    """Benjamini & Hochberg (1995), §3.2: fifteen p-values of a trial, four rejected at 0.05, three by Bonferroni."""
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
         0.7590, 1.0]  # fmt: skip
    assert sum(p_value < 0.05 for p_value in benjamini_hochberg(p)) == 4
    assert sum(p_value < 0.05 for p_value in holm(p)) == 3


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_adjusted_values_keep_their_order_and_are_never_smaller(values: list[float]) -> None:
    order = np.argsort(values, kind="stable")
    for adjusted in (np.array(holm(values)), np.array(benjamini_hochberg(values))):
        assert (adjusted >= np.array(values) - 1e-12).all()
        assert (adjusted <= 1).all()
        assert (np.diff(adjusted[order]) >= -1e-12).all()
    assert all(b <= h + 1e-12 for b, h in zip(benjamini_hochberg(values), holm(values), strict=True))


def test_cohens_h_is_his_example() -> None:
    """Cohen (1988), table 6.2.2: arcsine transforms of .50 and .25 are 1.571 and 1.047."""
    assert cohens_h(0.5, 0.25) == pytest.approx(1.571 - 1.047, abs=1e-3)
    assert cohens_h(0.25, 0.5) == -cohens_h(0.5, 0.25)


def test_the_odds_of_flips_have_no_upper_end_without_a_loss() -> None:
    assert discordant_odds_ratio(9, 3).value == 3
    alone = discordant_odds_ratio(5, 0)
    assert alone.open_above
    assert alone.low is not None
    assert alone.low > 1
    assert discordant_odds_ratio(0, 0).value is None


def test_as_many_cases_as_advised_find_the_difference_four_times_in_five() -> None:
    random = np.random.Generator(np.random.PCG64(12))
    n = cases_for_difference(0.05, deviation=0.2)
    p_values = [paired_t(random.normal(0.05, 0.2, n)).p_value for _ in range(2_000)]
    assert np.mean([p is not None and p < 0.05 for p in p_values]) == pytest.approx(0.8, abs=0.03)
    n = cases_for_rate_difference(0.08, differing=0.2)
    tables = random.multinomial(n, (0.14, 0.06, 0.8), 2_000)
    assert np.mean([mcnemar(int(won), int(lost)) < 0.05 for won, lost, _ in tables]) == pytest.approx(0.8, abs=0.04)


def test_what_a_set_can_find_and_how_many_it_takes_are_one_relation() -> None:
    """Cohen (1988), table 2.4.1 (d_z = 0.5, power 0.8, two-sided 5 %): 34 pairs."""
    assert cases_for_difference(0.5, deviation=1) == 34
    for n in (6, 20, 200):
        difference = detectable_difference(n, deviation=0.3)
        assert cases_for_difference(difference, deviation=0.3) == pytest.approx(n, abs=1)
    assert cases_for_difference(-0.1, deviation=0.3) == cases_for_difference(0.1, deviation=0.3)
    assert cases_for_rate_difference(0.5, differing=0.5) >= 10  # fewer than five flips prove nothing however they fall


def estimate(low: float, high: float, *, open_above: bool = False) -> Estimate:
    return Estimate(value=(low + high) / 2, low=low, high=high, n=50, confidence=0.95, method="", open_above=open_above)


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (outcome_at_least(estimate(0.8, 0.9), 0.8), PASSED),
        (outcome_at_least(estimate(0.7, 0.9), 0.8), UNCLEAR),
        (outcome_at_least(estimate(0.6, 0.79), 0.8), MISSED),
        (outcome_at_most(estimate(0.1, 0.2), 0.2), PASSED),
        (outcome_at_most(estimate(0.1, 0.2, open_above=True), 0.2), UNCLEAR),
        (outcome_at_most(estimate(0.3, 0.4), 0.2), MISSED),
        (outcome_not_worse(estimate(-0.019, 0.05), 0.02), PASSED),
        (outcome_not_worse(estimate(-0.05, -0.01), 0.02), UNCLEAR),
        (outcome_not_worse(estimate(-0.09, -0.03), 0.02), MISSED),
        (outcome_not_worse(Estimate.missing("n too small", n=3, confidence=0.95, method=""), 0.02), UNCLEAR),
    ],
)
def test_a_gate_is_decided_by_the_whole_interval(outcome: str, expected: str) -> None:
    assert outcome == expected


@pytest.mark.parametrize(
    "bad",
    [
        lambda: mcnemar(-1, 2),
        lambda: paired_t([float("nan")] * 8),
        lambda: holm([1.2]),
        lambda: cohens_h(1.1, 0.5),
        lambda: cases_for_difference(0, deviation=1),
        lambda: cases_for_difference(0.1, deviation=0),
        lambda: cases_for_rate_difference(0.1, differing=0.05),
        lambda: detectable_difference(5, deviation=1),
        lambda: outcome_not_worse(estimate(0, 1), -0.1),
        lambda: cases_for_rate_difference(0.1, differing=0.5, power=1),
    ],
)
def test_impossible_arguments_are_refused(bad: Any) -> None:
    with pytest.raises(ValueError):
        bad()
