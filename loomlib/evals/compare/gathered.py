"""Group outcomes by evaluator and case: the counts behind summaries and comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..values.outcomes import ANSWER_FAILED, JUDGE_FAILED, NOT_APPLICABLE, SCORED, Outcome


@dataclass(slots=True)
class CaseScores:
    """One case under one evaluator, over its repeats.

    Attributes:
        case_id: The case.
        case_digest: Hash of the case's content.
        tags: The case's tags.
        total: Sum of the values of the scored repeats.
        scored: Number of scored repeats.
        passes: Scored repeats that passed.
        tries: Scored repeats with a threshold.
        not_applicable: Repeats to which the evaluator does not apply.
        answer_failed: Repeats without an answer.
        judge_failed: Repeats that could not be judged.
        trace_ids: Traces of the repeats.
    """

    case_id: str
    case_digest: str
    tags: tuple[str, ...]
    total: float = 0.0
    scored: int = 0
    passes: int = 0
    tries: int = 0
    not_applicable: int = 0
    answer_failed: int = 0
    judge_failed: int = 0
    trace_ids: tuple[str, ...] = ()

    @property
    def value(self) -> float:
        """Mean over the scored repeats, rounded: in another order of the repeats, the last bits of the sum differ."""
        return round(self.total / self.scored, 12)

    @property
    def rate(self) -> float:
        """Share of the scored repeats that passed."""
        return self.passes / self.tries

    @property
    def failed(self) -> int:
        """Number of repeats that should have a score but have none."""
        return self.answer_failed + self.judge_failed

    @property
    def is_applicable(self) -> bool:
        """Whether the evaluator applies to at least one repeat."""
        return bool(self.scored or self.answer_failed or self.judge_failed)


@dataclass(slots=True, kw_only=True)
class EvaluatorResults:
    """All cases under one evaluator, in the order of the outcomes."""

    evaluator: str
    level: str
    cases: dict[str, CaseScores] = field(default_factory=dict[str, CaseScores])
    labels: dict[str, None] = field(default_factory=dict[str, None])
    lowest: float = 0.0
    highest: float = 1.0
    is_graded: bool = False

    @property
    def bounds(self) -> tuple[float, float] | None:
        """(0, 1), or None when a value lies outside that range."""
        return (0.0, 1.0) if self.lowest >= 0 and self.highest <= 1 else None

    @property
    def has_threshold(self) -> bool:
        """Whether every score has a threshold."""
        return any(case.scored for case in self.cases.values()) and all(
            case.tries == case.scored for case in self.cases.values()
        )


def gather(outcomes: Sequence[Outcome]) -> dict[str, EvaluatorResults]:
    """Return each evaluator's cases, with one score for each repeat.

    Parts are ignored where their repeat has a score of the whole; otherwise they are combined into one score: the mean,
    passed when all parts with a threshold passed.
    """
    gathered: dict[str, EvaluatorResults] = {}
    parts: dict[tuple[str, str, int], list[Outcome]] = {}
    for outcome in outcomes:
        results = gathered.get(outcome.evaluator)
        if results is None:
            results = gathered[outcome.evaluator] = EvaluatorResults(evaluator=outcome.evaluator, level=outcome.level)
        case = results.cases.get(outcome.case_id)
        if case is None:
            case = results.cases[outcome.case_id] = CaseScores(outcome.case_id, outcome.case_digest, outcome.tags)
        elif case.case_digest != outcome.case_digest:
            raise ValueError(f"case {outcome.case_id!r} has two contents in one run; outcomes of two runs were mixed")
        if outcome.trace_id and outcome.trace_id not in case.trace_ids:
            case.trace_ids += (outcome.trace_id,)
        for label in outcome.labels:
            results.labels[label] = None
        if outcome.part:
            parts.setdefault(_repeat_of(outcome), []).append(outcome)
        else:
            count(results, case, outcome.state, outcome.value, outcome.passed)
    wholes: set[tuple[str, str, int]] = set()
    if parts:
        wholes.update(_repeat_of(outcome) for outcome in outcomes if not outcome.part)
    for key, pieces in parts.items():
        if key in wholes:
            continue
        results = gathered[pieces[0].evaluator]
        part_scores = [(outcome.state, outcome.value, outcome.passed) for outcome in pieces]
        count(results, results.cases[pieces[0].case_id], *folded(part_scores))
    return gathered


def _repeat_of(outcome: Outcome) -> tuple[str, str, int]:
    return outcome.evaluator, outcome.case_id, outcome.repeat


def count(results: EvaluatorResults, case: CaseScores, state: str, value: float | None, passed: bool | None) -> None:
    """Add one repeat to a case.

    Args:
        results: The evaluator's results, whose value range is updated.
        case: The case.
        state: The outcome's state.
        value: The value of a scored repeat.
        passed: Whether it passed, None without a threshold.
    """
    if state == SCORED and value is not None:
        case.total += value
        case.scored += 1
        if passed is not None:
            case.tries += 1
            case.passes += passed
        if value != 0 and value != 1:
            results.is_graded = True
            if value < results.lowest:
                results.lowest = value
            elif value > results.highest:
                results.highest = value
    elif state == NOT_APPLICABLE:
        case.not_applicable += 1
    elif state == ANSWER_FAILED:
        case.answer_failed += 1
    else:
        case.judge_failed += 1


def folded(pieces: Sequence[tuple[str, float | None, bool | None]]) -> tuple[str, float | None, bool | None]:
    """Combine the parts of a repeat into its state, value and pass; a failed part leaves it without a score."""
    states = {state for state, _, _ in pieces}
    for failed in (ANSWER_FAILED, JUDGE_FAILED):
        if failed in states:
            return failed, None, None
    values = [value for _, value, _ in pieces if value is not None]
    if not values:
        return NOT_APPLICABLE, None, None
    bars = [passed for _, _, passed in pieces if passed is not None]
    return SCORED, sum(values) / len(values), all(bars) if bars else None
