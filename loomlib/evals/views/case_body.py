"""The details of one case: prompts, answers, expectations, verdicts with rationales, and the alignment of tool calls.

Tables are never nested, so that screen readers and programs can read each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from loomlib.presentation.formats import milliseconds, money, number, plural, score
from loomlib.presentation.html import fragment
from loomlib.presentation.text import printable

from ..compare.page import joined, quiet, table
from ..matching.alignment import ROW_KINDS
from ..values.answers import CaseAnswer, CaseFailure, prompts_of
from ..values.cases import EvalCase
from ..values.evaluator import NotApplicable, Score
from ..values.judgement import Judgement
from .alignment import alignment_html

if TYPE_CHECKING:
    from markupsafe import Markup


LONGEST: Final = 1_500
"""Maximum number of characters of a text on a page; DataFrames have the whole text."""
VERDICT_COLUMNS: Final = ("evaluator", "verdict", "score", "why")

CaseVerdict = tuple[Score, ...] | NotApplicable | CaseFailure


def case_body(case: EvalCase, judgement: Judgement) -> Markup:
    """Render the details of a case."""
    verdicts = judgement.verdicts.items()
    return joined(
        [
            conversation(case, judgement.answer),
            table(VERDICT_COLUMNS, [row for name, verdict in verdicts for row in verdict_rows(name, verdict)]),
            *(paths(name, verdict) for name, verdict in verdicts),
            quiet(facts(judgement.answer)),
        ]
    )


def conversation(case: EvalCase, answer: CaseAnswer) -> Markup:
    """Render the turns: prompts, answers and expected answers."""
    rows: list[tuple[str, str]] = []
    prompts = prompts_of(case, answer)
    count = max(len(prompts), len(answer.turns))
    for index in range(count):
        turn = case.turns[index] if index < len(case.turns) else None
        suffix = f" (turn {index + 1})" if count > 1 else ""
        rows.append((f"prompt{suffix}", cut(prompts[index]) if index < len(prompts) else "(not recorded)"))
        if index < len(answer.turns):
            rows.append(("answer", cut(answer.turns[index].text, whole=whole_answer(case, answer.repeat, index))))
        if turn is not None and turn.expected_answer is not None:
            rows.append(("expected", cut(turn.expected_answer)))
    if answer.failure is not None:
        rows.append(("not answered", cut(f"{answer.failure.kind}: {answer.failure.message}")))
    if case.assertions:
        rows.append(("assertions", cut("\n".join(case.assertions))))
    return fragment("loomlib.evals:conversation.html.j2", rows=[(label, printable(text)) for label, text in rows])


def verdict_rows(name: str, verdict: CaseVerdict) -> list[tuple[str, str, str, str]]:
    """Return one evaluator's verdict as rows, one for each part."""
    if isinstance(verdict, CaseFailure):
        return [(name, "not judged", "–", cut(f"{verdict.kind}: {verdict.message}"))]
    if isinstance(verdict, NotApplicable):
        return [(name, "not applicable", "–", cut(verdict.reason))]
    return [
        (
            " · ".join(filter(None, (name, part.part, *part.labels))),
            verdict_word(part),
            score(part.value),
            cut(part.rationale) or "–",
        )
        for part in verdict
    ]


def verdict_word(verdict: Score) -> str:
    """Return `passed`, `failed`, or `scored` for a score without a threshold."""
    return "scored" if verdict.passed is None else "passed" if verdict.passed else "failed"


def paths(name: str, verdict: CaseVerdict) -> Markup:
    """Render the alignments of an evaluator that found other tool calls than expected."""
    tables: list[Markup] = []
    for part in verdict if isinstance(verdict, tuple) else ():
        rows = alignment_rows(part)
        if rows and any(row["kind"] != "kept" for row in rows):
            title = " · ".join(filter(None, (name, part.part)))
            body = alignment_html(rows, printable(f"{title}: expected and actual calls"))
            tables.append(fragment("loomlib.evals:paths.html.j2", body=body))
    return joined(tables)


def alignment_rows(verdict: Score) -> list[Mapping[str, Any]]:
    """Return the alignment in a score's details, or nothing when the details have another value under that name."""
    table = verdict.details.get("alignment")
    if not isinstance(table, list):
        return []
    rows = [cast("Mapping[str, Any]", row) for row in cast("list[Any]", table) if isinstance(row, Mapping)]
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
    """Describe an answer's duration, tokens, cost and trace; unknown values are left out."""
    first = answer.turns[0].ttft_ms if answer.turns else None
    parts = [
        None if answer.duration_ms is None else f"took {milliseconds(answer.duration_ms)}",
        None if first is None else f"first byte after {milliseconds(first)}",
        None if answer.tokens is None else plural(answer.tokens, "token"),
        None if answer.tools is None else plural(len(answer.tools), "tool call"),
        None if answer.cost is None else f"cost {money(answer.cost)}",
        f"{answer.attempts} attempts" if answer.attempts > 1 else None,
        f"repeat {answer.repeat + 1}" if answer.repeat else None,
        next((f"trace {turn.trace_id}" for turn in reversed(answer.turns) if turn.trace_id), None),
        *answer.labels,
    ]
    return " · ".join(filter(None, parts)) or "duration, tokens and cost are unknown"


def cut(text: str, limit: int = LONGEST, *, whole: str = "") -> str:
    """Truncate a text to the length that the page shows.

    Args:
        text: The text.
        limit: Maximum number of characters.
        whole: Python expression that returns the whole text.
    """
    if len(text) <= limit:
        return text
    where = f"; all of them are in {whole}" if whole else ""
    return f"{text[:limit]}… ({number(len(text) - limit, 0)} more characters{where})"


def whole_answer(case: EvalCase, repeat: int, turn: int) -> str:
    """Return the Python expression that returns a run's complete answer.

    Args:
        case: The case.
        repeat: The repeat, from 0.
        turn: The turn, from 0.
    """
    return f"run[{case.id!r}][{repeat}].answer.turns[{turn}].text"


def line(text: str, limit: int = 90) -> str:
    """Return a text as one short line."""
    plain = " ".join(text[: 4 * limit].split())
    return plain if len(plain) <= limit else f"{plain[: limit - 1]}…"


def _step(value: object) -> int | None:
    return value if isinstance(value, int) else None
