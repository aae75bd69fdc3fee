"""Decide whether a proposal is kept: one paired test per proposal, with one error rate shared by all tests."""

from __future__ import annotations

from collections.abc import Sequence

from loomlib.presentation.formats import number, p_value, percent

from ..compare import Comparison
from .trials import DROPPED, KEPT, Trial

MAX_UNSCORED_SHARE = 0.05
"""Maximum share of answers without a score; a candidate with a larger share is dropped."""


def next_alpha(alpha: float, trials: Sequence[Trial], most: int) -> float:
    """Return the significance level of the next test: the unspent part of `alpha`, divided by the remaining tests.

    Alpha spending (Lan & DeMets 1983) with equal parts: all levels add up to `alpha`, so by Bonferroni's inequality
    the probability of keeping any change that is not better stays below `alpha`, even when the tests are dependent. A
    proposal that failed before its test spends nothing.

    Args:
        alpha: The error rate of the whole search.
        trials: The trials so far.
        most: The largest number of trials.
    """
    remaining_tests = most - sum(trial.alpha > 0 for trial in trials)
    return max(0.0, alpha - sum(trial.alpha for trial in trials)) / remaining_tests if remaining_tests > 0 else 0.0


def decide(comparison: Comparison, objective: str, *, alpha: float) -> tuple[str, str]:
    """Return the decision and its reason.

    A proposal is kept when the objective is better with a two-sided p ≤ alpha, no other evaluator is worse by more
    than the comparison's margin, and nearly all answers have scores.

    Args:
        comparison: The candidate compared with the best so far.
        objective: The evaluator that decides.
        alpha: The significance level of this test.
    """
    result = comparison[objective]
    if result.unscored_share > MAX_UNSCORED_SHARE:
        return DROPPED, f"{percent(result.unscored_share)} of its answers have no score"
    p, difference = result.test.p_value, result.difference.value
    if p is None or difference is None:
        return DROPPED, result.test.reason or "too few cases"
    evidence = f"{result.change}, {p_value(p)} at level {number(alpha)}"
    if not difference > 0:
        return DROPPED, f"not better: {evidence}"
    if p > alpha:
        return DROPPED, f"not significantly better: {evidence}"
    worse = [gate.evaluator for gate in comparison.gates() if gate.is_missed and gate.evaluator != objective]
    if worse:
        return DROPPED, f"better ({evidence}), but worse in {', '.join(worse)}"
    return KEPT, f"better: {evidence}"
