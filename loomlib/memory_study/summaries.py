"""Every number of a study: shares, means and percentiles with their intervals, arm by arm.

A case is one fact of one life: asked again in a later session it is the same case. Shares and means count cases.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

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
from .design import RecallDesign
from .measurements import Asked


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmSummary:
    """One arm. `recall` is of questions whose answer is known to have been told: is the value that holds now among what
    was given (with an agent: in its answer)? `at` is the same for the first k records alone, `precision` the share of
    records brought that hold it. `stale`: of questions with former values, how often one was given or said. Beside both
    stand the counts of questions (how many of how many). Durations in milliseconds; `tokens` are input tokens of a
    question that needs memory, `idle_tokens` of one that does not.
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
class Comparison:
    """What `arm` recalls more than `baseline` of the same cases (a difference of shares), with a paired t test."""

    arm: Arm
    baseline: Arm
    difference: Estimate
    test: PairedTest


def summarize(asked: Sequence[Asked], design: RecallDesign) -> list[ArmSummary]:
    """Every arm in the design's order."""
    return [_arm([each for each in asked if each.arm == arm], arm, design) for arm in design.arms]


def compare(asked: Sequence[Asked], design: RecallDesign) -> list[Comparison]:
    """Every other arm with the first one, on the cases that both answered."""
    baseline, *others = design.arms
    before = _means([each for each in asked if each.arm == baseline])
    found: list[Comparison] = []
    for arm in others:
        now = _means([each for each in asked if each.arm == arm])
        differences = [now[case] - before[case] for case in now if case in before]
        found.append(
            Comparison(
                arm=arm, baseline=baseline, difference=estimate_difference(differences), test=paired_t(differences)
            )
        )
    return found


def recall_by(asked: Sequence[Asked], key: Callable[[Asked], int]) -> dict[int, Estimate]:
    """Recall of the questions by a number that each has, such as its age."""
    groups: dict[int, list[Asked]] = defaultdict(list)
    for each in _told(asked):
        groups[key(each)].append(each)
    return {value: _rate(groups[value], _is_recalled) for value in sorted(groups)}


def break_even(asked: Sequence[Asked]) -> float | None:
    """The share of turns that need memory from which proactive retrieval takes fewer input tokens than reactive.

    Proactive pays its records on every turn, reactive a second model call on those that need them. None where one of
    them is never cheaper, or was not measured with the same context.
    """
    by_context: dict[str, dict[str, list[Asked]]] = defaultdict(lambda: defaultdict(list))
    for each in asked:
        if each.is_done and each.input_tokens is not None:
            by_context[each.arm.context][each.arm.retrieval].append(each)
    for arms in by_context.values():
        pro_need, pro_idle = _tokens(arms[PROACTIVE], needs=True), _tokens(arms[PROACTIVE], needs=False)
        re_need, re_idle = _tokens(arms[REACTIVE], needs=True), _tokens(arms[REACTIVE], needs=False)
        if pro_need is None or pro_idle is None or re_need is None or re_idle is None:
            continue
        idle, need = pro_idle - re_idle, re_need - pro_need
        return idle / (idle + need) if idle > 0 and need > 0 else None
    return None


def _arm(asked: Sequence[Asked], arm: Arm, design: RecallDesign) -> ArmSummary:
    done = [each for each in asked if each.is_done]
    told = _told(done)
    with_former = [each for each in done if each.needs_memory and each.probe.former]
    precise = [(each, each.score.precision) for each in told if each.score and each.score.precision is not None]
    durations = [each.duration_ms for each in done if each.duration_ms is not None]
    failures = Counter(each.failure or "unknown" for each in asked if each.is_failed)
    ks = design.ks if arm.searches and any(each.score and each.score.returned for each in done) else ()
    return ArmSummary(
        arm=arm,
        asked=len(asked),
        failed=sum(failures.values()),
        failures=dict(failures.most_common()),
        recall=_rate(told, _is_recalled),
        at={k: _rate(told, lambda each, k=k: bool(each.score and each.score.recall_at(k))) for k in ks},
        precision=estimate_mean([value for _, value in precise], [each.case for each, _ in precise]),
        stale=_rate(with_former, _is_stale),
        recalled_of=(sum(map(_is_recalled, told)), len(told)),
        stale_of=(sum(map(_is_stale, with_former)), len(with_former)),
        p50=estimate_percentile(durations, 0.5, seed=design.seed),
        p90=estimate_percentile(durations, 0.9, seed=design.seed),
        tokens=_token_mean([each for each in done if each.needs_memory], output=False),
        idle_tokens=_token_mean([each for each in done if not each.needs_memory], output=False),
        output_tokens=_token_mean([each for each in done if each.needs_memory], output=True),
    )


def _told(asked: Sequence[Asked]) -> list[Asked]:
    """Questions that were answered and have an answer."""
    return [each for each in asked if each.is_done and each.probe.expected]


def _is_recalled(each: Asked) -> bool:
    return bool(each.score and each.score.is_recalled)


def _is_stale(each: Asked) -> bool:
    return bool(each.score and each.score.is_stale)


def _rate(asked: Sequence[Asked], passes: Callable[[Asked], bool]) -> Estimate:
    passed, tried = Counter[str](), Counter[str]()
    for each in asked:
        tried[each.case] += 1
        passed[each.case] += passes(each)
    cases = list(tried)
    return estimate_rate([passed[case] for case in cases], [tried[case] for case in cases])


def _means(asked: Sequence[Asked]) -> dict[str, float]:
    by_case: dict[str, list[bool]] = defaultdict(list)
    for each in _told(asked):
        by_case[each.case].append(_is_recalled(each))
    return {case: sum(values) / len(values) for case, values in by_case.items()}


def _tokens(asked: Sequence[Asked], *, needs: bool) -> float | None:
    counts = [each.input_tokens for each in asked if each.needs_memory is needs and each.input_tokens is not None]
    return sum(counts) / len(counts) if counts else None


def _token_mean(asked: Sequence[Asked], *, output: bool) -> Estimate:
    counted = [
        (each, count) for each in asked if (count := each.output_tokens if output else each.input_tokens) is not None
    ]
    return estimate_mean([count for _, count in counted], [each.case for each, _ in counted], bounds=None)
