"""A study as DataFrames of text with intervals, and of single questions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from loomlib.presentation.formats import number
from loomlib.statistics import Estimate

from .gate import share_or_count, shown_share
from .measurements import Asked
from .summaries import recall_by

if TYPE_CHECKING:
    import pandas as pd

    from .result import RecallResult
    from .summaries import ArmSummary

COLUMNS = (
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
DIFFERENCE_COLUMNS = ("arm", "against", "recall, points [95 %]", "p", "cases")


def arm_rows(result: RecallResult) -> list[tuple[str, ...]]:
    """One row an arm, in the order of `COLUMNS`."""
    return [_row(each, result) for each in result.arms]


def difference_rows(result: RecallResult) -> list[tuple[str, ...]]:
    """One row a comparison, in the order of `DIFFERENCE_COLUMNS`."""
    rows: list[tuple[str, ...]] = []
    for each in result.comparisons:
        p = each.test.p_value
        shown = "–" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"
        rows.append((str(each.arm), str(each.baseline), _points(each.difference), shown, str(each.difference.n)))
    return rows


def by_age(result: RecallResult) -> pd.DataFrame:
    """Rows are ages in sessions, columns arms; counts beside shares, since an age has few questions."""
    import pandas as pd

    columns: dict[str, dict[int, str]] = {}
    for arm in result.design.arms:
        mine = [each for each in result.asked if each.arm == arm]
        shares = recall_by(mine, lambda each: each.probe.age)
        columns[str(arm)] = {age: _counted(mine, age, shares[age]) for age in shares}
    table = pd.DataFrame(columns)
    return table.sort_index().rename_axis("sessions since")


def questions_table(asked: Sequence[Asked]) -> pd.DataFrame:
    """Every question by position; what was not measured is missing, never 0."""
    from loomlib.presentation.text_frame import TextFrame

    rows = [
        (
            each.position, each.probe.session, str(each.arm), each.probe.life, each.probe.fact or None, each.probe.kind,
            each.probe.age if each.needs_memory else None, each.probe.said, each.probe.expected or None,
            ", ".join(each.probe.former) or None, each.verdict, each.extracted,
            each.score.relevant[0] if each.score and each.score.relevant else None,
            each.shown[0] if each.shown else None,
            each.duration_ms, each.input_tokens, each.failure, each.error_message,
        )
        for each in asked
    ]  # fmt: skip
    names = [
        "position", "session", "arm", "life", "fact", "kind", "sessions_since", "question", "expected", "former",
        "verdict", "extracted", "rank", "first_shown", "duration_ms", "input_tokens", "failure", "error_message",
    ]  # fmt: skip
    table = TextFrame(rows, columns=names).set_index("position")
    return table.astype(dict.fromkeys(("duration_ms", "input_tokens", "rank", "sessions_since"), "float64"))


def frame(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> pd.DataFrame:
    """Rows of text as a DataFrame."""
    from loomlib.presentation.text_frame import TextFrame

    return TextFrame([list(each) for each in rows], columns=list(columns))


def _row(each: ArmSummary, result: RecallResult) -> tuple[str, ...]:
    mine = [one for one in result.asked if one.arm == each.arm and one.needs_memory]
    cost = result.prices.per_thousand(mine)
    told = {k: shown_share(found).partition(" [")[0] for k, found in each.at.items() if found.value is not None}
    at = " · ".join(f"@{k} {share}" for k, share in told.items()) or next((str(few) for few in each.at.values()), "")
    failed = ", ".join(f"{count} {name}" for name, count in each.failures.items())
    return (
        str(each.arm),
        number(each.asked, 0),
        share_or_count(each.recall, each.recalled_of),
        at or "–",
        shown_share(each.precision) if each.precision.n else "–",
        share_or_count(each.stale, each.stale_of) if each.stale_of[1] else "–",
        str(each.p50),
        _plain(each.p90),
        _plain(each.tokens, 0),
        _plain(each.idle_tokens, 0),
        "–" if cost.value is None else f"{cost.value:.2f}",
        f"{each.failed} ({failed})" if failed else "0",
    )


def _plain(estimate: Estimate, digits: int | None = None) -> str:
    if estimate.value is not None:
        return number(estimate.value, digits)
    return str(estimate) if estimate.n else "–"


def _points(difference: Estimate) -> str:
    if difference.value is None or difference.low is None or difference.high is None:
        return str(difference)
    value, low, high = (number(100 * each, 0) for each in (difference.value, difference.low, difference.high))
    return f"{value} [{low} to {high}]"


def _counted(asked: Sequence[Asked], age: int, share: Estimate) -> str:
    of_age = [each for each in asked if each.is_done and each.probe.expected and each.probe.age == age]
    right = sum(bool(each.score and each.score.is_recalled) for each in of_age)
    return f"{right} of {len(of_age)}" + (f" · {shown_share(share)}" if share.value is not None else "")
