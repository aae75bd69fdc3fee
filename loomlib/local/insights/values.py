"""Values of a query: comparison, conversion to numbers, and display in a result."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any


class Moment(int):
    """A time in Unix milliseconds, shown as a time."""

    def __str__(self) -> str:
        try:
            return f"{datetime.fromtimestamp(self / 1000, UTC):%Y-%m-%d %H:%M:%S}.{self % 1000:03d}"
        except (OverflowError, ValueError, OSError):
            return str(int(self))


def number(value: Any) -> float | int | None:
    """Return the value as a number; None if it is not a number.

    `parse` extracts text, which counts as a number if it has the form of one.
    """
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float):
        try:
            return value if math.isfinite(value) else None
        except OverflowError:  # an integer beyond the largest float
            return None
    if isinstance(value, str):
        try:
            parsed = float(value)
        except ValueError:
            return None
        return parsed if math.isfinite(parsed) else None
    return None


def compare(left: Any, right: Any) -> int | None:
    """Compare two values: -1, 0 or 1; as numbers if both are numbers, otherwise as texts; None if one is missing."""
    if left is None or right is None:
        return None
    left_number, right_number = number(left), number(right)
    if left_number is not None and right_number is not None:
        return (left_number > right_number) - (left_number < right_number)
    left_text, right_text = result_text(left), result_text(right)
    return (left_text > right_text) - (left_text < right_text)


def sort_key(value: Any) -> tuple[int, float, str]:
    """Return the sort key of a value: numbers come before texts."""
    numeric = number(value)
    return (0, numeric, "") if numeric is not None else (1, 0.0, result_text(value))


def result_text(value: Any) -> str:
    """Return the value as text, as a result shows it."""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)
