"""Gates on whole intervals, for a build that must not be stopped by luck nor waved through by silence.

A gate is missed only beyond doubt, and passed only beyond doubt. Failures to answer or to judge are in no mean, so a
gate that would pass turns unclear when the missing scores, all taken for the worst, could undo it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loomlib.presentation.formats import plural
from loomlib.statistics.estimates import Estimate
from loomlib.statistics.gates import MISSED, PASSED, UNCLEAR, outcome_at_least, outcome_not_worse

from .summaries import EvaluatorSummary, Summary
from .verdicts import EvaluatorComparison
from .words import difference_words, interval_words, percent_text, points_text, points_words, score_text

EXIT_CODES = {PASSED: 0, UNCLEAR: 0, MISSED: 2}
"""What a command ends with: 2 for a missed gate. An unclear one is no reason to stop a build; its sentence says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateVerdict:
    """How one evaluator stands to a limit: "passed", "missed" or "unclear", with the estimate that says so.

    `limit` is the least rate or score of an absolute gate, or minus the margin of one against a baseline; both in
    shares (0.02 is two points).
    """

    outcome: str
    evaluator: str
    limit: float
    estimate: Estimate
    text: str

    @property
    def is_missed(self) -> bool:
        """True when the limit is missed beyond doubt."""
        return self.outcome == MISSED

    @property
    def exit_code(self) -> int:
        """0, or 2 when the gate is missed."""
        return EXIT_CODES[self.outcome]

    def sentence(self) -> str:
        """The verdict in a sentence."""
        return f"Gate {self.outcome}: {self.evaluator}, {self.text}."

    def summary(self) -> dict[str, object]:
        """The verdict as JSON-ready values."""
        return {
            "outcome": self.outcome,
            "evaluator": self.evaluator,
            "limit": self.limit,
            "estimate": self.estimate.summary(),
            "sentence": self.sentence(),
        }

    def __str__(self) -> str:
        return self.sentence()


def gate_at_least(results: Summary | EvaluatorSummary, limit: float, *, evaluator: str | None = None) -> GateVerdict:
    """An absolute gate: the pass rate (the mean, for an evaluator without a bar) is `limit` at least.

    Missed when the whole 95 % interval lies below the limit, passed when it lies at or above it.

        exit_code([gate_at_least(run.summary(), 0.9, evaluator="trajectory")])
    """
    each = _chosen(results, evaluator)
    is_rate = each.has_bar
    estimate = each.pass_rate if is_rate else each.mean
    outcome = outcome_at_least(estimate, limit)
    shown, bar = interval_words(estimate, percent=is_rate), percent_text(limit) if is_rate else score_text(limit)
    what = f"{'pass rate' if is_rate else 'mean'} {shown}, at least {bar} wanted"
    if not estimate.is_known:
        what = f"{_few(estimate, each.cases)}; at least {bar} wanted"
    elif outcome == UNCLEAR:
        what += "; more cases would decide"
    elif outcome == PASSED and estimate.low is not None and estimate.low * (1 - each.failed_share) < limit:
        outcome = UNCLEAR
        what += f"; but {plural(each.failed, 'try').replace('trys', 'tries')} without a score could undo it"
    return GateVerdict(outcome=outcome, evaluator=each.evaluator, limit=limit, estimate=estimate, text=what)


def gate_not_worse(each: EvaluatorComparison, margin: float) -> GateVerdict:
    """A gate against a baseline: missed only if worse by more than `margin` (a share or score) with 95 % confidence."""
    estimate = each.difference
    outcome = outcome_not_worse(estimate, margin)
    change = points_words(estimate) if each.is_rate else difference_words(estimate)
    allowed = points_text(margin, sign=False) if each.is_rate else score_text(margin)
    what = f"{each.measure} {change} against the baseline, at most {allowed} worse allowed"
    if not estimate.is_known:
        what = f"{_few(estimate, each.n)} in both runs; at most {allowed} worse allowed"
    elif outcome == UNCLEAR:
        what += "; more cases would decide"
    if outcome == PASSED and estimate.low is not None and estimate.low - each.unscored_share < -margin:
        outcome = UNCLEAR
        what += f"; but {percent_text(each.unscored_share)} of the new run's tries have no score and could undo it"
    return GateVerdict(outcome=outcome, evaluator=each.evaluator, limit=-margin, estimate=estimate, text=what)


def exit_code(gates: Sequence[GateVerdict]) -> int:
    """What a command ends with after all of them: 2 when one is missed, else 0."""
    return max((gate.exit_code for gate in gates), default=0)


def _few(estimate: Estimate, n: int) -> str:
    needed = f", {estimate.needed_n} are needed" if estimate.needed_n else ""
    return f"{estimate.reason}: {plural(n, 'case')}{needed}"


def _chosen(results: Summary | EvaluatorSummary, evaluator: str | None) -> EvaluatorSummary:
    if isinstance(results, EvaluatorSummary):
        return results
    if evaluator is not None:
        return results[evaluator]
    if len(results.evaluators) != 1:
        raise ValueError(
            f"name the evaluator that the gate is about: {', '.join(e.evaluator for e in results.evaluators)}"
        )
    return results.evaluators[0]
