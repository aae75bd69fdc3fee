"""Sample sizes for paired tests and for A/B tests, and the smallest difference that a number of cases can detect."""

from __future__ import annotations

import math
from statistics import NormalDist

from .pairs import mcnemar
from .percentiles import SMALLEST_N
from .student import t_quantile

POWER = 0.8
LEVEL = 0.05


def cases_for_difference(difference: float, *, deviation: float, power: float = POWER, level: float = LEVEL) -> int:
    """Return the number of cases with which a paired t test detects a mean difference.

    n = (t₁₋α/₂ + t_power)²·s²/d² (Miller, arXiv:2411.00640, 2024, §5), with t's own degrees of freedom.

    Args:
        difference: The difference to detect.
        deviation: Standard deviation of the cases' differences in the same unit, from a pilot; repeats make it smaller.
        power: Probability of detecting it.
        level: Significance level.
    """
    _check(difference, power, level)
    if deviation <= 0:
        raise ValueError(f"a standard deviation must be above 0, not {deviation}")
    ratio = (deviation / difference) ** 2
    n = max(2.0, _z(level, power) ** 2 * ratio)
    for _ in range(50):
        df = max(1.0, n - 1)
        needed = (t_quantile(1 - level / 2, df) + t_quantile(power, df)) ** 2 * ratio
        if abs(needed - n) < 0.01:
            break
        n = max(2.0, (n + needed) / 2)
    return max(SMALLEST_N, math.ceil(n - 0.01))


def cases_for_rate_difference(
    difference: float, *, differing: float, power: float = POWER, level: float = LEVEL
) -> int:
    """Return the number of cases with which McNemar's test detects a difference of pass rates.

    n = (z₁₋α/₂·√ψ + z_power·√(ψ − d²))² / d² (Connor, Biometrics 43:1, 1987).

    Args:
        difference: The difference to detect.
        differing: Share of cases that pass in one version only (ψ); at least the difference.
        power: Probability of detecting it.
        level: Significance level.
    """
    _check(difference, power, level)
    size = abs(difference)
    if not size <= differing <= 1:
        raise ValueError(f"the share of differing cases must be between the difference and 1, not {differing}")
    normal = NormalDist()
    root = normal.inv_cdf(1 - level / 2) * math.sqrt(differing)
    root += normal.inv_cdf(power) * math.sqrt(differing - size * size)
    # With fewer cases, the result is not significant even if every differing case is a win.
    return max(math.ceil(root**2 / size**2 - 1e-9), math.ceil(_fewest_flips(level) / differing))


def detectable_difference(n: int, *, deviation: float, power: float = POWER, level: float = LEVEL) -> float:
    """Return the smallest mean difference that a paired t test detects.

    Args:
        n: Number of cases.
        deviation: Standard deviation of the cases' differences.
        power: Probability of detecting it.
        level: Significance level.
    """
    _check(1.0, power, level)
    if n < SMALLEST_N:
        raise ValueError(f"fewer than {SMALLEST_N} cases cannot detect a difference")
    return (t_quantile(1 - level / 2, n - 1) + t_quantile(power, n - 1)) * deviation / math.sqrt(n)


def sessions_for_difference(
    difference: float, *, deviation: float, share: float = 0.5, power: float = POWER, level: float = LEVEL
) -> int:
    """Return the number of sessions, of both versions together, with which an A/B test detects a difference of means.

    n = (z₁₋α/₂ + z_power)²·s²·(1/w + 1/(1−w))/d², for two independent groups with the shares w and 1 − w (Chow, Shao &
    Wang, Sample Size Calculations in Clinical Research, 2nd ed., 2008, §3.2).

    Args:
        difference: The difference to detect.
        deviation: Standard deviation of the sessions' values in the same unit, from a pilot.
        share: The new version's share of the sessions.
        power: Probability of detecting it.
        level: Significance level.
    """
    _check(difference, power, level)
    if deviation <= 0:
        raise ValueError(f"a standard deviation must be above 0, not {deviation}")
    if not 0 < share < 1:
        raise ValueError(f"the new version's share of the sessions must be between 0 and 1, not {share}")
    variance = (deviation / difference) ** 2 * (1 / share + 1 / (1 - share))
    return max(2 * SMALLEST_N, math.ceil(_z(level, power) ** 2 * variance - 1e-9))


def _fewest_flips(level: float) -> int:
    flips = 1
    while mcnemar(flips, 0) >= level:
        flips += 1
    return flips


def _z(level: float, power: float) -> float:
    normal = NormalDist()
    return normal.inv_cdf(1 - level / 2) + normal.inv_cdf(power)


def _check(difference: float, power: float, level: float) -> None:
    if difference == 0 or difference != difference:
        raise ValueError("the difference to detect must not be 0")
    if not (0.5 <= power < 1 and 0 < level < 0.5):
        raise ValueError("power must be between 0.5 and 1, and the level between 0 and 0.5")
