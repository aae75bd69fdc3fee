"""One evaluator's comparison of two runs: the difference, its test, its size, and what one may say of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from loomlib.presentation.formats import number, plural
from loomlib.statistics.estimates import Estimate
from loomlib.statistics.means import estimate_mean
from loomlib.statistics.pairs import (
    PairedTest,
    cohens_d,
    cohens_h,
    estimate_difference,
    flip_odds,
    mcnemar,
    paired_bootstrap,
    paired_t,
)
from loomlib.statistics.power import cases_for_difference, cases_for_flips
from loomlib.statistics.rates import estimate_rate

from .gathered import CaseResult, EvaluatorResults
from .pairing import LOST, RATE, WON, Flip, Pairing, Unpaired, pair
from .words import difference_words, p_text, percent_text, points_words, score_text

BETTER, WORSE, NO_DIFFERENCE, TOO_FEW = "better", "worse", "no difference found", "too few cases"
LEVEL = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorComparison:
    """What one evaluator says of the new run against the baseline, on the `n` cases that both can answer for.

    `measure` says what is compared ("pass rate" or "score"). `difference` is new minus baseline; `bootstrap` is the
    same by a paired bootstrap over cases. `test` has the p-value, `p_adjusted` the one adjusted over all evaluators of
    the comparison (Holm). `effect` is Cohen's h for rates and d_z for scores; `odds` are wins to losses.
    `unscored_share` is the share of the new run's tries that should have a score and have none, on cases that the
    baseline has a score for: no test sees them, so a gate does.
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
        """Cases that went better than in the baseline."""
        return sum(flip.verdict == WON for flip in self.flips)

    @property
    def lost(self) -> int:
        """Cases that went worse."""
        return sum(flip.verdict == LOST for flip in self.flips)

    @property
    def same(self) -> int:
        """Cases that went the same."""
        return self.n - self.won - self.lost

    @property
    def is_rate(self) -> bool:
        """True when passes and failures are compared."""
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
        return points_words(self.difference) if self.is_rate else difference_words(self.difference)

    def sentence(self) -> str:
        """The verdict in a sentence, then the evidence."""
        marks = f" ({', '.join(self.labels)})" if self.labels else ""
        cases = plural(self.n, "case")
        if self.verdict == TOO_FEW:
            needed = f", {self.difference.needed_n} are needed" if self.difference.needed_n else ""
            return f"{self.evaluator}{marks}: too few cases to compare ({self.n} in both runs{needed})."
        went = f"{self.won} won, {self.lost} lost, {self.same} the same of {cases}"
        return (
            f"{self.evaluator}{marks}: {self.verdict}. {self.measure.capitalize()} {self._from_to()}, {self.change}, "
            f"{p_text(self.p_adjusted)} ({self.test.method}); {went}."
        )

    def power_advice(self, difference: float = 0.05) -> str:
        """How many cases it would take to find a difference this large (0.05: five points) four times in five."""
        differences = [flip.difference for flip in self.flips]
        if self.n < 2:
            return "No case was compared: nothing tells how many it would take."
        mean = sum(differences) / self.n
        deviation = math.sqrt(sum((each - mean) ** 2 for each in differences) / (self.n - 1))
        differing = (self.won + self.lost) / self.n
        if differing and deviation < 1e-12:  # what rounding leaves of none
            return "Every case differs by the same: nothing tells how much cases vary."
        if not differing:
            return "No case went differently: nothing tells how much cases vary, nor how many it would take."
        if self.is_rate and self.test.method.startswith("McNemar"):
            # A share of differing cases below the difference to be found could not make it.
            needed = cases_for_flips(difference, differing=min(1.0, max(differing, difference)))
        else:
            needed = cases_for_difference(difference, deviation=deviation)
        size = f"{difference * 100:g} points" if self.is_rate else f"{difference:g}"
        have = f"there are {number(self.n, 0)}" if needed > self.n else f"the {number(self.n, 0)} here are enough"
        return f"To find a difference of {size} in 80 % of runs takes about {plural(needed, 'case')}; {have}."

    def summary(self) -> dict[str, object]:
        """The same as plain values, ready for JSON."""
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
        return " → ".join(percent_text(mean) if self.is_rate else score_text(mean) for mean in means)


def compare_results(new: EvaluatorResults, baseline: EvaluatorResults, *, seed: int) -> EvaluatorComparison:
    """The comparison under one evaluator; its p-value is not adjusted yet."""
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
    """The comparison of pairs made already (all of them, or those of a slice)."""
    differences = pairing.differences()
    is_rate = pairing.measure == RATE
    flips = pairing.flips(new.evaluator)
    won, lost = sum(flip.verdict == WON for flip in flips), sum(flip.verdict == LOST for flip in flips)
    value, before = (_estimate([each[side] for each in pairing.pairs], is_rate, bounds) for side in (0, 1))
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
        odds=flip_odds(won, lost),
        flips=flips,
        unpaired=pairing.unpaired,
        unscored_share=_unscored_share(pairing),
        labels=tuple(dict.fromkeys((*new.labels, *baseline.labels))),
    )


def paired_test(pairing: Pairing) -> PairedTest:
    """McNemar's mid-p test for passes and failures asked once; the paired t test over case means for all others."""
    differences = pairing.differences()
    if pairing.measure != RATE or pairing.is_repeated:
        return paired_t(differences)
    won, lost = sum(each > 0 for each in differences), sum(each < 0 for each in differences)
    known = paired_t(differences)  # too few cases are too few for either
    if known.p_value is None:
        return replace(known, method="McNemar mid-p")
    return PairedTest(method="McNemar mid-p", p_value=mcnemar(won, lost), n=len(differences))


def _estimate(cases: list[CaseResult], is_rate: bool, bounds: tuple[float, float] | None) -> Estimate:
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
    silent = len(pairing.unpaired.failed)
    partly = sum(case.failed / (case.scored + case.failed) for case, _ in pairing.pairs)
    due = len(pairing.pairs) + silent
    return (silent + partly) / due if due else 0.0
