"""Eval sets as CSV: the columns of `rows`, one row per turn.

An empty cell has no value. Text that a cell cannot represent directly (the empty text, broken characters, text that
begins with `json:`, and text that a spreadsheet would run as a formula) is written as `json:"…"`; everything reads back
exactly. A file from another source needs only a `prompt` column.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final

from ..values.eval_set import EvalSet
from .json_text import cell, dump
from .problems import Problems
from .rows import COLUMNS, TEXT_COLUMNS, canonical, joined, rows_of

_ESCAPE: Final = "json:"
_FORMULA: Final = re.compile(r"^\s*[=@+\-]")
_NUMBER: Final = re.compile(r"^[+-]?\d+(\.\d+)?$")
_ODD: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


def write_text(evalset: EvalSet) -> str:
    """Return the set's cases as CSV with the columns that they need."""
    rows = [row for case in evalset.cases for row in rows_of(case)]
    used = {name for row in rows for name in row} | {"id", "prompt", "expected_answer"}
    columns = [name for name in COLUMNS if name in used]
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(name, row.get(name)) for name in columns])
    return out.getvalue()


def _cell(column: str, value: Any) -> str:
    if value is None:
        return ""
    if column in TEXT_COLUMNS:
        return value if _is_safe(value) else _ESCAPE + dump(value)
    if isinstance(value, list):
        names = joined(column, value)  # pyright: ignore[reportUnknownArgumentType]
        if names is not None and _is_safe(names):
            return names
    return str(value) if isinstance(value, int) else dump(value)


def _is_safe(text: str) -> bool:
    if not text or text.startswith(_ESCAPE) or _ODD.search(text):
        return False
    return not _FORMULA.match(text) or bool(_NUMBER.match(text))


def read_rows(lines: Iterable[str], problems: Problems) -> Iterator[tuple[int | None, dict[str, Any]]]:
    """Yield the rows of CSV text with the lines on which they begin."""
    limit = csv.field_size_limit(2**31 - 1)  # the default limit of the csv module, 128 KiB, is too low for eval sets
    try:
        yield from _rows(lines, problems)
    finally:
        csv.field_size_limit(limit)


def _rows(lines: Iterable[str], problems: Problems) -> Iterator[tuple[int | None, dict[str, Any]]]:
    lines = iter(lines)
    first = next(lines, "")
    reader = csv.reader(chain([first], lines), strict=True, delimiter=delimiter_of(first))
    line = 1
    try:
        header = [name.strip() for name in next(reader, list[str]())]
        if not _is_header(header, problems):
            return
        line = reader.line_num + 1
        for values in reader:
            if any(values):
                if len(values) > len(header):
                    problem = f"this row has {len(values)} cells, the header {len(header)}"
                    problems.add((), problem, "put cells that hold a comma in double quotes", line=line)
                else:
                    yield line, {name: _read(value) for name, value in zip(header, values, strict=False) if value}
            line = reader.line_num + 1
    except csv.Error as error:
        problems.add(
            (),
            f"this is not valid CSV: {error}",
            "put the cell in double quotes, and double any quotes inside it",
            line=line,
        )
    except ValueError as error:
        problems.add((), str(error), "a cell that begins with json: holds a JSON text", line=line)


def delimiter_of(header: str) -> str:
    """Return the delimiter: the first of comma, semicolon and tab that yields a prompt column."""
    for delimiter in ",;\t":
        if "prompt" in canonical(name.strip().strip('"') for name in header.split(delimiter)).values():
            return delimiter
    return ","


def _is_header(header: list[str], problems: Problems) -> bool:
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        problems.add((), f"the column {twice[0]!r} occurs twice", "give every column its own name", line=1)
    elif "prompt" not in canonical(header).values():
        problems.add((), "the table has no prompt column", "rename one of the columns to prompt", line=1)
    return not problems.count


def _read(value: str) -> Any:
    if not value.startswith(_ESCAPE):
        return value
    text = cell(value.removeprefix(_ESCAPE))
    if not isinstance(text, str):
        raise ValueError("the text after json: is not a JSON string")
    return text
