"""Metadata filters of retrieval."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

_COMPARED: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "greaterThan": lambda value, wanted: value > wanted,
    "greaterThanOrEquals": lambda value, wanted: value >= wanted,
    "lessThan": lambda value, wanted: value < wanted,
    "lessThanOrEquals": lambda value, wanted: value <= wanted,
}


def matches(metadata: Mapping[str, Any], condition: Mapping[str, Any]) -> bool:
    """Return whether a document's metadata meet a `RetrievalFilter`; an attribute that is missing meets none.

    Args:
        metadata: Attributes by name.
        condition: The filter, with exactly one member.
    """
    ((kind, given),) = condition.items()
    if kind == "andAll":
        return all(matches(metadata, item) for item in given)
    if kind == "orAll":
        return any(matches(metadata, item) for item in given)
    value, wanted = metadata.get(given["key"]), given["value"]
    if kind in ("notEquals", "notIn"):
        return value not in wanted if kind == "notIn" else value != wanted
    if value is None:
        return False
    if kind == "equals":
        return value == wanted
    if kind == "in":
        return value in wanted
    if kind == "listContains":
        return isinstance(value, list) and wanted in cast("list[Any]", value)
    if kind == "stringContains":
        texts = cast("list[Any]", value) if isinstance(value, list) else [value]
        return any(isinstance(text, str) and str(wanted) in text for text in texts)
    if kind == "startsWith":
        return isinstance(value, str) and value.startswith(str(wanted))
    both_numbers = all(isinstance(item, int | float) and not isinstance(item, bool) for item in (value, wanted))
    return both_numbers and _COMPARED[kind](value, wanted)
