"""Alignment of an expected and an actual path of tool calls: which match, differ, moved, are missing or extra."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from loomlib.dispatch import call

from ..values.tool_use import ExpectedTool, ToolUse
from .assignment import assign
from .tool_matching import Arguments, ToolMatching, call_text

ROW_KINDS: Final = ("kept", "changed", "moved", "missing", "extra")
"""As expected; same tool, different arguments; as expected but at another step; only expected; only called."""

ROW_SIGNS: Final[Mapping[str, str]] = {"kept": " ", "changed": "~", "moved": ">", "missing": "-", "extra": "+"}
"""The sign shown beside each kind of row."""
# Maximum number of cells of the edit-distance table. For longer paths it has only a band around its diagonal: the
# distance is exact when it is at most the width of the band on either side, else an upper bound. For paths whose
# lengths differ by more, all calls between the common start and end become missing and extra.
_MAX_CELLS: Final = 250_000
_OUTSIDE: Final = 1 << 62  # the cost outside the band
# Of alignments with equally few edits, prefer those that replace a call by one of the same tool.
_EDIT, _OTHER_TOOL = 1_000_000, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignmentRow:
    """One row of an alignment. Steps count from 1; None if the call is only on the other side."""

    kind: str
    expected: ExpectedTool | None = None
    actual: ToolUse | None = None
    expected_step: int | None = None
    actual_step: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """Two paths side by side.

    Attributes:
        rows: The aligned calls.
        distance: Edit distance: the least number of calls to insert, remove or replace (Levenshtein, 1966). An upper
            bound for paths of more than 500 calls that differ a lot.
        differs_at: The first step, from 1, at which the paths differ; None when they are equal.
    """

    rows: tuple[AlignmentRow, ...]
    distance: int
    differs_at: int | None

    @property
    def similarity(self) -> float:
        """Similarity from 0 to 1: 1 - distance / length of the longer path."""
        longest = max(sum(r.expected is not None for r in self.rows), sum(r.actual is not None for r in self.rows))
        return 1 - self.distance / longest if longest else 1.0

    def count(self, kind: str) -> int:
        """Return the number of rows of a kind, one of `ROW_KINDS`."""
        return sum(row.kind == kind for row in self.rows)

    def table(self) -> list[dict[str, Any]]:
        """Return one row of plain values per call, for a DataFrame or `Score.details`."""
        return [
            {
                "kind": row.kind,
                "expected_step": row.expected_step,
                "expected": call_text(row.expected.name, row.expected.arguments) if row.expected else None,
                "actual_step": row.actual_step,
                "actual": call_text(row.actual.name, row.actual.arguments) if row.actual else None,
            }
            for row in self.rows
        ]

    def sentence(self) -> str:
        """Return what differs, in one line."""
        if self.differs_at is None:
            return "The path is as expected."
        counts = [f"{self.count(kind)} {kind}" for kind in ROW_KINDS[1:] if self.count(kind)]
        expected_row = next((r for r in self.rows if r.expected_step == self.differs_at), None)
        actual_row = next((r for r in self.rows if r.actual_step == self.differs_at), None)
        expected = (
            call_text(expected_row.expected.name, expected_row.expected.arguments, limit=80)
            if expected_row and expected_row.expected
            else "the end"
        )
        actual = (
            call_text(actual_row.actual.name, actual_row.actual.arguments, limit=80)
            if actual_row and actual_row.actual
            else "the end"
        )
        return f"The paths differ from step {self.differs_at}: expected {expected}, got {actual} ({', '.join(counts)})."

    def __str__(self) -> str:
        return view_text(self.table(), self.sentence())

    def _repr_html_(self) -> str:
        return call("Alignment.html", self.table(), self.sentence())


def align(
    expected: Sequence[ExpectedTool], actual: Sequence[ToolUse], *, arguments: Arguments | ToolMatching = True
) -> Alignment:
    """Align two paths with the fewest edits.

    Args:
        expected: The expected calls in order.
        actual: The actual calls in order.
        arguments: Whether and how arguments are compared; see `Arguments`.

    Examples:
        >>> print(align(case.expected_tools, answer.tools))
    """
    matching = arguments if isinstance(arguments, ToolMatching) else ToolMatching(arguments)
    start = 0
    while start < min(len(expected), len(actual)) and matching.fits(expected[start], actual[start]):
        start += 1
    end = 0
    while end < min(len(expected), len(actual)) - start and matching.fits(expected[-1 - end], actual[-1 - end]):
        end += 1
    steps = [(i, i) for i in range(start)]
    middle, distance = _middle(expected, actual, start, end, matching)
    steps += middle
    steps += [(len(expected) - k, len(actual) - k) for k in range(end, 0, -1)]
    same = start == len(expected) == len(actual)
    rows = _moved([_row(i, j, expected, actual, matching) for i, j in _both(steps, expected, actual)], matching)
    return Alignment(rows=tuple(rows), distance=distance, differs_at=None if same else start + 1)


Pair = tuple[int | None, int | None]


def _middle(
    expected: Sequence[ExpectedTool], actual: Sequence[ToolUse], start: int, end: int, matching: ToolMatching
) -> tuple[list[Pair], int]:
    """Return the aligned pairs between the common prefix and suffix, and their edit distance."""
    n, m = len(expected) - start - end, len(actual) - start - end
    width = max(n, m) if n * m <= _MAX_CELLS else (_MAX_CELLS // n - 1) // 2
    if not n or not m or abs(n - m) > width:
        only: list[Pair] = [(start + i, None) for i in range(n)]
        return only + [(None, start + j) for j in range(m)], max(n, m)
    costs: list[list[int]] = []

    def cost_at(i: int, j: int) -> int:
        at = j - max(0, i - width)
        return costs[i][at] if 0 <= at < len(costs[i]) else _OUTSIDE

    for i in range(n + 1):
        above, first = costs[-1] if i else [], max(0, i - width)
        above_first = max(0, i - 1 - width)
        row: list[int] = []
        for j in range(first, min(m, i + width) + 1):
            if not i or not j:
                row.append((i + j) * _EDIT)
                continue
            at = j - above_first
            replaced = above[at - 1] + _cost(expected[start + i - 1], actual[start + j - 1], matching)
            missing = above[at] + _EDIT if at < len(above) else _OUTSIDE
            row.append(min(replaced, missing, row[-1] + _EDIT if row else _OUTSIDE))
        costs.append(row)
    pairs: list[Pair] = []
    i, j = n, m
    while i or j:
        cost = cost_at(i, j)
        replaced = _cost(expected[start + i - 1], actual[start + j - 1], matching) if i and j else 0
        if i and j and cost == cost_at(i - 1, j - 1) + replaced:
            i, j = i - 1, j - 1
            pairs.append((start + i, start + j))
        elif i and cost == cost_at(i - 1, j) + _EDIT:
            i -= 1
            pairs.append((start + i, None))
        else:
            j -= 1
            pairs.append((None, start + j))
    return pairs[::-1], cost_at(n, m) // _EDIT


def _cost(expected: ExpectedTool, actual: ToolUse, matching: ToolMatching) -> int:
    if expected.name != actual.name:
        return _EDIT + _OTHER_TOOL
    return 0 if matching.fits(expected, actual) else _EDIT


def _both(steps: Sequence[Pair], expected: Sequence[ExpectedTool], actual: Sequence[ToolUse]) -> list[Pair]:
    """Split a replacement by another tool into two rows: one missing, one extra call."""
    pairs: list[Pair] = []
    for i, j in steps:
        if i is not None and j is not None and expected[i].name != actual[j].name:
            pairs += [(i, None), (None, j)]
        else:
            pairs.append((i, j))
    return pairs


def _row(
    i: int | None, j: int | None, expected: Sequence[ExpectedTool], actual: Sequence[ToolUse], matching: ToolMatching
) -> AlignmentRow:
    expected_tool, tool_use = None if i is None else expected[i], None if j is None else actual[j]
    if expected_tool is None or tool_use is None:
        kind = "missing" if tool_use is None else "extra"
    else:
        kind = "kept" if matching.fits(expected_tool, tool_use) else "changed"
    return AlignmentRow(
        kind=kind,
        expected=expected_tool,
        actual=tool_use,
        expected_step=None if i is None else i + 1,
        actual_step=None if j is None else j + 1,
    )


def _moved(rows: Sequence[AlignmentRow], matching: ToolMatching) -> list[AlignmentRow]:
    """Merge a missing and an extra row of the same call into one "moved" row, at the actual call's position."""
    missing = [row for row in rows if row.kind == "missing"]
    extra = [row for row in rows if row.kind == "extra"]
    if not missing or not extra or len(missing) * len(extra) > _MAX_CELLS:
        return list(rows)

    def fits(i: int, j: int) -> bool:
        expected_tool, tool_use = missing[i].expected, extra[j].actual
        return expected_tool is not None and tool_use is not None and matching.fits(expected_tool, tool_use)

    moves = {id(extra[j]): missing[i] for i, j in assign(len(missing), len(extra), fits).items()}
    moved_rows = {id(row) for row in moves.values()}
    return [
        replace(row, kind="moved", expected=moves[id(row)].expected, expected_step=moves[id(row)].expected_step)
        if id(row) in moves
        else row
        for row in rows
        if id(row) not in moved_rows
    ]


def view_text(table: Sequence[Mapping[str, Any]], sentence: str = "") -> str:
    """Return a table of `Alignment.table`, also one stored with a score, as text with one line per call.

    Args:
        table: The rows.
        sentence: A first line.
    """
    width = max([8, *(len(str(row["expected"] or "")) for row in table)])
    lines = [sentence] if sentence else []
    for row in table:
        steps = f"{row['expected_step'] or '':>3} {row['actual_step'] or '':>3}"
        kind = f"{ROW_SIGNS[row['kind']]} {row['kind']:<8}"
        lines.append(f"{kind}{steps}  {row['expected'] or '':<{width}}  {row['actual'] or ''}".rstrip())
    return "\n".join(lines)
