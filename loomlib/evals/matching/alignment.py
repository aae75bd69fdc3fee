"""An expected path beside the one taken: what was kept, left out, added, changed or moved, and where they part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from loomlib.dispatch import call

from ..values.tool_use import ExpectedTool, ToolUse
from .assignment import assign
from .tool_matching import Arguments, ToolMatching, call_text

ROW_KINDS: Final = ("kept", "changed", "moved", "missing", "extra")
"""As expected; the same tool with other arguments; as expected but elsewhere; expected only; called only."""

ROW_SIGNS: Final[Mapping[str, str]] = {"kept": " ", "changed": "~", "moved": ">", "missing": "-", "extra": "+"}
"""The sign shown beside each kind of row."""
_LONGEST: Final = 250_000  # cells of the table: what is left of longer paths is told as missing and extra
# Of alignments with as few edits, the one that replaces a call by one of the same tool says more.
_EDIT, _OTHER_TOOL = 1_000_000, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignmentRow:
    """One line of the view. Places count from 1, None where the call is only on one side."""

    kind: str
    expected: ExpectedTool | None = None
    actual: ToolUse | None = None
    expected_place: int | None = None
    actual_place: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """Two paths side by side.

    `distance` is the least number of calls to insert, remove or replace (Levenshtein, 1966) to turn one into the
    other. `parts_at` is the step, from 1, at which they first differ; None when they are the same.
    """

    rows: tuple[AlignmentRow, ...]
    distance: int
    parts_at: int | None

    @property
    def similarity(self) -> float:
        """1 for the same path, 0 when nothing of it is left: 1 - distance / the longer path's length."""
        longest = max(sum(r.expected is not None for r in self.rows), sum(r.actual is not None for r in self.rows))
        return 1 - self.distance / longest if longest else 1.0

    def count(self, kind: str) -> int:
        """How many rows are of one of `ROW_KINDS`."""
        return sum(row.kind == kind for row in self.rows)

    def table(self) -> list[dict[str, Any]]:
        """One row a call, plain values, ready for a DataFrame or for `Score.details`."""
        return [
            {
                "kind": row.kind,
                "expected_step": row.expected_place,
                "expected": call_text(row.expected.name, row.expected.arguments) if row.expected else None,
                "actual_step": row.actual_place,
                "actual": call_text(row.actual.name, row.actual.arguments) if row.actual else None,
            }
            for row in self.rows
        ]

    def sentence(self) -> str:
        """What differs, in one line."""
        if self.parts_at is None:
            return "The path is the expected one."
        counts = [f"{self.count(kind)} {kind}" for kind in ROW_KINDS[1:] if self.count(kind)]
        wanted = next((r for r in self.rows if r.expected_place == self.parts_at), None)
        came = next((r for r in self.rows if r.actual_place == self.parts_at), None)
        expected = (
            call_text(wanted.expected.name, wanted.expected.arguments, limit=80)
            if wanted and wanted.expected
            else "the end"
        )
        actual = call_text(came.actual.name, came.actual.arguments, limit=80) if came and came.actual else "the end"
        return f"The paths part at step {self.parts_at}: {expected} was expected, {actual} came ({', '.join(counts)})."

    def __str__(self) -> str:
        return view_text(self.table(), self.sentence())

    def _repr_html_(self) -> str:
        return call("Alignment.html", self.table(), self.sentence())


