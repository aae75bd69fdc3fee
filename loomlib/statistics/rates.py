"""Pass rates over cases with repeats: the rate itself, pass@k, and pass^k.

pass@k is the chance that at least one of k tries passes, 1 − C(n−c, k)/C(n, k) for a case that passed c of n tries:
the unbiased estimator of Chen et al. (Evaluating Large Language Models Trained on Code, arXiv:2107.03374, 2021, §2.1).
pass^k is the chance that all of k tries pass, C(c, k)/C(n, k) (Yao et al., τ-bench, arXiv:2406.12045, 2024, §3).

Intervals. One try a case: Wilson's score interval. With repeats: Wilson's with the effective sample size of Korn &
Graubard (Survey Methodology 24:2, 1998) and t with C − 1 degrees of freedom; the effective size is never above the
number of tries, and where all or none pass, which says nothing about how alike repeats are, it is the number of cases.
Measured over Beta-distributed difficulties, three and five repeats, 30 to 1,000 cases: 94.6–96.3 % of the intervals
contain the true rate. pass@k and pass^k are means over cases of values between 0 and 1: see `loomlib.statistics.means`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from ..presentation.formats import TOO_SMALL, plural
from .estimates import Estimate
from .means import estimate_mean, variance_ratio, wilson_shape
from .percentiles import CONFIDENCE, SMALLEST_N, FloatArray, estimate_share

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CLUSTERED_RATE_METHOD = "Wilson score, effective sample size over cases"
ANY_OF_K_METHOD = "pass@k (Chen et al. 2021), Wilson-type interval with t quantiles over cases"
ALL_OF_K_METHOD = "pass^k (Yao et al. 2024), Wilson-type interval with t quantiles over cases"

Counts: TypeAlias = "Sequence[int] | NDArray[np.intp]"


def pass_at_k(passes: int, tries: int, k: int) -> float:
    """Return pass@k of a case: the probability that at least one of `k` tries passes.

    This is the unbiased estimator of Chen et al., Evaluating Large Language Models Trained on Code (2021): 1 − C(n − c,
    k) / C(n, k).

    Args:
        passes: Number of tries that passed (c).
        tries: Number of tries of the case (n).
        k: Number of tries to draw without replacement, at most `tries`.
    """
    _check_case(passes, tries, k)
    return 1 - math.comb(tries - passes, k) / math.comb(tries, k)


def pass_hat_k(passes: int, tries: int, k: int) -> float:
    """Return pass^k of a case: the probability that all of `k` tries pass.

    This is the estimator of Yao et al., τ-bench (2024): C(c, k) / C(n, k).

    Args:
        passes: Number of tries that passed (c).
        tries: Number of tries of the case (n).
        k: Number of tries to draw without replacement, at most `tries`.
    """
    _check_case(passes, tries, k)
    return math.comb(passes, k) / math.comb(tries, k)


def estimate_rate(passes: Counts, tries: Counts, *, confidence: float = CONFIDENCE) -> Estimate:
    """Estimate the pass rate over cases, each case counted once; `n` of the result counts the cases.

    Args:
        passes: Passes of each case.
        tries: Tries of each case; cases without one are left out.
        confidence: Confidence level of the interval.

    Returns:
        The estimate; with repeats, without a value below six cases.
    """
    passed, tried = _counts(passes, tries)
    n = int(tried.size)
    if n == 0:
        return Estimate.missing(
            "nothing scored", n=0, confidence=confidence, method=CLUSTERED_RATE_METHOD, needed_n=1
        )  # fmt: skip
    if int(tried.max()) == 1:
        return estimate_share(int(passed.sum()), n, confidence=confidence)
    if n < SMALLEST_N:
        return Estimate.missing(
            TOO_SMALL, n=n, confidence=confidence, method=CLUSTERED_RATE_METHOD, needed_n=SMALLEST_N
        )
    rates = passed / tried
    rate = float(rates.mean())
    spread = variance_ratio(rate, float(rates.var(ddof=1)))
    if 0 < rate < 1:
        # Even if repeats happen to be less alike than independent tries, they cannot count for more than the tries.
        spread = max(spread, n / float(tried.sum()))
    low, high = wilson_shape(rate, spread, n, confidence=confidence)
    return Estimate(
        value=rate,
        low=min(low, rate),
        high=max(high, rate),
        n=n,
        confidence=confidence,
        method=CLUSTERED_RATE_METHOD,
    )


def estimate_pass_at(passes: Counts, tries: Counts, k: int, *, confidence: float = CONFIDENCE) -> Estimate:
    """Estimate pass@k over the cases that were tried at least k times; `n` of the result counts them.

    Args:
        passes: Passes of each case.
        tries: Tries of each case.
        k: Number of tries of which one must pass.
        confidence: Confidence level of the interval.
    """
    return _over_cases(passes, tries, k, ANY_OF_K_METHOD, confidence, at_least_one=True)


def estimate_pass_all(passes: Counts, tries: Counts, k: int, *, confidence: float = CONFIDENCE) -> Estimate:
    """Estimate pass^k over the cases that were tried at least k times; `n` of the result counts them.

    Args:
        passes: Passes of each case.
        tries: Tries of each case.
        k: Number of tries that must all pass.
        confidence: Confidence level of the interval.
    """
    return _over_cases(passes, tries, k, ALL_OF_K_METHOD, confidence, at_least_one=False)


def _over_cases(
    passes: Counts, tries: Counts, k: int, method: str, confidence: float, *, at_least_one: bool
) -> Estimate:
    import numpy as np

    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    passed, tried = _counts(passes, tries)
    enough = tried >= k
    if not enough.any():
        reason = f"no case was tried {plural(k, 'time')}"
        return Estimate.missing(reason, n=0, confidence=confidence, method=method, needed_n=SMALLEST_N)
    values = _chances(passed[enough], tried[enough], k, at_least_one=at_least_one)
    if np.isin(values, (0.0, 1.0)).all():
        estimate = estimate_share(int(values.sum()), int(values.size), confidence=confidence)
        method = f"{method.partition(',')[0]}, {estimate.method} over cases"
    else:
        estimate = estimate_mean(values, confidence=confidence)
    return Estimate(
        value=estimate.value, low=estimate.low, high=estimate.high, n=estimate.n, confidence=confidence, method=method,
        reason=estimate.reason, needed_n=estimate.needed_n,
    )  # fmt: skip


def _chances(passed: NDArray[np.intp], tried: NDArray[np.intp], k: int, *, at_least_one: bool) -> FloatArray:
    """Return each case's probability; each distinct pair of counts is computed once."""
    import numpy as np

    wide = int(tried.max()) + 1
    codes, places = np.unique(tried * wide + passed, return_inverse=True)
    chance = pass_at_k if at_least_one else pass_hat_k
    return np.array([chance(code % wide, code // wide, k) for code in map(int, codes)])[places]


def _counts(passes: Counts, tries: Counts) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    import numpy as np

    passed, tried = np.asarray(passes, dtype=np.intp), np.asarray(tries, dtype=np.intp)
    if passed.shape != tried.shape:
        raise ValueError(f"each case needs its passes and its tries: got {passed.size} and {tried.size}")
    if (passed < 0).any() or (passed > tried).any():
        raise ValueError("the passes of a case must be between 0 and its tries")
    return passed[tried > 0], tried[tried > 0]


def _check_case(passes: int, tries: int, k: int) -> None:
    if not 0 <= passes <= tries:
        raise ValueError(f"passes must be between 0 and the {tries} tries, not {passes}")
    if not 1 <= k <= tries:
        raise ValueError(f"k must be between 1 and the {tries} tries, not {k}")
