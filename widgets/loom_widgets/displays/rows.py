"""A DataFrame as a view's table: rows are converted page by page; pandas sorts and filters."""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, overload

import pandas as pd

from loomlib.presentation import formats

from ..kit.source import plain
from ..kit.texts import well_formed

FIRST = 100
"""Number of rows that a view receives at first: one page of its table."""
_LONGEST_FIRST = 300
_LONGEST_PAGED = 2_000
_WIDTHS = (5, 44)


class FrameRows(Sequence[Mapping[str, Any]]):
    """The rows of a DataFrame as JSON values under `c0`, `c1` …, each with its row position as `at`."""

    def __init__(self, frame: pd.DataFrame, places: Sequence[int] | None = None) -> None:
        self._frame = frame
        self._places = range(len(frame)) if places is None else places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, at: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, at: slice) -> list[Mapping[str, Any]]: ...
    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, slice):
            return self._rows(list(self._places[at]))
        return self._rows([self._places[at]])[0]

    def in_order(self, column: str, down: bool) -> FrameRows:
        """Return the rows sorted by a column; missing values come last."""
        number = int(column[1:]) if column[1:].isdigit() else -1
        if not 0 <= number < self._frame.shape[1]:
            return self
        values = self._frame.iloc[:, number]
        if len(self._places) < len(values):
            values = values.iloc[list(self._places)]
        values = values.reset_index(drop=True)
        if isinstance(values.dtype, pd.CategoricalDtype):
            values = values.astype(object)
        options: dict[str, Any] = {"ascending": not down, "na_position": "last", "kind": "stable"}
        try:
            ordered = values.sort_values(**options)
        except TypeError:  # of several kinds
            ordered = values.sort_values(key=lambda column: column.map(str, na_action="ignore"), **options)
        return FrameRows(self._frame, [self._places[label] for label in ordered.index])

    def holding(self, text: str) -> FrameRows:
        """Return the rows that contain a text in any column, ignoring case."""
        needle, matching = text.casefold(), set[int]()
        for number in range(self._frame.shape[1]):
            for at, value in enumerate(self._frame.iloc[:, number]):
                if at not in matching and needle in str(value).casefold():
                    matching.add(at)
        return FrameRows(self._frame, sorted(matching))

    def whole(self, place: int, longest: int) -> list[list[str]]:
        """Return one row as pairs of column name and full text."""
        names = names_of(self._frame)
        return [
            [name, "–" if (content := cell(value)) is None else _cut(str(content), longest)]
            for name, value in zip(names, (self._frame.iloc[place, n] for n in range(len(names))), strict=True)
        ]

    def _rows(self, places: Sequence[int]) -> list[Mapping[str, Any]]:
        columns = [self._frame.iloc[:, number].iloc[list(places)].tolist() for number in range(self._frame.shape[1])]
        return [
            {"at": place, **{f"c{n}": _cut_cell(column[at], _LONGEST_PAGED) for n, column in enumerate(columns)}}
            for at, place in enumerate(places)
        ]


def frame_details(name: str, frame: pd.DataFrame) -> dict[str, Any]:
    """Return what a view needs to draw the table: its columns, the number of rows, and the first rows."""
    first = [{key: _cut_cell(value, _LONGEST_FIRST) for key, value in row.items()} for row in FrameRows(frame)[:FIRST]]
    columns = [
        {"key": f"c{n}", "name": title, "kind": _kind(title, frame.iloc[:, n]), "width": _width(title, f"c{n}", first)}
        for n, title in enumerate(names_of(frame))
    ]
    return {"table": name, "columns": columns, "total": len(frame), "rows": first}


def flat(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with plain columns; a meaningful index becomes a column.

    Later changes of the original do not affect it.
    """
    flattened = pd.DataFrame(frame.copy(deep=False))
    plain_index = isinstance(flattened.index, pd.RangeIndex) and flattened.index.name is None
    if plain_index:
        return flattened
    index = flattened.index.to_frame(index=False)
    index.columns = ["" if item is None else str(item) for item in flattened.index.names]
    return pd.concat([index, flattened.reset_index(drop=True)], axis=1)


def names_of(frame: pd.DataFrame) -> list[str]:
    """Return the column names as texts."""
    return [well_formed(str(column)) for column in frame.columns]


def cell(value: Any) -> Any:
    """Convert a value to JSON."""
    if value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, list | tuple | dict | set | frozenset) or getattr(value, "ndim", 0):
        return well_formed(str(value))
    result = plain(value)
    if isinstance(result, int) and not isinstance(result, bool) and abs(result) > 2**53:
        return str(result)
    return well_formed(result) if isinstance(result, str) else result


def _cut_cell(value: Any, longest: int) -> Any:
    content = cell(value)
    return _cut(content, longest) if isinstance(content, str) else content


def _cut(text: str, longest: int) -> str:
    excess = len(text) - longest
    return text if excess <= 0 else f"{text[:longest]}… ({formats.number(excess)} more characters)"


def _kind(name: str, values: pd.Series[Any]) -> str:
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        return "time"
    if not pd.api.types.is_numeric_dtype(values.dtype) or pd.api.types.is_bool_dtype(values.dtype):
        return "text"
    if name.endswith("_ms"):
        return "ms"
    return "text" if name in ("id", "at") or name.endswith(("_id", "_ns")) else "number"


def _width(name: str, key: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a column's width in em: that of its longest text among the first rows, within bounds."""
    longest = max((len(str(row[key])) for row in rows if row[key] is not None), default=0)
    least, most = _WIDTHS
    return f"{max(least, min(most, max(longest, len(name) + 2))) * 0.58 + 1.4:.1f}em"
