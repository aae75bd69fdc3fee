"""Metadata filters of retrieval."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

_COMPARED: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "greaterThan": lambda value, bound: value > bound,
    "greaterThanOrEquals": lambda value, bound: value >= bound,
    "lessThan": lambda value, bound: value < bound,
    "lessThanOrEquals": lambda value, bound: value <= bound,
}


def matches(metadata: Mapping[str, Any], condition: Mapping[str, Any]) -> bool:
    """Return whether a document's metadata meet a `RetrievalFilter`; a missing attribute never meets a condition.

    Args:
        metadata: Attributes by name.
        condition: The filter, with exactly one member.
    """
    ((kind, operand),) = condition.items()
    if kind == "andAll":
        return all(matches(metadata, item) for item in operand)
    if kind == "orAll":
        return any(matches(metadata, item) for item in operand)
    value, expected = metadata.get(operand["key"]), operand["value"]
    if kind in ("notEquals", "notIn"):
        return value not in expected if kind == "notIn" else value != expected
    if value is None:
        return False
    if kind == "equals":
        return value == expected
    if kind == "in":
        return value in expected
    if kind == "listContains":
        return isinstance(value, list) and expected in cast("list[Any]", value)
    if kind == "stringContains":
        texts = cast("list[Any]", value) if isinstance(value, list) else [value]
        return any(isinstance(text, str) and str(expected) in text for text in texts)
    if kind == "startsWith":
        return isinstance(value, str) and value.startswith(str(expected))
    both_numbers = all(isinstance(item, int | float) and not isinstance(item, bool) for item in (value, expected))
    return both_numbers and _COMPARED[kind](value, expected)
