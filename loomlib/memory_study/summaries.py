"""Estimates of a memory study, arm by arm: shares, means and percentiles with their intervals.

A case is one fact of one conversation; a later question about it is the same case. Shares and means count cases.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from loomlib.experiments import failure_counts
from loomlib.statistics import (
    Estimate,
    PairedTest,
    estimate_difference,
    estimate_mean,
    estimate_percentile,
    estimate_rate,
    paired_t,
)

from .arms import PROACTIVE, REACTIVE, Arm
from .design import MemoryDesign
from .measurements import AskedQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmSummary:
    """Estimates of one arm. Durations are milliseconds.

    Attributes:
        recall: Share of questions with a known answer for which the model's context (with an agent: its answer)
            contains the current value.
        at: Recall within the first k records, by k.
        precision: Share of the returned records that contain the value.
        stale: Share of questions with former values for which the context or the answer contains one of them.
        recalled_of: Questions recalled, and questions with a known answer.
        stale_of: Questions with a stale answer, and questions with former values.
        tokens: Input tokens of a question that needs memory.
        idle_tokens: Input tokens of a question that does not.
        output_tokens: Output tokens of a question that needs memory.
    """

    arm: Arm
    asked: int
    failed: int
    failures: Mapping[str, int]
    recall: Estimate
    at: Mapping[int, Estimate]
    precision: Estimate
    stale: Estimate
    recalled_of: tuple[int, int]
    stale_of: tuple[int, int]
    p50: Estimate
    p90: Estimate
    tokens: Estimate
    idle_tokens: Estimate
    output_tokens: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmComparison:
    """Difference in recall between `arm` and `baseline` on the same cases, with a paired t test."""

    arm: Arm
    baseline: Arm
    difference: Estimate
    test: PairedTest


def summarize(questions: Sequence[AskedQuestion], design: MemoryDesign) -> list[ArmSummary]:
    """Return the estimates of every arm, in the design's order.

    Args:
        questions: The study's questions.
        design: Its design.
    """
    return [_arm([question for question in questions if question.arm == arm], arm, design) for arm in design.arms]


def compare(questions: Sequence[AskedQuestion], design: MemoryDesign) -> list[ArmComparison]:
    """Compare every other arm with the first one, on the cases that both arms answered.

    Args:
        questions: The study's questions.
        design: Its design.
    """
    baseline, *others = design.arms
    before = _means([question for question in questions if question.arm == baseline])
    comparisons: list[ArmComparison] = []
    for arm in others:
        now = _means([question for question in questions if question.arm == arm])
        differences = [now[case] - before[case] for case in now if case in before]
        comparisons.append(
            ArmComparison(
                arm=arm, baseline=baseline, difference=estimate_difference(differences), test=paired_t(differences)
            )
        )
    return comparisons


def recall_by(questions: Sequence[AskedQuestion], key: Callable[[AskedQuestion], int]) -> dict[int, Estimate]:
    """Return recall by a number that questions have, such as their age.

    Args:
        questions: The questions.
        key: Returns a question's number.
    """
    groups: dict[int, list[AskedQuestion]] = defaultdict(list)
    for question in _with_answer(questions):
        groups[key(question)].append(question)
    return {value: _rate(groups[value], _is_recalled) for value in sorted(groups)}


def break_even(questions: Sequence[AskedQuestion]) -> float | None:
    """Return the share of turns that need memory above which proactive retrieval takes fewer tokens than reactive.

    Proactive retrieval adds its records to every turn; reactive retrieval adds a second model call to turns that need
    them. None when one of them is never cheaper, or was not measured with the same context.
    """
    by_context: dict[str, dict[str, list[AskedQuestion]]] = defaultdict(lambda: defaultdict(list))
    for question in questions:
        if question.is_done and question.input_tokens is not None:
            by_context[question.arm.context][question.arm.retrieval].append(question)
    for arms in by_context.values():
        pro_need, pro_idle = _tokens(arms[PROACTIVE], needs=True), _tokens(arms[PROACTIVE], needs=False)
        re_need, re_idle = _tokens(arms[REACTIVE], needs=True), _tokens(arms[REACTIVE], needs=False)
        if pro_need is None or pro_idle is None or re_need is None or re_idle is None:
            continue
        idle, need = pro_idle - re_idle, re_need - pro_need
        return idle / (idle + need) if idle > 0 and need > 0 else None
    return None


def _arm(questions: Sequence[AskedQuestion], arm: Arm, design: MemoryDesign) -> ArmSummary:
    done_questions = [question for question in questions if question.is_done]
    with_answer = _with_answer(done_questions)
    with_former = [question for question in done_questions if question.needs_memory and question.probe.former]
    precise = [
        (question, question.score.precision)
        for question in with_answer
        if question.score and question.score.precision is not None
    ]
    durations = [question.duration_ms for question in done_questions if question.duration_ms is not None]
    failures = failure_counts(questions)
    ks = (
        design.ks
        if arm.searches and any(question.score and question.score.returned for question in done_questions)
        else ()
    )
    return ArmSummary(
        arm=arm,
        asked=len(questions),
        failed=sum(failures.values()),
        failures=dict(failures.most_common()),
        recall=_rate(with_answer, _is_recalled),
        at={
            k: _rate(with_answer, lambda question, k=k: question.score is not None and question.score.recall_at(k))
            for k in ks
        },
        precision=estimate_mean([value for _, value in precise], [question.case for question, _ in precise]),
        stale=_rate(with_former, _is_stale),
        recalled_of=(sum(map(_is_recalled, with_answer)), len(with_answer)),
        stale_of=(sum(map(_is_stale, with_former)), len(with_former)),
        p50=estimate_percentile(durations, 0.5),
        p90=estimate_percentile(durations, 0.9),
        tokens=_token_mean([question for question in done_questions if question.needs_memory], output=False),
        idle_tokens=_token_mean([question for question in done_questions if not question.needs_memory], output=False),
        output_tokens=_token_mean([question for question in done_questions if question.needs_memory], output=True),
    )


def _with_answer(questions: Sequence[AskedQuestion]) -> list[AskedQuestion]:
    """Questions that were answered and have an expected answer."""
    return [question for question in questions if question.is_done and question.probe.expected]


def _is_recalled(question: AskedQuestion) -> bool:
    return question.is_recalled


def _is_stale(question: AskedQuestion) -> bool:
    return question.is_stale


def _rate(questions: Sequence[AskedQuestion], passes: Callable[[AskedQuestion], bool]) -> Estimate:
    passed, tried = Counter[str](), Counter[str]()
    for question in questions:
        tried[question.case] += 1
        passed[question.case] += passes(question)
    cases = list(tried)
    return estimate_rate([passed[case] for case in cases], [tried[case] for case in cases])


def _means(questions: Sequence[AskedQuestion]) -> dict[str, float]:
    by_case: dict[str, list[bool]] = defaultdict(list)
    for question in _with_answer(questions):
        by_case[question.case].append(_is_recalled(question))
    return {case: sum(values) / len(values) for case, values in by_case.items()}


def _tokens(questions: Sequence[AskedQuestion], *, needs: bool) -> float | None:
    counts = [
        question.input_tokens
        for question in questions
        if question.needs_memory is needs and question.input_tokens is not None
    ]
    return sum(counts) / len(counts) if counts else None


def _token_mean(questions: Sequence[AskedQuestion], *, output: bool) -> Estimate:
    counted = [
        (question, count)
        for question in questions
        if (count := question.output_tokens if output else question.input_tokens) is not None
    ]
    return estimate_mean([count for _, count in counted], [question.case for question, _ in counted], bounds=None)
