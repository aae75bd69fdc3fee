"""A memory study as tables: one row for each arm, comparison, age or question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from loomlib.experiments import StudyTable
from loomlib.presentation.formats import money, number, p_value
from loomlib.statistics import Estimate

from .measurements import AskedQuestion
from .result import MemoryResult
from .summaries import ArmSummary, recall_by

if TYPE_CHECKING:
    import pandas as pd


COLUMNS: Final = (
    "arm",
    "questions",
    "recall [95 %]",
    "recall@k of the records",
    "precision",
    "stale",
    "p50 ms",
    "p90 ms",
    "input tokens",
    "tokens, no need",
    "$ per 1 000",
    "failed",
)
WRONG_COLUMNS: Final = ("verdict", "arm", "question", "expected", "former", "asked in", "first records, or the answer")


def table(result: MemoryResult) -> StudyTable:
    """Return the main table, one row for each arm."""
    return StudyTable(columns=COLUMNS, rows=[_row(arm, result) for arm in result.arms])


def differences_frame(result: MemoryResult) -> pd.DataFrame:
    """Return one row for each comparison."""
    rows: list[tuple[str, ...]] = []
    for comparison in result.comparisons:
        p_text = p_value(comparison.test.p_value)
        difference = comparison.difference
        rows.append((str(comparison.arm), str(comparison.baseline), _points(difference), p_text, str(difference.n)))
    return StudyTable(columns=("arm", "against", "recall, points [95 %]", "p", "cases"), rows=rows).frame()


def by_age_frame(result: MemoryResult) -> pd.DataFrame:
    """Return recall by age in sessions (rows) and arm (columns), with counts."""
    import pandas as pd

    columns: dict[str, dict[int, str]] = {}
    for arm in result.design.arms:
        questions = [question for question in result.asked if question.arm == arm]
        shares = recall_by(questions, lambda question: question.probe.age)
        columns[str(arm)] = {age: _counted(questions, age, shares[age]) for age in shares}
    return pd.DataFrame(columns).sort_index().rename_axis("sessions since")


def questions_frame(result: MemoryResult) -> pd.DataFrame:
    """Return every question by position; what was not measured is missing, never 0."""
    from loomlib.presentation.text_frame import TextFrame

    rows = [
        (
            question.position, probe.session, str(question.arm), probe.conversation, probe.fact or None, probe.kind,
            probe.age if question.needs_memory else None, probe.text, probe.expected or None,
            ", ".join(probe.former) or None, question.verdict, question.extracted,
            question.score.relevant[0] if question.score and question.score.relevant else None,
            question.shown[0] if question.shown else None,
            question.duration_ms, question.input_tokens, question.failure, question.error_message,
        )
        for question in result.asked
        for probe in [question.probe]
    ]  # fmt: skip
    names = [
        "position", "session", "arm", "conversation", "fact", "kind", "sessions_since", "question", "expected",
        "former", "verdict", "extracted", "rank", "first_shown", "duration_ms", "input_tokens", "failure",
        "error_message",
    ]  # fmt: skip
    frame = TextFrame(rows, columns=names).set_index("position")
    return frame.astype(dict.fromkeys(("duration_ms", "input_tokens", "rank", "sessions_since"), "float64"))


def wrong_rows(questions: Sequence[AskedQuestion]) -> list[tuple[str, ...]]:
    """Return the wrong answers as text, in the order of `WRONG_COLUMNS`."""
    return [
        (
            question.verdict,
            str(question.arm),
            question.probe.text,
            question.probe.expected or "no current value",
            ", ".join(question.probe.former) or "–",
            f"session {question.probe.session}, {question.probe.age} after the fact",
            " | ".join(question.shown) or "–",
        )
        for question in questions
        if question.is_wrong
    ]


def share_or_count(share: Estimate, counts: tuple[int, int]) -> str:
    """Return a share with its interval, or `3 of 7` when there is none.

    Args:
        share: The share.
        counts: Number of questions in the share, and of all questions.
    """
    return f"{counts[0]} of {counts[1]}" if share.value is None and counts[1] else share.text("share")


def _row(arm: ArmSummary, result: MemoryResult) -> tuple[str, ...]:
    cost = result.prices.per_thousand(
        [questions for questions in result.asked if questions.arm == arm.arm and questions.needs_memory]
    )
    at = [f"@{k} {recall.text('share').partition(' [')[0]}" for k, recall in arm.at.items() if recall.is_known]
    failed = ", ".join(f"{count} {name}" for name, count in arm.failures.items())
    return (
        str(arm.arm),
        number(arm.asked, 0),
        share_or_count(arm.recall, arm.recalled_of),
        " · ".join(at) or next((str(recall) for recall in arm.at.values()), "–"),
        arm.precision.text("share") if arm.precision.n else "–",
        share_or_count(arm.stale, arm.stale_of) if arm.stale_of[1] else "–",
        str(arm.p50),
        _plain(arm.p90),
        _plain(arm.tokens, 0),
        _plain(arm.idle_tokens, 0),
        money(cost.value),
        f"{arm.failed} ({failed})" if failed else "0",
    )


def _plain(estimate: Estimate, digits: int | None = None) -> str:
    if estimate.value is not None:
        return number(estimate.value, digits)
    return str(estimate) if estimate.n else "–"


def _points(difference: Estimate) -> str:
    if difference.value is None or difference.low is None or difference.high is None:
        return str(difference)
    value, low, high = (number(100 * end, 0) for end in (difference.value, difference.low, difference.high))
    return f"{value} [{low} to {high}]"


def _counted(questions: Sequence[AskedQuestion], age: int, share: Estimate) -> str:
    with_answer = [q for q in questions if q.is_done and q.probe.expected and q.probe.age == age]
    right = sum(question.is_recalled for question in with_answer)
    return f"{right} of {len(with_answer)}" + (f" · {share.text('share')}" if share.is_known else "")
