"""Outcomes brought together by evaluator and case: what a summary and a comparison count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..values.outcomes import ANSWER_FAILED, JUDGE_FAILED, NOT_APPLICABLE, SCORED, Outcome


@dataclass(slots=True)
class CaseResult:
    """One case under one evaluator, over its repeats.

    `total` is the sum of the values of `scored` repeats. `tries` counts the scored repeats that had a bar and `passes`
    those of them that passed. The other counts are repeats without a score, by why there is none.
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
        """The mean over the scored repeats."""
        return self.total / self.scored

    @property
    def rate(self) -> float:
        """The share of the scored repeats that passed."""
        return self.passes / self.tries

    @property
    def failed(self) -> int:
        """Repeats that should have a score and have none."""
        return self.answer_failed + self.judge_failed

    @property
    def is_applicable(self) -> bool:
        """True unless every repeat says that the evaluator has nothing to judge here."""
        return bool(self.scored or self.answer_failed or self.judge_failed)


@dataclass(slots=True, kw_only=True)
class EvaluatorResults:
    """All cases under one evaluator, in the order in which they came."""

    evaluator: str
    level: str
    cases: dict[str, CaseResult] = field(default_factory=dict[str, CaseResult])
    labels: dict[str, None] = field(default_factory=dict[str, None])
    lowest: float = 0.0
    highest: float = 1.0
    is_graded: bool = False

    @property
    def bounds(self) -> tuple[float, float] | None:
        """0 to 1, or None when a value lies outside."""
        return (0.0, 1.0) if self.lowest >= 0 and self.highest <= 1 else None

    @property
    def has_bar(self) -> bool:
        """True when every score passes or fails."""
        return any(case.scored for case in self.cases.values()) and all(
            case.tries == case.scored for case in self.cases.values()
        )


def gather(outcomes: Sequence[Outcome]) -> dict[str, EvaluatorResults]:
    """Each evaluator's cases, one score a repeat.

    Parts stand behind their repeat's whole where there is one; else they are one score together: the mean, passed when
    all parts with a bar passed.
    """
    found: dict[str, EvaluatorResults] = {}
    parts: dict[tuple[str, str, int], list[Outcome]] = {}
    for each in outcomes:
        results = found.get(each.evaluator)
        if results is None:
            results = found[each.evaluator] = EvaluatorResults(evaluator=each.evaluator, level=each.level)
        case = results.cases.get(each.case_id)
        if case is None:
            case = results.cases[each.case_id] = CaseResult(each.case_id, each.case_digest, each.tags)
        elif case.case_digest != each.case_digest:
            raise ValueError(f"case {each.case_id!r} says two things in one run: outcomes of two runs were mixed")
        if each.trace_id and each.trace_id not in case.trace_ids:
            case.trace_ids += (each.trace_id,)
        for label in each.labels:
            results.labels[label] = None
        if each.part:
            parts.setdefault(_repeat_of(each), []).append(each)
        else:
            count(results, case, each.state, each.value, each.passed)
    wholes: set[tuple[str, str, int]] = set()
    if parts:
        wholes.update(_repeat_of(each) for each in outcomes if not each.part)
    for key, pieces in parts.items():
        if key in wholes:
            continue
        results = found[pieces[0].evaluator]
        pieces_said = [(each.state, each.value, each.passed) for each in pieces]
        count(results, results.cases[pieces[0].case_id], *folded(pieces_said))
    return found


def _repeat_of(outcome: Outcome) -> tuple[str, str, int]:
    return outcome.evaluator, outcome.case_id, outcome.repeat


def count(results: EvaluatorResults, case: CaseResult, state: str, value: float | None, passed: bool | None) -> None:
    """One repeat more."""
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
    """The state, value and pass of a repeat from those of its parts; a part that failed leaves it without a score."""
    states = {state for state, _, _ in pieces}
    for failed in (ANSWER_FAILED, JUDGE_FAILED):
        if failed in states:
            return failed, None, None
    values = [value for _, value, _ in pieces if value is not None]
    if not values:
        return NOT_APPLICABLE, None, None
    bars = [passed for _, _, passed in pieces if passed is not None]
    return SCORED, sum(values) / len(values), all(bars) if bars else None
