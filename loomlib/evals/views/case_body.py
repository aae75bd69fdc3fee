"""One case opened: what was said, what was expected, what each evaluator says and why, and where the paths part.

No table stands within another, so that a reader of the page (a person's or a program's) meets each as what it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from loomlib.presentation.formats import milliseconds, number, plural

from ..compare.page import escape, table
from ..compare.words import printable, score_text
from ..matching.alignment import ROW_KINDS
from ..values.answers import CaseAnswer, CaseFailure, TurnAnswer
from ..values.evaluator import NotApplicable, Score
from .alignment import alignment_html

if TYPE_CHECKING:
    from ..values.cases import EvalCase, Turn
    from ..values.judgement import Judgement

LONGEST: Final = 1_500
"""Characters of a text on a page; the DataFrames have all of it."""
VERDICT_COLUMNS: Final = ("evaluator", "verdict", "score", "why")

Said = tuple[Score, ...] | NotApplicable | CaseFailure


def case_body(case: EvalCase, judgement: Judgement) -> str:
    """The inside of a case's fold, as HTML; every foreign text in it is escaped."""
    return "".join(
        [
            conversation(case, judgement.answer),
            table(
                VERDICT_COLUMNS, [row for name, said in judgement.verdicts.items() for row in verdict_rows(name, said)]
            ),
            *(paths(name, said) for name, said in judgement.verdicts.items()),
            f'<p class="loom-quiet">{escape(facts(judgement.answer))}</p>',
        ]
    )


def conversation(case: EvalCase, answer: CaseAnswer) -> str:
    """The turns: asked, answered, expected."""
    rows: list[str] = []
    turns: Sequence[Turn | None] = case.turns or [None] * max(1, len(answer.turns))
    for place, turn in enumerate(turns):
        given = answer.turns[place] if place < len(answer.turns) else None
        rows += _turn(case, turn, given, place, answer.repeat)
    if answer.failure is not None:
        rows.append(_said("not answered", f"{answer.failure.kind}: {answer.failure.message}"))
    if case.assertions:
        rows.append(_said("asserted", "\n".join(case.assertions)))
    return f'<dl class="loom-talk">{"".join(rows)}</dl>'


def verdict_rows(name: str, said: Said) -> list[tuple[str, str, str, str]]:
    """What one evaluator says, a row for each part."""
    if isinstance(said, CaseFailure):
        return [(name, "not judged", "–", cut(f"{said.kind}: {said.message}"))]
    if isinstance(said, NotApplicable):
        return [(name, "not applicable", "–", cut(said.reason))]
    return [
        (
            " · ".join(filter(None, (name, each.part, *each.labels))),
            verdict_word(each),
            score_text(each.value),
            cut(each.rationale) or "–",
        )
        for each in said
    ]


def verdict_word(score: Score) -> str:
    """`passed`, `failed`, or `scored` where there is no bar."""
    return "scored" if score.passed is None else "passed" if score.passed else "failed"


def paths(name: str, said: Said) -> str:
    """The expected path beside the one taken, where an evaluator found them different."""
    found: list[str] = []
    for each in said if isinstance(said, tuple) else ():
        rows = alignment_rows(each)
        if rows and any(row["kind"] != "kept" for row in rows):
            title = " · ".join(filter(None, (name, each.part)))
            found.append(
                f'<div class="loom-paths">{printable(alignment_html(rows, f"{title}: expected and called"))}</div>'
            )
    return "".join(found)


def alignment_rows(score: Score) -> list[Mapping[str, Any]]:
    """The alignment that a score carries; none when its details hold something else under that name."""
    told = score.details.get("alignment")
    if not isinstance(told, list):
        return []
    rows = [cast("Mapping[str, Any]", row) for row in cast("list[Any]", told) if isinstance(row, Mapping)]
    return [
        {
            "kind": row["kind"],
            **{side: None if row.get(side) is None else str(row[side]) for side in ("expected", "actual")},
            **{f"{side}_step": _step(row.get(f"{side}_step")) for side in ("expected", "actual")},
        }
        for row in rows
        if row.get("kind") in ROW_KINDS
    ]


def facts(answer: CaseAnswer) -> str:
    """What the answer took, and where to look further: what is not known is left out."""
    first = answer.turns[0].ttft_ms if answer.turns else None
    known = [
        None if answer.duration_ms is None else f"took {milliseconds(answer.duration_ms)}",
        None if first is None else f"first byte after {milliseconds(first)}",
        None if answer.tokens is None else plural(answer.tokens, "token"),
        None if answer.tools is None else plural(len(answer.tools), "tool call"),
        None if answer.cost is None else f"cost ${answer.cost:.4g}",
        f"asked {answer.attempts} times" if answer.attempts > 1 else None,
        f"repeat {answer.repeat + 1}" if answer.repeat else None,
        next((f"trace {turn.trace_id}" for turn in reversed(answer.turns) if turn.trace_id), None),
        *answer.labels,
    ]
    return " · ".join(filter(None, known)) or "nothing is known of what it took"


def cut(text: str, limit: int = LONGEST, *, whole: str = "") -> str:
    """A text as long as a page should show; `whole` is the Python that has all of it."""
    if len(text) <= limit:
        return text
    where = f"; all of them are in {whole}" if whole else ""
    return f"{text[:limit]}… ({number(len(text) - limit, 0)} more characters{where})"


def whole_answer(case: EvalCase, repeat: int, turn: int) -> str:
    """The Python that has all of an answer of a run."""
    return f"run[{case.id!r}][{repeat}].answer.turns[{turn}].text"


def line(text: str, limit: int = 90) -> str:
    """A text as one short line."""
    plain = " ".join(text[: 4 * limit].split())
    return plain if len(plain) <= limit else f"{plain[: limit - 1]}…"


def _turn(case: EvalCase, turn: Turn | None, given: TurnAnswer | None, place: int, repeat: int) -> list[str]:
    number_of = f" (turn {place + 1})" if len(case.turns) > 1 else ""
    rows = [_said(f"asked{number_of}", turn.prompt if turn else case.prompt)]
    if given is not None:
        rows.append(_said("answered", given.text, whole=whole_answer(case, repeat, place)))
    if turn is not None and turn.expected_answer is not None:
        rows.append(_said("expected", turn.expected_answer))
    return rows


def _said(word: str, text: str, *, whole: str = "") -> str:
    shown = escape(cut(text, whole=whole)) if text else '<span class="loom-quiet">(nothing)</span>'
    return f"<dt>{escape(word)}</dt><dd>{shown}</dd>"


def _step(value: object) -> int | None:
    return value if isinstance(value, int) else None
