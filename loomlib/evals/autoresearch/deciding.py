"""Keep or drop: one paired test a proposal, each allowed its part of one error for the whole research."""

from __future__ import annotations

from collections.abc import Sequence

from ..compare import Comparison
from ..compare.words import p_text
from .trials import DROPPED, KEPT, Trial

MOST_UNSCORED = 0.05
"""The share of tries without a score above which a candidate is dropped, whatever the others say."""


def next_alpha(alpha: float, trials: Sequence[Trial], most: int) -> float:
    """What the next test may spend: the rest of `alpha`, divided evenly over the tests that are left.

    Alpha spending (Lan & DeMets 1983), even over tests: what all tests spend adds up to `alpha`, so by Bonferroni's
    inequality the chance that the research keeps anything that is no better stays below it, whatever the tests have
    to do with each other. A proposal that failed before its test spends nothing.
    """
    left = most - sum(trial.alpha > 0 for trial in trials)
    return max(0.0, alpha - sum(trial.alpha for trial in trials)) / left if left > 0 else 0.0


def decide(comparison: Comparison, objective: str, *, alpha: float) -> tuple[str, str]:
    """The decision and its reason.

    Kept when the objective is better with a two-sided p ≤ alpha, no other evaluator is worse beyond the comparison's
    margin, and the candidate answered.
    """
    each = comparison[objective]
    if each.unscored_share > MOST_UNSCORED:
        return DROPPED, f"{each.unscored_share:.0%} of its tries have no score"
    p, difference = each.test.p_value, each.difference.value
    if p is None or difference is None:
        return DROPPED, each.test.reason or "too few cases"
    told = f"{each.change}, {p_text(p)} where {alpha:.2g} is allowed"
    if not difference > 0:
        return DROPPED, f"no better: {told}"
    if p > alpha:
        return DROPPED, f"not shown to be better: {told}"
    worse = [gate.evaluator for gate in comparison.gates() if gate.is_missed and gate.evaluator != objective]
    if worse:
        return DROPPED, f"better ({told}), and worse by {', '.join(worse)}"
    return KEPT, f"better: {told}"
