"""Gates decided on whole confidence intervals, so that neither chance nor missing scores decide them.

A gate is passed or missed only when the whole interval is on one side of the limit; it is also missed when every single
case misses it. Cases that failed to run or to be scored are excluded from averages; a gate that would pass becomes
unclear when the missing scores, all counted as the worst, could reverse it.
"""

from __future__ import annotations

from dataclasses import dataclass

from loomlib.experiments import Gate
from loomlib.presentation.formats import percent, plural, points, score
from loomlib.statistics.estimates import Estimate
from loomlib.statistics.gates import PASSED, UNCLEAR, Decision, decide_at_least, decide_not_worse

from .estimate_text import difference_text, interval_text, points_text
from .summaries import EvaluatorSummary, Summary
from .verdicts import EvaluatorComparison


@dataclass(frozen=True, slots=True, kw_only=True)
class GateVerdict(Gate):
    """The verdict on an evaluator's rate or score, or on its change against a baseline.

    `limit` is the minimum rate or score, or minus the margin of a gate against a baseline, in shares: 0.02 is two
    points.

    Attributes:
        evaluator: The evaluator.
        needed_n: Number of cases that would decide an unclear gate, when that is known.
    """

    evaluator: str
    needed_n: int | None = None

    @property
    def estimate(self) -> Estimate:
        """The estimate that is compared with the limit."""
        return self.figure


def gate_at_least(results: Summary | EvaluatorSummary, limit: float, *, evaluator: str | None = None) -> GateVerdict:
    """Judge an absolute gate: the pass rate (or the mean, without a threshold) must be at least `limit`.

    Missed when the whole 95 % interval lies below the limit, passed when it lies at or above it.

        exit_code([gate_at_least(run.summary(), 0.9, evaluator="trajectory")])

    Args:
        results: A run's summary, or one evaluator's.
        limit: The minimum rate or score.
        evaluator: The evaluator, when the summary has several.
    """
    summary = _chosen(results, evaluator)
    is_rate = summary.has_threshold
    estimate = summary.pass_rate if is_rate else summary.mean
    # When the best case misses, every case does.
    decision = decide_at_least(estimate, limit, [] if summary.best is None else [summary.best] * max(1, estimate.n))
    outcome = decision.outcome
    interval, minimum = interval_text(estimate, percent=is_rate), percent(limit) if is_rate else score(limit)
    text = f"{'pass rate' if is_rate else 'mean'} {interval}, required: at least {minimum}"
    if not estimate.is_known:
        text = f"{_undecided(decision, estimate, summary.cases)}; required: at least {minimum}"
    elif outcome == UNCLEAR:
        text += f"; {decision.advice('case')}"
    elif outcome == PASSED and estimate.low is not None and estimate.low * (1 - summary.failed_share) < limit:
        outcome = UNCLEAR
        text += f"; but {plural(summary.failed, 'attempt')} without a score could reverse it"
    verdict = _verdict(outcome, summary.evaluator, limit, estimate, text, decision)
    if isinstance(results, Summary) and summary.evaluator in results.timed:
        return verdict.under(results.conditions)
    return verdict


def gate_not_worse(comparison: EvaluatorComparison, margin: float) -> GateVerdict:
    """Judge a gate against a baseline: missed only if worse by more than the margin with 95 % confidence.

    Args:
        comparison: The comparison by one evaluator.
        margin: Largest accepted loss, a share or score.
    """
    estimate = comparison.difference
    decision = decide_not_worse(estimate, margin, [flip.difference for flip in comparison.flips])
    outcome = decision.outcome
    change = points_text(estimate) if comparison.is_rate else difference_text(estimate)
    allowed = points(margin).lstrip("+") if comparison.is_rate else score(margin)
    text = f"{comparison.measure} {change} against the baseline, largest accepted decrease {allowed}"
    if not estimate.is_known:
        text = f"{_undecided(decision, estimate, comparison.n)} in both runs; largest accepted decrease {allowed}"
    elif outcome == UNCLEAR:
        text += f"; {decision.advice('case')}"
    values = [value for flip in comparison.flips for value in (flip.value, flip.baseline)]
    # The largest loss of one attempt: 1 for shares, the range of the values for scores on a larger scale.
    span = max(1.0, max(values, default=0.0) - min(0.0, min(values, default=0.0)))
    if outcome == PASSED and estimate.low is not None and estimate.low - comparison.unscored_share * span < -margin:
        outcome = UNCLEAR
        text += (
            f"; but {percent(comparison.unscored_share)} of the new run's attempts have no score and could reverse it"
        )
    return _verdict(outcome, comparison.evaluator, -margin, estimate, text, decision)


def _verdict(
    outcome: str, evaluator: str, limit: float, estimate: Estimate, evidence: str, decision: Decision
) -> GateVerdict:
    return GateVerdict(
        outcome=outcome,
        limit=limit,
        figure=estimate,
        text=f"Gate {outcome}: {evaluator}, {evidence}.",
        data={
            "evaluator": evaluator, "limit": limit, "estimate": estimate.summary(), "needed_n": decision.needed_n,
        },
        evaluator=evaluator,
        needed_n=decision.needed_n,
    )  # fmt: skip


def _undecided(decision: Decision, estimate: Estimate, n: int) -> str:
    if decision.is_missed_by_all:
        return decision.all_missed("case")
    needed = f", needs {estimate.needed_n}" if estimate.needed_n else ""
    return f"{estimate.reason}: {plural(n, 'case')}{needed}"


def _chosen(results: Summary | EvaluatorSummary, evaluator: str | None) -> EvaluatorSummary:
    if isinstance(results, EvaluatorSummary):
        return results
    if evaluator is not None:
        return results[evaluator]
    if len(results.evaluators) != 1:
        raise ValueError(
            f"name the evaluator of the gate: {', '.join(summary.evaluator for summary in results.evaluators)}"
        )
    return results.evaluators[0]
