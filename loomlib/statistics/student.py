"""Student's t distribution and binomial tails, without scipy."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

_TINY = 1e-300
_WHOLE = 64
_LARGE_DF = 1e7
"""From here on Student's t and the normal distribution differ by less than 1e-6."""


def t_cdf(t: float, df: float) -> float:
    """Return the cumulative distribution function of Student's t.

    By the regularized incomplete beta function (Abramowitz & Stegun, 26.7.1), exact to about 1e-13.

    Args:
        t: The value.
        df: Degrees of freedom, any number above 0.
    """
    _check_df(df)
    if df > _LARGE_DF:
        return NormalDist().cdf(t)
    square = t * t
    # Of the two equal forms the one whose argument is small: near 1 it would lose its digits.
    beyond = (
        _incomplete_beta(df / 2, 0.5, df / (df + square))
        if square > df
        else 1 - _incomplete_beta(0.5, df / 2, square / (df + square))
    ) / 2
    return 1 - beyond if t > 0 else beyond


@lru_cache(maxsize=4096)
def t_quantile(p: float, df: float) -> float:
    """Return the quantile `p` (0 < p < 1) of Student's t with `df` degrees of freedom."""
    _check_df(df)
    if not 0 < p < 1:
        raise ValueError(f"a quantile's probability must be between 0 and 1, not {p}")
    if df > _LARGE_DF:
        return NormalDist().inv_cdf(p)
    if p < 0.5:
        return -t_quantile(1 - p, df)
    low, high = 0.0, 1.0
    while t_cdf(high, df) < p:
        low, high = high, high * 2
    while high - low > 1e-12 * max(1.0, high):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if t_cdf(middle, df) < p else (low, middle)
    return (low + high) / 2


def binomial_tail(hits: int, n: int) -> float:
    """Return the probability of at most `hits` heads in `n` tosses of a fair coin.

    Summed in whole numbers up to 64 tosses; from there I_½(n − hits, hits + 1) (Abramowitz & Stegun, 26.5.24).
    """
    if not 0 <= hits <= n:
        raise ValueError(f"hits must be between 0 and the {n} tosses, not {hits}")
    if n <= _WHOLE:
        return sum(math.comb(n, k) for k in range(hits + 1)) / 2**n
    return 1.0 if hits == n else _incomplete_beta(n - hits, hits + 1, 0.5)


def binomial_point(hits: int, n: int) -> float:
    """Return the probability of exactly `hits` heads in `n` tosses of a fair coin."""
    if not 0 <= hits <= n:
        raise ValueError(f"hits must be between 0 and the {n} tosses, not {hits}")
    if n <= _WHOLE:
        return math.comb(n, hits) / 2**n
    return math.exp(math.lgamma(n + 1) - math.lgamma(hits + 1) - math.lgamma(n - hits + 1) - n * math.log(2))


def _check_df(df: float) -> None:
    if not df > 0:
        raise ValueError(f"Student's t needs degrees of freedom above 0, not {df}")


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """I_x(a, b) by Lentz's continued fraction (Press et al., Numerical Recipes, 3rd ed., §6.4)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x > (a + 1) / (a + b + 2):
        return 1 - front * _fraction(b, a, 1 - x) / b
    return front * _fraction(a, b, x) / a


def _fraction(a: float, b: float, x: float) -> float:
    c, d = 1.0, 1 / _away(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 10_000):
        for step in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                     -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):  # fmt: skip
            d = 1 / _away(1 + step * d)
            c = _away(1 + step / c)
            value *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return value


def _away(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
