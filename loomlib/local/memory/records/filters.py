"""Metadata filters of long-term records: validation of expressions, and matching of records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from operator import ge, gt, le, lt
from typing import Any, Final

from loomlib.local.wire import invalid

Metadata = Mapping[str, Mapping[str, Any]]
Filter = Mapping[str, Any]

_WITHOUT_RIGHT: Final = ("EXISTS", "NOT_EXISTS")
_COMPARISONS: Final[Mapping[str, tuple[str, Callable[[float, float], bool]]]] = {
    "BEFORE": ("dateTimeValue", lt),
    "AFTER": ("dateTimeValue", gt),
    "GREATER_THAN": ("numberValue", gt),
    "GREATER_THAN_OR_EQUALS": ("numberValue", ge),
    "LESS_THAN": ("numberValue", lt),
    "LESS_THAN_OR_EQUALS": ("numberValue", le),
}
_KINDS: Final = {"CONTAINS": "stringValue", **{operator: kind for operator, (kind, _) in _COMPARISONS.items()}}


def check(filters: Sequence[Filter]) -> None:
    """Raise `RefusedError` if an operator lacks its value or has one of the wrong kind."""
    for expression in filters:
        operator, right = expression["operator"], expression.get("right")
        if operator in _WITHOUT_RIGHT:
            continue
        if right is None:
            raise invalid(f"metadataFilters: {operator} needs a right expression")
        kind = next(iter(right["metadataValue"]))
        if (needed := _KINDS.get(operator, kind)) != kind:
            raise invalid(f"metadataFilters: {operator} compares with a {needed}, not with a {kind}")


def matches(metadata: Metadata, filters: Sequence[Filter]) -> bool:
    """Whether a record with this metadata matches every filter. A value of another kind matches EXISTS only."""
    return all(_matches_one(metadata, expression) for expression in filters)


def seconds(time: float | str) -> float:
    """Convert a timestamp of a request to unix seconds.

    AWS's clients send numbers; some tools send ISO 8601.
    """
    if isinstance(time, int | float):
        return float(time)
    try:
        parsed = datetime.fromisoformat(time)
    except ValueError as error:
        raise invalid(f"{time} is not a timestamp") from error
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()


def _matches_one(metadata: Metadata, expression: Filter) -> bool:
    value, operator = metadata.get(expression["left"]["metadataKey"]), expression["operator"]
    if operator in _WITHOUT_RIGHT:
        return (value is not None) == (operator == "EXISTS")
    if value is None:
        return False
    ((expected_kind, expected),) = list(expression["right"]["metadataValue"].items())[:1]
    ((kind, stored),) = list(value.items())[:1]
    if operator == "CONTAINS":
        return kind == "stringListValue" and expected in stored
    if kind != expected_kind:
        return False
    if kind == "dateTimeValue":
        stored, expected = seconds(stored), seconds(expected)
    return stored == expected if operator == "EQUALS_TO" else _COMPARISONS[operator][1](stored, expected)
