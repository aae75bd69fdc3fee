"""An eval set as static HTML and as text: a summary, then the cases in folded tables."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from loomlib.presentation.formats import number, plural
from loomlib.presentation.text import printable

from ..compare.page import folded, listed, page, quiet, table
from ..matching.tool_matching import call_text
from ..values.cases import EvalCase
from ..values.eval_set import EvalSet
from .case_body import line

if TYPE_CHECKING:
    from markupsafe import Markup


PAGE_ROWS: Final = 100
MOST_PAGES: Final = 10
_SHOWN_TAGS: Final = 12
COLUMNS: Final = ("case", "prompt", "turns", "expected answer", "expected tools", "tags")


def set_html(evalset: EvalSet) -> str:
    """Render the page of a set."""
    cases = evalset.cases[: PAGE_ROWS * MOST_PAGES]
    more = len(evalset.cases) - len(cases)
    pages: list[Markup | str] = []
    for start in range(0, len(cases), PAGE_ROWS):
        page_cases = cases[start : start + PAGE_ROWS]
        label = (
            f"Cases {number(start + 1, 0)} to {number(start + len(page_cases), 0)} of {number(len(evalset.cases), 0)}"
        )
        pages.append(
            folded(label, table(COLUMNS, [_row(case) for case in page_cases]), is_open=len(evalset.cases) <= 10)
        )
    return page(
        _title(evalset),
        set_sentences(evalset),
        *pages,
        quiet(f"… {number(more, 0)} more; all of them are in .to_frame()") if more else "",
        folded("Notes on reading the file", listed(evalset.notes)),
    )


def set_text(evalset: EvalSet) -> str:
    """Summarize the set in a few lines of text."""
    return printable("\n".join([_title(evalset), *set_sentences(evalset)]))


def set_sentences(evalset: EvalSet) -> list[str]:
    """Describe the cases of a set in sentences."""
    cases = evalset.cases
    kinds = [
        (sum(case.expected_answer is not None for case in cases), "expect an answer"),
        (sum(case.expected_tools is not None for case in cases), "expect tool calls"),
        (sum(len(case.turns) > 1 for case in cases), "have several turns"),
        (sum(case.scenario is not None for case in cases), "have a simulated user"),
        (sum(bool(case.forbidden_tools) for case in cases), "forbid tools"),
    ]
    described = ", ".join(f"{number(count, 0)} {phrase}" for count, phrase in kinds if count)
    sentences = [f"{plural(len(cases), 'case')}{': ' + described if described else ''}."]
    tags = Counter(tag for case in cases for tag in case.tags)
    if tags:
        tag_counts = ", ".join(f"{tag} {number(count, 0)}" for tag, count in tags.most_common(_SHOWN_TAGS))
        more = f" and {len(tags) - _SHOWN_TAGS} more" if len(tags) > _SHOWN_TAGS else ""
        sentences.append(f"Tags: {tag_counts}{more}.")
    evaluators = dict.fromkeys(choice.name for choice in evalset.evaluators)
    if evaluators:
        sentences.append(f"Its evaluators: {', '.join(evaluators)}.")
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