def align(
    expected: Sequence[ExpectedTool], actual: Sequence[ToolUse], *, arguments: Arguments | ToolMatching = True
) -> Alignment:
    """The alignment of two paths with the fewest edits.

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
    return Alignment(rows=tuple(rows), distance=distance, parts_at=None if same else start + 1)


Pair = tuple[int | None, int | None]


def _middle(
    expected: Sequence[ExpectedTool], actual: Sequence[ToolUse], start: int, end: int, matching: ToolMatching
) -> tuple[list[Pair], int]:
    """The pairs of what lies between the common beginning and the common end, and their distance."""
    n, m = len(expected) - start - end, len(actual) - start - end
    if not n or not m or n * m > _LONGEST:
        only: list[Pair] = [(start + i, None) for i in range(n)]
        return only + [(None, start + j) for j in range(m)], max(n, m)
    costs = [[j * _EDIT for j in range(m + 1)]]
    for i in range(1, n + 1):
        above, row = costs[-1], [i * _EDIT]
        wanted = expected[start + i - 1]
        for j in range(1, m + 1):
            row.append(
                min(above[j - 1] + _cost(wanted, actual[start + j - 1], matching), above[j] + _EDIT, row[-1] + _EDIT)
            )
        costs.append(row)
    pairs: list[Pair] = []
    i, j = n, m
    while i or j:
        here = costs[i][j]
        if i and j and here == costs[i - 1][j - 1] + _cost(expected[start + i - 1], actual[start + j - 1], matching):
            i, j = i - 1, j - 1
            pairs.append((start + i, start + j))
        elif i and here == costs[i - 1][j] + _EDIT:
            i -= 1
            pairs.append((start + i, None))
        else:
            j -= 1
            pairs.append((None, start + j))
    return pairs[::-1], costs[n][m] // _EDIT


def _cost(expected: ExpectedTool, actual: ToolUse, matching: ToolMatching) -> int:
    if expected.name != actual.name:
        return _EDIT + _OTHER_TOOL
    return 0 if matching.fits(expected, actual) else _EDIT


def _both(steps: Sequence[Pair], expected: Sequence[ExpectedTool], actual: Sequence[ToolUse]) -> list[Pair]:
    """A call replaced by one of another tool is two rows: one left out, one added."""
    told: list[Pair] = []
    for i, j in steps:
        if i is not None and j is not None and expected[i].name != actual[j].name:
            told += [(i, None), (None, j)]
        else:
            told.append((i, j))
    return told


def _row(
    i: int | None, j: int | None, expected: Sequence[ExpectedTool], actual: Sequence[ToolUse], matching: ToolMatching
) -> AlignmentRow:
    wanted, came = None if i is None else expected[i], None if j is None else actual[j]
    if wanted is None or came is None:
        kind = "missing" if came is None else "extra"
    else:
        kind = "kept" if matching.fits(wanted, came) else "changed"
    return AlignmentRow(
        kind=kind,
        expected=wanted,
        actual=came,
        expected_place=None if i is None else i + 1,
        actual_place=None if j is None else j + 1,
    )


def _moved(rows: Sequence[AlignmentRow], matching: ToolMatching) -> list[AlignmentRow]:
    """An expected call that is missing here and was made there is one row, where it was made."""
    missing = [row for row in rows if row.kind == "missing"]
    extra = [row for row in rows if row.kind == "extra"]
    if not missing or not extra or len(missing) * len(extra) > _LONGEST:
        return list(rows)

    def fits(i: int, j: int) -> bool:
        wanted, came = missing[i].expected, extra[j].actual
        return wanted is not None and came is not None and matching.fits(wanted, came)

    found = {id(extra[j]): missing[i] for i, j in assign(len(missing), len(extra), fits).items()}
    gone = {id(row) for row in found.values()}
    return [
        replace(row, kind="moved", expected=found[id(row)].expected, expected_place=found[id(row)].expected_place)
        if id(row) in found
        else row
        for row in rows
        if id(row) not in gone
    ]


def view_text(table: Sequence[Mapping[str, Any]], sentence: str = "") -> str:
    """The rows of `Alignment.table()` as text, one line a call; also those that were stored with a score."""
    width = max([8, *(len(str(row["expected"] or "")) for row in table)])
    lines = [sentence] if sentence else []
    for row in table:
        steps = f"{row['expected_step'] or '':>3} {row['actual_step'] or '':>3}"
        kind = f"{ROW_SIGNS[row['kind']]} {row['kind']:<8}"
        lines.append(f"{kind}{steps}  {row['expected'] or '':<{width}}  {row['actual'] or ''}".rstrip())
    return "\n".join(lines)
