"""An eval set as static HTML and as text: how many cases of which kind, then the cases in folded pages."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from loomlib.presentation.formats import number, plural

from ..compare.page import folded, listed, page, table
from ..compare.words import printable
from ..matching.tool_matching import call_text
from .case_body import line

if TYPE_CHECKING:
    from ..values.cases import EvalCase
    from ..values.eval_set import EvalSet

PAGE_ROWS: Final = 100
MOST_PAGES: Final = 10
_SHOWN_TAGS: Final = 12
COLUMNS: Final = ("case", "asked", "turns", "expected answer", "expected tools", "tags")


def set_html(evalset: EvalSet) -> str:
    """The page of a set; every foreign text in it is escaped."""
    cases = evalset.cases[: PAGE_ROWS * MOST_PAGES]
    more = len(evalset.cases) - len(cases)
    pages: list[str] = []
    for start in range(0, len(cases), PAGE_ROWS):
        some = cases[start : start + PAGE_ROWS]
        label = f"Cases {number(start + 1, 0)} to {number(start + len(some), 0)} of {number(len(evalset.cases), 0)}"
        pages.append(folded(label, table(COLUMNS, [_row(case) for case in some]), is_open=len(evalset.cases) <= 10))
    return page(
        _title(evalset),
        set_sentences(evalset),
        *pages,
        f'<p class="loom-quiet">… {number(more, 0)} more; all of them are in .to_frame()</p>' if more else "",
        folded("Notes on how it was read", listed(evalset.notes)),
    )


def set_text(evalset: EvalSet) -> str:
    """The set in a few lines."""
    return printable("\n".join([_title(evalset), *set_sentences(evalset)]))


def set_sentences(evalset: EvalSet) -> list[str]:
    """What is in it."""
    cases = evalset.cases
    told = [
        (sum(case.expected_answer is not None for case in cases), "expect an answer"),
        (sum(case.expected_tools is not None for case in cases), "expect something of the tools"),
        (sum(len(case.turns) > 1 for case in cases), "have several turns"),
        (sum(case.scenario is not None for case in cases), "are led by a simulated user"),
        (sum(bool(case.forbidden_tools) for case in cases), "forbid tools"),
    ]
    found = ", ".join(f"{number(count, 0)} {what}" for count, what in told if count)
    sentences = [f"{plural(len(cases), 'case')}{': ' + found if found else ''}."]
    tags = Counter(tag for case in cases for tag in case.tags)
    if tags:
        named = ", ".join(f"{tag} {number(count, 0)}" for tag, count in tags.most_common(_SHOWN_TAGS))
        more = f" and {len(tags) - _SHOWN_TAGS} more" if len(tags) > _SHOWN_TAGS else ""
        sentences.append(f"Tags: {named}{more}.")
    asked = dict.fromkeys(each.name for each in evalset.evaluators)
    if asked:
        sentences.append(f"It asks to be judged by {', '.join(asked)}.")
    return sentences


def _title(evalset: EvalSet) -> str:
    return " · ".join(filter(None, (evalset.name, f"version {evalset.version}", line(evalset.description, 200))))


def _row(case: EvalCase) -> tuple[str, ...]:
    tools = case.expected_tools
    calls = (
        "–"
        if tools is None
        else "none"
        if not tools
        else " → ".join(call_text(t.name, t.arguments, limit=60) for t in tools)
    )
    turns = str(len(case.turns)) if case.turns else "simulated user"
    return (
        line(case.id, 60), line(case.prompt), turns, line(case.expected_answer or "–"), line(calls, 120),
        ", ".join(case.tags),
    )  # fmt: skip
