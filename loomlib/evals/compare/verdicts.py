"""Compare two runs by one evaluator: the difference, its test, its effect size, and the verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from loomlib.presentation.formats import number, p_value, percent, plural, points, score
from loomlib.statistics.estimates import Estimate
from loomlib.statistics.means import estimate_mean
from loomlib.statistics.pairs import (
    PairedTest,
    cohens_d,
    cohens_h,
    discordant_odds_ratio,
    estimate_difference,
    mcnemar,
    paired_bootstrap,
    paired_t,
)
from loomlib.statistics.power import cases_for_difference, cases_for_rate_difference
from loomlib.statistics.rates import estimate_rate

from .estimate_text import difference_text, points_text
from .gathered import CaseScores, EvaluatorResults
from .pairing import LOST, RATE, WON, Flip, Pairing, Unpaired, pair

BETTER, WORSE, NO_DIFFERENCE, TOO_FEW = "better", "worse", "no difference found", "too few cases"
LEVEL = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorComparison:
    """The new run against the baseline by one evaluator, on the `n` cases with a score in both.

    Attributes:
        evaluator: The evaluator.
        level: What it judges.
        measure: What is compared, "pass rate" or "score".
        n: Compared cases.
        value: The new run's estimate.
        baseline: The baseline's estimate.
        difference: New minus baseline.
        bootstrap: The same difference by a paired bootstrap over cases.
        test: The paired test with its p-value.
        p_adjusted: p-value adjusted over all evaluators of the comparison (Holm).
        effect: Cohen's h for rates, d_z for scores.
        odds: Odds of wins to losses.
        flips: How each case changed.
        unpaired: Cases that were not compared.
        unscored_share: Share of the new run's attempts without a score, on cases for which the baseline has one. The
            tests ignore these attempts; the gates take them into account.
        labels: Provenance labels.
    """

    evaluator: str
    level: str
    measure: str
    n: int
    value: Estimate
    baseline: Estimate
    difference: Estimate
    bootstrap: Estimate
    test: PairedTest
    p_adjusted: float | None
    effect: float | None
    odds: Estimate
    flips: tuple[Flip, ...]
    unpaired: Unpaired
    unscored_share: float = 0.0
    labels: tuple[str, ...] = ()

    @property
    def won(self) -> int:
        """Cases that are better than in the baseline."""
        return sum(flip.verdict == WON for flip in self.flips)

    @property
    def lost(self) -> int:
        """Cases that are worse than in the baseline."""
        return sum(flip.verdict == LOST for flip in self.flips)

    @property
    def same(self) -> int:
        """Cases without a change."""
        return self.n - self.won - self.lost

    @property
    def is_rate(self) -> bool:
        """Whether pass rates are compared."""
        return self.measure == RATE

    @property
    def verdict(self) -> str:
        """`better`, `worse`, `no difference found` or `too few cases`, by the adjusted p-value at 5 %."""
        if self.p_adjusted is None or self.difference.value is None:
            return TOO_FEW
        if self.p_adjusted >= LEVEL or self.difference.value == 0:
            return NO_DIFFERENCE
        return BETTER if self.difference.value > 0 else WORSE

    @property
    def change(self) -> str:
        """The difference as text, in points for rates."""
        return points_text(self.difference) if self.is_rate else difference_text(self.difference)

    def sentence(self) -> str:
        """Return the verdict and its evidence in one sentence."""
        marks = f" ({', '.join(self.labels)})" if self.labels else ""
        cases = plural(self.n, "case")
        if self.verdict == TOO_FEW:
            needed = f", needs {self.difference.needed_n}" if self.difference.needed_n else ""
            return f"{self.evaluator}{marks}: too few cases for a comparison ({self.n} in both runs{needed})."
        changes = f"{self.won} won, {self.lost} lost, {self.same} unchanged of {cases}"
        return (
            f"{self.evaluator}{marks}: {self.verdict}. {self.measure.capitalize()} {self._from_to()}, {self.change}, "
            f"{p_value(self.p_adjusted)} ({self.test.method}); {changes}."
        )

    def power_advice(self, difference: float = 0.05) -> str:
        """Estimate how many cases are needed to detect a difference with a power of 80 %.

        Args:
            difference: The difference to detect (0.05: five points).
        """
        differences = [flip.difference for flip in self.flips]
        if self.n < 2:
            return "No case was compared, so the number of cases needed is unknown."
        mean = sum(differences) / self.n
        deviation = math.sqrt(sum((difference - mean) ** 2 for difference in differences) / (self.n - 1))
        differing = (self.won + self.lost) / self.n
        if differing and deviation < 1e-12:  # zero up to rounding
            return "All cases differ by the same amount, so their variance is unknown."
        if not differing:
            return "No case changed, so the variance and the number of cases needed are unknown."
        if self.is_rate and self.test.method.startswith("McNemar"):
            # The share of changed cases cannot be below the difference to detect.
            needed = cases_for_rate_difference(difference, differing=min(1.0, max(differing, difference)))
        else:
            needed = cases_for_difference(difference, deviation=deviation)
        size = points(difference).removeprefix("+") if self.is_rate else number(difference)
        have = f"there are {number(self.n, 0)}" if needed > self.n else f"the {number(self.n, 0)} cases are enough"
        return f"Detecting a difference of {size} with 80 % power needs about {plural(needed, 'case')}; {have}."

    def summary(self) -> dict[str, object]:
        """Return the comparison as JSON values."""
        return {
            "evaluator": self.evaluator,
            "level": self.level,
            "measure": self.measure,
            "verdict": self.verdict,
            "n": self.n,
            "value": self.value.summary(),
            "baseline": self.baseline.summary(),
            "difference": self.difference.summary(),
            "bootstrap": self.bootstrap.summary(),
            "test": self.test.method,
            "p_value": self.test.p_value,
            "p_adjusted": self.p_adjusted,
            "effect": self.effect,
            "odds": self.odds.summary(),
            "won": [flip.case_id for flip in self.flips if flip.verdict == WON],
            "lost": [flip.case_id for flip in self.flips if flip.verdict == LOST],
            "unscored_share": self.unscored_share,
            "unpaired": {words: list(ids) for words, ids in self.unpaired.counted()},
            "labels": list(self.labels),
            "sentence": self.sentence(),
        }

    def _from_to(self) -> str:
        means = [sum(getattr(flip, side) for flip in self.flips) / self.n for side in ("baseline", "value")]
        return " → ".join(percent(mean) if self.is_rate else score(mean) for mean in means)


def compare_results(new: EvaluatorResults, baseline: EvaluatorResults, *, seed: int) -> EvaluatorComparison:
    """Compare two runs' results by one evaluator; the p-value is not adjusted.

    Args:
        new: The new run's results.
        baseline: The baseline's results.
        seed: Seed of the bootstrap.
    """
    pairing = pair(new, baseline)
    bounds = new.bounds if new.bounds == baseline.bounds else None
    return compare_pairs(pairing, new, baseline, bounds=bounds, seed=seed)


def compare_pairs(
    pairing: Pairing,
    new: EvaluatorResults,
    baseline: EvaluatorResults,
    *,
    bounds: tuple[float, float] | None,
    seed: int,
) -> EvaluatorComparison:
    """Compare pairs of cases (all of them, or those of a slice); the p-value is not adjusted.

    Args:
        pairing: The pairs.
        new: The new run's results.
        baseline: The baseline's results.
        bounds: Range of the values, None when unknown.
        seed: Seed of the bootstrap.
    """
    differences = pairing.differences()
    is_rate = pairing.measure == RATE
    flips = pairing.flips(new.evaluator)
    won, lost = sum(flip.verdict == WON for flip in flips), sum(flip.verdict == LOST for flip in flips)
    value, before = (_estimate([pair[side] for pair in pairing.pairs], is_rate, bounds) for side in (0, 1))
    return EvaluatorComparison(
        evaluator=new.evaluator,
        level=new.level,
        measure=pairing.measure,
        n=len(pairing.pairs),
        value=value,
        baseline=before,
        difference=estimate_difference(differences, most=1.0 if bounds or is_rate else None),
        bootstrap=paired_bootstrap(differences, seed=seed),
        test=paired_test(pairing),
        p_adjusted=None,
        effect=_effect(value, before, differences, is_rate=is_rate),
        odds=discordant_odds_ratio(won, lost),
        flips=flips,
        unpaired=pairing.unpaired,
        unscored_share=_unscored_share(pairing),
        labels=tuple(dict.fromkeys((*new.labels, *baseline.labels))),
    )


def paired_test(pairing: Pairing) -> PairedTest:
    """Return McNemar's mid-p test for pass rates without repeats, else the paired t test over case means."""
    differences = pairing.differences()
    if pairing.measure != RATE or pairing.is_repeated:
        return paired_t(differences)
    won, lost = sum(value > 0 for value in differences), sum(value < 0 for value in differences)
    t_test = paired_t(differences)  # both tests need the same number of cases
    if t_test.p_value is None:
        return replace(t_test, method="McNemar mid-p")
    return PairedTest(method="McNemar mid-p", p_value=mcnemar(won, lost), n=len(differences))


def _estimate(cases: list[CaseScores], is_rate: bool, bounds: tuple[float, float] | None) -> Estimate:
    if is_rate:
        return estimate_rate([case.passes for case in cases], [case.tries for case in cases])
    return estimate_mean([case.value for case in cases], bounds=bounds)


def _effect(value: Estimate, before: Estimate, differences: list[float], *, is_rate: bool) -> float | None:
    if not is_rate:
        return cohens_d(differences)
    if value.value is None or before.value is None:
        return None
    return cohens_h(value.value, before.value)


def _unscored_share(pairing: Pairing) -> float:
    failed = len(pairing.unpaired.failed)
    partly = sum(case.failed / (case.scored + case.failed) for case, _ in pairing.pairs)
    due = len(pairing.pairs) + failed
    return (failed + partly) / due if due else 0.0
