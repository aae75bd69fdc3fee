"""Conversion of OTLP/JSON attribute values to plain values; a value in another form is refused."""

from __future__ import annotations

import math
from typing import Any, cast

LARGEST_TIME_NS = 2**63 - 1  # the year 2262; SQLite holds no more
_DEEPEST = 64  # a value of OTLP/protobuf cannot be nested deeper than 100 messages
_ODD_NUMBERS = {"NaN", "Infinity", "-Infinity"}


class MalformedTelemetryError(ValueError):
    """A document that is not OTLP."""


def members(value: object) -> dict[str, Any]:
    """Return `value` as an object."""
    if not isinstance(value, dict):
        raise MalformedTelemetryError(f"an object was expected, not {type(value).__name__}")
    return cast("dict[str, Any]", value)


def items(value: object) -> list[Any]:
    """Return `value` as an array; a missing one is empty."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise MalformedTelemetryError(f"an array was expected, not {type(value).__name__}")
    return cast("list[Any]", value)


def text(value: object) -> str:
    """Return `value` as text; a missing one is empty."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise MalformedTelemetryError(f"text was expected, not {type(value).__name__}")
    return storable(value)


def storable(value: str) -> str:
    """Return text that UTF-8 can encode: a lone surrogate, which JSON allows, becomes a question mark."""
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "replace").decode()
    return value


def integer(value: object) -> int:
    """Return a 64-bit integer, given as text or number; a missing value is 0."""
    if value is None:
        return 0
    if isinstance(value, str | int) and not isinstance(value, bool):
        try:
            number = int(value)
        except ValueError:
            raise MalformedTelemetryError(
                f"{value[:40]!r} is not an integer" if isinstance(value, str) else "no integer"
            ) from None
        if -(2**63) <= number < 2**64:
            return number
    raise MalformedTelemetryError("a number has more than 64 bits" if isinstance(value, int) else "no integer")


def attributes(pairs: object, depth: int = 0) -> dict[str, Any]:
    """Return a list of `{key, value}` as a mapping; the last of equal keys wins."""
    if not pairs:
        return {}
    values: dict[str, Any] = {}
    for pair in items(pairs):
        item = members(pair)
        values[text(item.get("key"))] = plain(item.get("value"), depth)
    return values


def plain(value: object, depth: int = 0) -> Any:
    """Convert an AnyValue. Bytes stay base64 text, and numbers that JSON cannot express stay text."""
    if value is None:
        return None
    if depth > _DEEPEST:
        raise MalformedTelemetryError(f"a value is nested more than {_DEEPEST} levels deep")
    for kind, inner in members(value).items():
        match kind:
            case "stringValue" | "bytesValue":
                return text(inner)
            case "intValue":
                return integer(inner)
            case "boolValue":
                if not isinstance(inner, bool):
                    raise MalformedTelemetryError("a boolValue must be true or false")
                return inner
            case "doubleValue":
                return double(inner)
            case "arrayValue":
                return [plain(item, depth + 1) for item in items(members(inner).get("values"))]
            case "kvlistValue":
                return attributes(members(inner).get("values"), depth + 1)
            case _:
                continue  # a form of a later OTLP
    return None


def double(value: object) -> float | str:
    """Return a 64-bit float; NaN and infinities stay text, as in OTLP/JSON."""
    if isinstance(value, str):
        if value in _ODD_NUMBERS:
            return value
        try:
            value = float(value)
        except ValueError:
            raise MalformedTelemetryError(f"{value[:40]!r} is not a number") from None
    if isinstance(value, float) and not math.isfinite(value):  # Python's JSON reads NaN and 1e999
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, int | float) and not isinstance(value, bool):
        if isinstance(value, int) and abs(value) >= 2**64:
            raise MalformedTelemetryError("a number has more than 64 bits")
        return value
    raise MalformedTelemetryError(f"a {type(value).__name__} is not a number")


def moment(value: object) -> int:
    """Return a time in Unix nanoseconds, within the range that can be stored."""
    time_ns = integer(value)
    if not 0 <= time_ns <= LARGEST_TIME_NS:
        raise MalformedTelemetryError(f"{time_ns} is not a time in Unix nanoseconds")
    return time_ns
