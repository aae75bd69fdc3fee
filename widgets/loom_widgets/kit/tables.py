"""Tables in the kernel: a view requests the rows that it shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from threading import Lock
from typing import Any, Protocol, cast, runtime_checkable

from loomlib.presentation.formats import number

from .actions import Form

MOST_ROWS = 500
"""Largest number of rows of one page."""
_LONGEST_TEXT = 2_000


@runtime_checkable
class Ordered(Protocol):
    """Rows that have their own, faster sort method."""

    def in_order(self, column: str, down: bool) -> Sequence[Mapping[str, Any]]:
        """Return the rows sorted by a column; missing values come last."""
        ...


class Tables:
    """The tables of one panel by name. `put` replaces a whole table; views request pages."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._rows: dict[str, Sequence[Mapping[str, Any]]] = {}
        self._sorted: dict[str, tuple[tuple[str, bool], Sequence[Mapping[str, Any]]]] = {}

    def put(self, name: str, rows: Sequence[Mapping[str, Any]]) -> int:
        """Store the rows (JSON values) under a name and return their number."""
        with self._lock:
            self._rows[name] = rows
            self._sorted.pop(name, None)
        return len(rows)

    def put_newest(self, kind: str, name: str, rows: Sequence[Mapping[str, Any]], *, most: int) -> str:
        """Store the rows as one of at most `most` tables of a kind, replacing the oldest.

        Args:
            kind: The kind, the first word of the table's name.
            name: The rest of the table's name.
            rows: The rows.
            most: How many tables of the kind are stored.

        Returns:
            The table's name.
        """
        table = f"{kind} {name}"
        with self._lock:
            self._rows.pop(table, None)
            for item in [item for item in self._rows if item.startswith(f"{kind} ")][: -most + 1 or None]:
                del self._rows[item]
                self._sorted.pop(item, None)
        self.put(table, rows)
        return table

    def rows(self, name: str) -> Sequence[Mapping[str, Any]]:
        """Return all rows of a table; no rows when the table does not exist."""
        with self._lock:
            return self._rows.get(name, ())

    def page(self, form: Form) -> dict[str, Any]:
        """Return rows `from` … `from + count` of a table, `sort`ed by a column, with the `total`.

        `find` (values by column) requests the current index of a row that was at `near`. It is returned as `at`; None
        when the row no longer exists.
        """
        name = form.text("table")
        first, count = form.count("from"), form.count("count", 100, most=MOST_ROWS)
        rows = self._in_order(name, form.text("sort"), form.flag("down"))
        page = [{key: _short(value) for key, value in row.items()} for row in rows[first : first + count]]
        message = {"table": name, "from": first, "rows": page, "total": len(rows)}
        values = form.get("find")
        if not isinstance(values, Mapping):
            return message
        return {**message, "at": _place(rows, cast("Mapping[str, Any]", values), form.count("near"))}

    def _in_order(self, name: str, column: str, down: bool) -> Sequence[Mapping[str, Any]]:
        with self._lock:
            rows = self._rows.get(name, ())
            if not column:
                return rows
            cached = self._sorted.get(name)
            if isinstance(rows, Ordered) and (cached is None or cached[0] != (column, down)):
                cached = (column, down), rows.in_order(column, down)
                self._sorted[name] = cached
            if cached is None or cached[0] != (column, down):
                with_value = [row for row in rows if not _is_nothing(row.get(column))]
                without_value = [row for row in rows if _is_nothing(row.get(column))]
                cached = (
                    (column, down),
                    sorted(with_value, key=lambda row: _rank(row.get(column)), reverse=down) + without_value,
                )
                self._sorted[name] = cached
            return cached[1]


def _place(rows: Sequence[Mapping[str, Any]], values: Mapping[str, Any], near: int) -> int | None:
    """Return the index of the row with these values; its previous index is tried first."""

    def fits(row: Mapping[str, Any]) -> bool:
        return all(_short(row.get(name)) == value for name, value in values.items())

    if near < len(rows) and fits(rows[near]):
        return near
    return next((at for at, row in enumerate(rows) if fits(row)), None)


def _is_nothing(value: object) -> bool:
    return value is None or (isinstance(value, float) and isnan(value))


def _rank(value: object) -> tuple[int, float, str]:
    """Return the sort key: numbers by size, then texts alphabetically. Missing values come last in both directions."""
    if isinstance(value, bool | int | float):
        return 0, float(value), ""
    return 1, 0.0, str(value)


def _short(value: object) -> object:
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        return f"{value[:_LONGEST_TEXT]}… ({number(len(value) - _LONGEST_TEXT)} more characters)"
    if isinstance(value, float) and value - value != 0:  # NaN and infinity are not JSON
        return None
    return value
