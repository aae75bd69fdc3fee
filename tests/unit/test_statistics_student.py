"""Student's t and the fair coin, held to printed tables and to each other."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomlib.statistics.student import binomial_point, binomial_tail, t_cdf, t_quantile


@pytest.mark.parametrize(
    ("p", "df", "printed"),
    [
        (0.975, 1, 12.706), (0.975, 2, 4.303), (0.975, 5, 2.571), (0.975, 10, 2.228), (0.975, 30, 2.042),
        (0.975, 120, 1.980), (0.95, 4, 2.132), (0.99, 7, 2.998), (0.995, 20, 2.845), (0.9, 60, 1.296),
    ],
)  # fmt: skip
def test_the_quantiles_are_those_of_the_printed_table(p: float, df: float, printed: float) -> None:
    assert t_quantile(p, df) == pytest.approx(printed, abs=5e-4)


@given(st.floats(0.001, 0.999), st.floats(0.6, 1e6))
def test_a_quantile_is_where_the_distribution_reaches_its_probability(p: float, df: float) -> None:
    assert t_cdf(t_quantile(p, df), df) == pytest.approx(p, abs=1e-9)


@given(st.floats(-40, 40), st.floats(0.6, 1e6))
def test_the_distribution_is_symmetric(t: float, df: float) -> None:
    assert t_cdf(t, df) + t_cdf(-t, df) == pytest.approx(1, abs=1e-12)


@given(st.floats(-30, 30))
def test_one_degree_of_freedom_is_cauchys_distribution(t: float) -> None:
    assert t_cdf(t, 1) == pytest.approx(0.5 + math.atan(t) / math.pi, abs=1e-12)


def test_with_many_degrees_of_freedom_it_is_the_normal_distribution() -> None:
    assert t_quantile(0.975, 1e9) == pytest.approx(1.959964, abs=1e-6)
    assert t_quantile(0.975, 9e6) == pytest.approx(t_quantile(0.975, 2e7), abs=1e-6)


@given(st.integers(0, 400).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_the_coins_tail_is_the_sum_in_whole_numbers(drawn: tuple[int, int]) -> None:
    n, hits = drawn
    whole = sum(math.comb(n, k) for k in range(hits + 1)) / 2**n
    assert binomial_tail(hits, n) == pytest.approx(whole, rel=1e-9)
    assert binomial_point(hits, n) == pytest.approx(math.comb(n, hits) / 2**n, rel=1e-9)


def test_the_coin_can_be_thrown_a_million_times() -> None:
    assert binomial_tail(500_000, 1_000_000) == pytest.approx(0.5 + binomial_point(500_000, 1_000_000) / 2, rel=1e-6)
    assert 0 < binomial_tail(490_000, 1_000_000) < 1e-80


@pytest.mark.parametrize("bad", [lambda: t_cdf(1, 0), lambda: t_quantile(1, 5), lambda: binomial_tail(3, 2)])
def test_impossible_arguments_are_refused(bad: object) -> None:
    with pytest.raises(ValueError):
        bad()  # type: ignore[operator]
