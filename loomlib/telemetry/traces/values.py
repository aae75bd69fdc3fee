"""Attribute values out of OTLP's wrappers, and JSON inside text: everything a stranger can send becomes data."""

from __future__ import annotations

import json
from base64 import b64decode
from binascii import Error
from collections.abc import Mapping, Sequence
from typing import Any, cast

_DEEPEST = 64
TOO_DEEP = "(nested too deeply)"


def as_mapping(value: object) -> Mapping[str, Any] | None:
    """`value` if it is a mapping, else None."""
    if type(value) is dict:  # nearly always, and five times as fast
        return cast("Mapping[str, Any]", value)
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None


def as_list(value: object) -> Sequence[Any]:
    """`value` if it is a list or tuple, else nothing."""
    return cast("Sequence[Any]", value) if isinstance(value, list | tuple) else ()


def attributes_of(pairs: object) -> Mapping[str, Any]:
    """Attributes as a mapping, from OTLP's list of key and value or from a mapping as it stands."""
    if isinstance(pairs, list):
        found: dict[str, Any] = {}
        try:
            for pair in cast("list[Any]", pairs):
                value = pair["value"]
                text = value.get("stringValue")
                found[pair["key"]] = text if text is not None else plain_value(value)
        except (KeyError, TypeError, AttributeError):
            return _careful(cast("list[Any]", pairs))
        return found
    return as_mapping(pairs) or {}


def _careful(pairs: list[Any]) -> dict[str, Any]:
    """What can be read of a list in which something has not the documented form."""
    found: dict[str, Any] = {}
    for pair in pairs:
        entry = as_mapping(pair)
        if entry is not None and "key" in entry:
            found[str(entry["key"])] = plain_value(entry.get("value"))
    return found


def plain_value(value: object, depth: int = 0) -> Any:
    """The Python value of an OTLP AnyValue; bytes stay bytes. What is no AnyValue is kept as it is."""
    wrapped = as_mapping(value)
    if wrapped is None or len(wrapped) != 1:
        return value if wrapped is None or wrapped else None
    if depth >= _DEEPEST:
        return TOO_DEEP
    ((kind, inner),) = wrapped.items()
    match kind:
        case "stringValue" | "boolValue" | "string_value" | "bool_value":
            return inner
        case "intValue" | "int_value":
            return _integer(inner)
        case "doubleValue" | "double_value":
            return _double(inner)
        case "bytesValue" | "bytes_value":
            return _binary(inner)
        case "arrayValue" | "array_value":
            return [plain_value(each, depth + 1) for each in as_list((as_mapping(inner) or {}).get("values"))]
        case "kvlistValue" | "kvlist_value":
            pairs = as_list((as_mapping(inner) or {}).get("values"))
            entries = [entry for entry in map(as_mapping, pairs) if entry is not None]
            return {str(entry.get("key", "")): plain_value(entry.get("value"), depth + 1) for entry in entries}
        case _:
            return value


def _integer(inner: object) -> Any:
    if isinstance(inner, str):
        try:
            return int(inner)
        except ValueError:
            return inner
    return inner


def _double(inner: object) -> Any:
    if isinstance(inner, str | int) and not isinstance(inner, bool):
        try:
            return float(inner)
        except (ValueError, OverflowError):
            return inner
    return inner


def _binary(inner: object) -> Any:
    if isinstance(inner, str):
        try:
            return b64decode(inner, validate=True)
        except (Error, ValueError):
            return inner
    return inner


def unpacked(value: object) -> Any:
    """JSON inside text as its value; anything else as it is. Only text that begins like an object or list is tried."""
    if isinstance(value, str) and value[:64].lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def number_of(value: object) -> float | None:
    """A finite number, from a number or its text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < 1e300 else None


def count_of(value: object) -> int | None:
    """A count of at least 0, or None."""
    number = number_of(value)
    return int(number) if number is not None and number >= 0 else None


def text_of(value: object) -> str:
    """Text as it is, bytes as far as they are UTF-8, None as nothing, everything else as JSON where possible."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError, TypeError):
        return f"({type(value).__name__})"
