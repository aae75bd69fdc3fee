"""The evidence of a comparison as HTML: changes of time and cost, and the cases that differ, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from loomlib.evals.compare.page import heading, joined, quiet, table
from loomlib.evals.matching.tool_matching import call_text
from loomlib.evals.values.answers import CaseAnswer
from loomlib.presentation.formats import milliseconds, money, number
from loomlib.presentation.html import fragment
from loomlib.presentation.text import cut, one_line, printable

from .changes import PairedChange
from .judged_pairs import DIFFERS, JudgedPair, failure_counts

if TYPE_CHECKING:
    from markupsafe import Markup

OPENED: Final = 40
"""Number of differing cases that are shown in full; the others are counted, and listed by `table()`."""
_LONGEST: Final = 1_500
_CHANGE_COLUMNS: Final = ("figure", "old, median [95 %]", "new, median [95 %]", "change [95 %]", "cases")


def changes_table(changes: Sequence[PairedChange]) -> Markup | str:
    """Render time, cost and tokens of both agents with their changes."""
    rows = [
        (
            change.name,
            change.old.text(change.kind),
            change.new.text(change.kind),
            change.text(),
            number(change.change.n, 0),
        )
        for change in changes
    ]
    return table(_CHANGE_COLUMNS, rows)


def differing_cases(judged: Sequence[JudgedPair], names: tuple[str, str]) -> Markup | str:
    """Render the cases that differ, each with both answers and both lists of tool calls.

    Args:
        judged: The pairs.
        names: The names of the old agent and of its successor.
    """
    differing = [item for item in judged if item.state == DIFFERS]
    if not differing:
        return quiet("None of the judged cases differ.")
    parts: list[Markup | str] = [heading(f"Cases that differ: {number(len(differing), 0)}")]
    parts += [_sides(item, names) for item in differing[:OPENED]]
    if (more := len(differing) - OPENED) > 0:
        parts.append(quiet(f"… {number(more, 0)} more; .table() lists all of them"))
    return joined(parts)


def pair_rows(judged: Sequence[JudgedPair]) -> list[dict[str, Any]]:
    """Return one row for each pair, as values of a table."""
    return [
        {
            "case": item.pair.case.id,
            "repeat": item.pair.repeat,
            "verdict": item.state,
            "prompt": item.pair.case.prompt,
            "old": item.pair.old.text,
            "new": item.pair.new.text,
            "old_tools": _calls(item.pair.old),
            "new_tools": _calls(item.pair.new),
            "old_ms": item.pair.old.duration_ms,
            "new_ms": item.pair.new.duration_ms,
            "old_cost": item.pair.old.cost,
            "new_cost": item.pair.new.cost,
            "why": "; ".join(item.reasons),
        }
        for item in judged
    ]


def _sides(item: JudgedPair, names: tuple[str, str]) -> Markup:
    pair = item.pair
    sides = [
        {"name": printable(name), "text": _excerpt(answer.text), "calls": [*map(printable, _calls(answer))],
         "tools_known": answer.tools is not None, "facts": _facts(answer)}
        for name, answer in zip(names, (pair.old, pair.new), strict=True)
    ]  # fmt: skip
    return fragment(
        "loomlib.imports.bedrock_agents.parity:sides.html.j2",
        id=printable(pair.id if pair.repeat else pair.case.id),
        prompt=printable(one_line(pair.case.prompt, 120)),
        parts=" and ".join(item.parts),
        reasons=[printable(one_line(reason, 400)) for reason in item.reasons],
        sides=sides,
    )


def failures_table(judged: Sequence[JudgedPair]) -> Markup | str:
    """Render the answers without a verdict, by class."""
    counts = failure_counts(judged)
    first = {kind: item for item in reversed(judged) for kind in item.kinds}
    rows = [
        (kind, number(count, 0), first[kind].pair.case.id, one_line(printable("; ".join(first[kind].reasons)), 300))
        for kind, count in counts.items()
    ]
    return table(("class", "answers", "first case", "why"), rows)


def _calls(answer: CaseAnswer) -> list[str]:
    return [call_text(use.name, use.arguments) for use in answer.tools or ()]


def _facts(answer: CaseAnswer) -> str:
    facts = [
        None if answer.duration_ms is None else milliseconds(answer.duration_ms),
        None if answer.tokens is None else f"{number(answer.tokens, 0)} tokens",
        None if answer.cost is None else money(answer.cost),
    ]
    return " · ".join(filter(None, facts))


def _excerpt(text: str) -> str:
    return printable(cut(text, _LONGEST))
