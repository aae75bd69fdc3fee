"""Metadata filters of retrieval."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from ..wire import invalid

_COMPARED: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "greaterThan": lambda value, bound: value > bound,
    "greaterThanOrEquals": lambda value, bound: value >= bound,
    "lessThan": lambda value, bound: value < bound,
    "lessThanOrEquals": lambda value, bound: value <= bound,
}


def check_filter(condition: Mapping[str, Any]) -> None:
    """Check the values of a `RetrievalFilter`.

    Args:
        condition: The filter, with exactly one member.

    Raises:
        RefusedError: The value of `in` or `notIn` is not a list (400).
    """
    ((kind, operand),) = condition.items()
    if kind in ("andAll", "orAll"):
        for item in operand:
            check_filter(item)
    elif kind in ("in", "notIn") and not isinstance(operand["value"], list):
        raise invalid(f"The value of the filter {kind} must be a list")


def matches(metadata: Mapping[str, Any], condition: Mapping[str, Any]) -> bool:
    """Return whether a document's metadata meet a `RetrievalFilter`.

    A missing attribute meets `notEquals` and `notIn`, but no other condition.

    Args:
        metadata: Attributes by name.
        condition: The filter, with exactly one member, as `check_filter` accepts it.
    """
    ((kind, operand),) = condition.items()
    if kind == "andAll":
        return all(matches(metadata, item) for item in operand)
    if kind == "orAll":
        return any(matches(metadata, item) for item in operand)
    value, expected = metadata.get(operand["key"]), operand["value"]
    if kind in ("notEquals", "notIn"):
        return not _is_in(value, expected if kind == "notIn" else [expected])
    if value is None:
        return False
    if kind in ("equals", "in"):
        return _is_in(value, expected if kind == "in" else [expected])
    if kind == "listContains":
        return isinstance(value, list) and _is_in(expected, cast("list[Any]", value))
    if kind == "stringContains":
        texts = cast("list[Any]", value) if isinstance(value, list) else [value]
        return any(isinstance(text, str) and str(expected) in text for text in texts)
    if kind == "startsWith":
        return isinstance(value, str) and value.startswith(str(expected))
    both_numbers = all(isinstance(item, int | float) and not isinstance(item, bool) for item in (value, expected))
    return both_numbers and _COMPARED[kind](value, expected)


def _is_in(value: Any, items: Sequence[Any]) -> bool:
    """Return whether a list contains a value; unlike Python's `in`, true and 1 differ."""
    return any(value == item and isinstance(value, bool) == isinstance(item, bool) for item in items)
