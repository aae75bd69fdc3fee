"""The answer in a few sentences, from a study's numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from loomlib.presentation.formats import number, percent, plural

from .arms import NONE
from .design import AGENT, RecallDesign
from .gate import share_or_count
from .measurements import Asked
from .summaries import ArmSummary, break_even


def tell(asked: Sequence[Asked], summaries: Sequence[ArmSummary], design: RecallDesign) -> list[str]:
    """The sentences, the most telling first."""
    if not any(each.is_done for each in asked):
        return ["No question was answered yet.", _failures(asked)]
    told = [_recalled(summaries, design), _oldest(asked), _stale(summaries, design), _weight(asked, summaries, design)]
    return [each for each in (*told, _failures(asked)) if each]


def _recalled(summaries: Sequence[ArmSummary], design: RecallDesign) -> str:
    """Best with retrieval, against what was without it in the same context."""
    done = "the agent's answer says" if design.mode == AGENT else "the model is given"
    known = [each for each in summaries if each.recalled_of[1]]
    best = max([each for each in known if each.arm.searches] or known, key=_recall, default=None)
    if best is None:
        return ""
    same = [each for each in known if each.arm.searches == best.arm.searches and _recall(each) == _recall(best)]
    which = " as well as ".join(f"“{each.arm}”" for each in same)
    sentence = f"With {which} {done} what was told in {_recall_text(best)}"
    plain = next((each for each in known if each.arm.retrieval == NONE and each.arm.context == best.arm.context), None)
    if plain is None or plain is best:
        return f"{sentence}."
    return f"{sentence}; without retrieval in {_recall_text(plain)}."


def _oldest(asked: Sequence[Asked]) -> str:
    """What was told longest ago, by arm, as counts: they are few."""
    with_answer = [each for each in asked if each.is_done and each.probe.expected]
    age = max((each.probe.age for each in with_answer), default=0)
    if age < 2:
        return ""
    right, tried = Counter[str](), Counter[str]()
    for each in with_answer:
        if each.probe.age == age:
            tried[str(each.arm)] += 1
            right[str(each.arm)] += bool(each.score and each.score.is_recalled)
    counts = "; ".join(f"{arm}: {right[arm]} of {tried[arm]}" for arm in tried)
    return f"What was told {plural(age, 'session')} before, recalled: {counts}."


def _stale(summaries: Sequence[ArmSummary], design: RecallDesign) -> str:
    known = [each for each in summaries if each.stale_of[1]]
    if not known:
        return ""
    verb = "said" if design.mode == AGENT else "given"
    least, most = min(known, key=_staleness), max(known, key=_staleness)
    if not _staleness(most):
        return f"No value that had been changed or taken back was {verb}."
    told = f"Of facts that had changed or were taken back, “{most.arm}” has a former value {verb} in "
    told += share_or_count(most.stale, most.stale_of)
    return (
        f"{told}, “{least.arm}” in {share_or_count(least.stale, least.stale_of)}." if least is not most else f"{told}."
    )


def _weight(asked: Sequence[Asked], summaries: Sequence[ArmSummary], design: RecallDesign) -> str:
    known = [each for each in summaries if each.tokens.value is not None]
    if len(known) < 2:
        return ""
    lightest, heaviest = (pick(known, key=lambda each: each.tokens.value or 0) for pick in (min, max))
    about = "" if design.mode == AGENT else " (estimated)"
    told = (
        f"A question takes {number(heaviest.tokens.value or 0, 0)} input tokens{about} with “{heaviest.arm}” and "
        f"{number(lightest.tokens.value or 0, 0)} with “{lightest.arm}”"
    )
    share = break_even(asked)
    if share is None:
        return f"{told}."
    return (
        f"{told}; reactive retrieval takes fewer than proactive as long as less than {percent(share)} of the turns "
        "need memory."
    )


def _failures(asked: Sequence[Asked]) -> str:
    failed = Counter(each.failure or "unknown" for each in asked if each.is_failed)
    if not failed:
        return ""
    told = ", ".join(f"{count} {name}" for name, count in failed.most_common())
    made = sum(not each.is_owed for each in asked)
    return f"{plural(sum(failed.values()), 'failure')} in {plural(made, 'question')}: {told}."


def _recall(each: ArmSummary) -> float:
    right, tried = each.recalled_of
    return right / tried


def _staleness(each: ArmSummary) -> float:
    stale, tried = each.stale_of
    return stale / tried


def _recall_text(each: ArmSummary) -> str:
    told = share_or_count(each.recall, each.recalled_of)
    return f"{told} questions" if each.recall.value is None else f"{told} of the questions"
