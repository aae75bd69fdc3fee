"""OTLP attribute values (`AnyValue`) as Python values; malformed values do not raise errors."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error
from collections.abc import Mapping
from typing import Any, cast

from loomlib.json_values import as_list, as_mapping, mapping_or_none

_MAX_DEPTH = 64
TOO_DEEP = "(nested too deeply)"


def attributes_of(pairs: object) -> Mapping[str, Any]:
    """Return attributes as a mapping; OTLP's list is converted, a mapping is returned unchanged."""
    if isinstance(pairs, list):
        attributes: dict[str, Any] = {}
        try:
            for pair in cast("list[Any]", pairs):
                value = pair["value"]
                text = value.get("stringValue")
                attributes[pair["key"]] = text if text is not None else plain_value(value)
        except (KeyError, TypeError, AttributeError):
            return _lenient(cast("list[Any]", pairs))
        return attributes
    return as_mapping(pairs)


def _lenient(pairs: list[Any]) -> dict[str, Any]:
    """Read the well-formed entries of a list."""
    attributes: dict[str, Any] = {}
    for pair in pairs:
        entry = mapping_or_none(pair)
        if entry is not None and "key" in entry:
            attributes[str(entry["key"])] = plain_value(entry.get("value"))
    return attributes


def plain_value(value: object, depth: int = 0) -> Any:
    """Return the Python value of an OTLP AnyValue; bytes stay bytes, other values are returned unchanged."""
    wrapped = mapping_or_none(value)
    if wrapped is None or len(wrapped) != 1:
        return value if wrapped is None or wrapped else None
    if depth >= _MAX_DEPTH:
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
            return [plain_value(item, depth + 1) for item in as_list(as_mapping(inner).get("values"))]
        case "kvlistValue" | "kvlist_value":
            pairs = as_list(as_mapping(inner).get("values"))
            entries = [entry for entry in map(mapping_or_none, pairs) if entry is not None]
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
