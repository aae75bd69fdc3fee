"""Filters by a record's metadata: what an expression asks, checked first, and whether a record has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from operator import ge, gt, le, lt
from typing import Any, Final

from loomlib.local.wire import invalid

Metadata = Mapping[str, Mapping[str, Any]]
Filter = Mapping[str, Any]

_WITHOUT_RIGHT: Final = ("EXISTS", "NOT_EXISTS")
_NEEDS: Final = {
    "BEFORE": "dateTimeValue",
    "AFTER": "dateTimeValue",
    "CONTAINS": "stringValue",
    "GREATER_THAN": "numberValue",
    "GREATER_THAN_OR_EQUALS": "numberValue",
    "LESS_THAN": "numberValue",
    "LESS_THAN_OR_EQUALS": "numberValue",
}
_COMPARED: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "BEFORE": lt,
    "AFTER": gt,
    "GREATER_THAN": gt,
    "GREATER_THAN_OR_EQUALS": ge,
    "LESS_THAN": lt,
    "LESS_THAN_OR_EQUALS": le,
}


def check(filters: Sequence[Filter]) -> None:
    """Raises `Refused` when an operator lacks its value or has one of another kind."""
    for each in filters:
        operator, right = each["operator"], each.get("right")
        if operator in _WITHOUT_RIGHT:
            continue
        if right is None:
            raise invalid(f"metadataFilters: {operator} needs a right expression")
        kind = next(iter(right["metadataValue"]))
        if (needed := _NEEDS.get(operator, kind)) != kind:
            raise invalid(f"metadataFilters: {operator} compares with a {needed}, not with a {kind}")


def matches(metadata: Metadata, filters: Sequence[Filter]) -> bool:
    """Whether a record with this metadata passes every filter. A value of another kind passes none but EXISTS."""
    return all(_passes(metadata, each) for each in filters)


def _passes(metadata: Metadata, each: Filter) -> bool:
    value, operator = metadata.get(each["left"]["metadataKey"]), each["operator"]
    if operator in _WITHOUT_RIGHT:
        return (value is not None) == (operator == "EXISTS")
    if value is None:
        return False
    (kind, wanted), (had_kind, had) = _only(each["right"]["metadataValue"]), _only(value)
    if operator == "CONTAINS":
        return had_kind == "stringListValue" and wanted in had
    if kind != had_kind:
        return False
    if kind == "dateTimeValue":
        had, wanted = seconds(had), seconds(wanted)
    return had == wanted if operator == "EQUALS_TO" else _COMPARED[operator](had, wanted)


def _only(value: Mapping[str, Any]) -> tuple[str, Any]:
    return next(iter(value.items()))


def seconds(time: float | str) -> float:
    """A timestamp of a request as unix seconds: AWS's clients send numbers, some tools ISO 8601."""
    if isinstance(time, int | float):
        return float(time)
    try:
        parsed = datetime.fromisoformat(time)
    except ValueError as error:
        raise invalid(f"{time} is no timestamp") from error
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
