"""A memory study in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from loomlib.experiments import failure_counts, pending_count
from loomlib.presentation.formats import number, percent, plural

from .arms import NONE
from .design import AGENT
from .measurements import AskedQuestion
from .result import MemoryResult
from .summaries import ArmSummary, break_even
from .tables import share_or_count


def sentences(result: MemoryResult) -> list[str]:
    """Return the arms' recall, outdated answers, tokens, and failures."""
    questions, arms, agent = result.asked, result.arms, result.design.mode == AGENT
    if not any(question.is_done for question in questions):
        return [text for text in ("No question was answered yet.", _failures(questions)) if text]
    texts = [
        _recalled(arms, agent=agent),
        _widths(arms),
        _oldest(questions),
        _stale(arms, agent=agent),
        _tokens(questions, arms, agent=agent),
    ]
    if pending := pending_count(questions):
        texts.append(f"This study is not finished: {plural(pending, 'question')} pending.")
    return [text for text in (*texts, _failures(questions)) if text]


def _recalled(arms: Sequence[ArmSummary], *, agent: bool) -> str:
    """Compare the best arm that retrieves records with the best arm of all, by recall and by tokens."""
    scored_arms = [arm for arm in arms if arm.recalled_of[1]]
    best = max([arm for arm in scored_arms if arm.arm.searches] or scored_arms, key=_recall, default=None)
    if best is None:
        return ""
    tied = [arm for arm in scored_arms if _recall(arm) == max(map(_recall, scored_arms))]
    top = min(tied, key=lambda arm: float("inf") if arm.tokens.value is None else arm.tokens.value)
    subject = "the agent's answer" if agent else "what the model is given"
    if _recall(top) > _recall(best):
        which, cost = " and ".join(f"“{arm.arm}”" for arm in tied), _at_tokens(top)
        cost += f" with “{top.arm}”" if cost and len(tied) > 1 else ""
        return (
            f"With {which}, {subject} contains the fact in {_recall_text(top)}{cost}; with "
            f"“{best.arm}” in {_recall_text(best)}{_at_tokens(best, of=top)}{_plain(scored_arms, best)}."
        )
    same = [arm for arm in scored_arms if arm.arm.searches == best.arm.searches and _recall(arm) == _recall(best)]
    which = " and ".join(f"“{arm.arm}”" for arm in same)
    sentence = f"With {which}, {subject} contains the fact in {_recall_text(best)}"
    tokens = _at_tokens(best) if len(same) == 1 else ""
    return f"{sentence}{tokens}{_plain(scored_arms, best)}."


def _plain(arms: Sequence[ArmSummary], best: ArmSummary) -> str:
    """Return the recall of the best arm's context without retrieval."""
    plain = next((arm for arm in arms if arm.arm.retrieval == NONE and arm.arm.context == best.arm.context), None)
    return "" if plain is None or plain is best else f"; without retrieval in {_recall_text(plain)}"


def _at_tokens(arm: ArmSummary, *, of: ArmSummary | None = None) -> str:
    """Return an arm's tokens per question, also as a share of another arm's."""
    if arm.tokens.value is None:
        return ""
    share = ""
    if of is not None and of.tokens.value:
        share = f" ({percent(arm.tokens.value / of.tokens.value)} as many)"
    return f" at {number(arm.tokens.value, 0)} input tokens per question{share}"


def _widths(arms: Sequence[ArmSummary]) -> str:
    """Explain why an arm that recalls every fact can have a wider interval than an arm that recalls fewer of them."""
    for sure in arms:
        if sure.recall.value != 1 or sure.recall.low is None:
            continue
        for other in arms:
            recall = other.recall
            if recall.value is None or recall.low is None or recall.high is None or recall.n != sure.recall.n:
                continue
            if 0 < recall.value < 1 and recall.high - recall.low < 1 - sure.recall.low:
                return (
                    f"The interval of “{sure.arm}” is wider than that of “{other.arm}”, although it recalls more: "
                    "where every question is answered alike, nothing shows how much the questions about one fact "
                    "differ, so each fact counts once."
                )
    return ""


def _oldest(questions: Sequence[AskedQuestion]) -> str:
    """Describe recall of the oldest facts by arm, as counts because they are few."""
    with_answer = [question for question in questions if question.is_done and question.probe.expected]
    age = max((question.probe.age for question in with_answer), default=0)
    if age < 2:
        return ""
    right, tried = Counter[str](), Counter[str]()
    for question in with_answer:
        if question.probe.age == age:
            tried[str(question.arm)] += 1
            right[str(question.arm)] += question.is_recalled
    counts = "; ".join(f"{arm}: {right[arm]} of {tried[arm]}" for arm in tried)
    return f"Facts stated {plural(age, 'session')} before the question, recalled: {counts}."


def _stale(arms: Sequence[ArmSummary], *, agent: bool) -> str:
    scored_arms = [arm for arm in arms if arm.stale_of[1]]
    if not scored_arms:
        return ""
    least, most = min(scored_arms, key=_staleness), max(scored_arms, key=_staleness)
    subject = "the agent's answer" if agent else "what the model is given"
    if not _staleness(most):
        return f"No value that had been changed or taken back is in {subject}."
    text = (
        f"For facts that had been changed or taken back, {subject} contains a former value in "
        f"{share_or_count(most.stale, most.stale_of)} with “{most.arm}”"
    )
    if least is most:
        return f"{text}."
    return f"{text} and in {share_or_count(least.stale, least.stale_of)} with “{least.arm}”."


def _tokens(questions: Sequence[AskedQuestion], arms: Sequence[ArmSummary], *, agent: bool) -> str:
    measured_arms = [arm for arm in arms if arm.tokens.value is not None]
    if len(measured_arms) < 2:
        return ""
    lightest, heaviest = (pick(measured_arms, key=lambda arm: arm.tokens.value or 0) for pick in (min, max))
    estimated = "" if agent else " (estimated)"
    text = (
        f"A question takes {number(heaviest.tokens.value or 0, 0)} input tokens{estimated} with “{heaviest.arm}” and "
        f"{number(lightest.tokens.value or 0, 0)} with “{lightest.arm}”"
    )
    share = break_even(questions)
    if share is None:
        return f"{text}."
    return (
        f"{text}; reactive retrieval takes fewer tokens than proactive retrieval while less than {percent(share)} of "
        "the turns need memory."
    )


def _failures(questions: Sequence[AskedQuestion]) -> str:
    failed = failure_counts(questions)
    if not failed:
        return ""
    listed = ", ".join(f"{count} {name}" for name, count in failed.most_common())
    question_count = len(questions) - pending_count(questions)
    return f"{plural(sum(failed.values()), 'failure')} in {plural(question_count, 'question')}: {listed}."


def _recall(arm: ArmSummary) -> float:
    return arm.recalled_of[0] / arm.recalled_of[1]


def _staleness(arm: ArmSummary) -> float:
    return arm.stale_of[0] / arm.stale_of[1]


def _recall_text(arm: ArmSummary) -> str:
    text = share_or_count(arm.recall, arm.recalled_of)
    return f"{text} questions" if arm.recall.value is None else f"{text} of the questions"
