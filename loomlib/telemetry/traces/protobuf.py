"""An OTLP export in protobuf as the mapping that its JSON form would be, without a protobuf library.

Only the wire format of protobuf and the numbers of the fields that Loom reads are needed (opentelemetry-proto 1.x,
`trace.proto`, `logs.proto`, `common.proto`). Unknown fields are skipped, as protobuf demands.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

_DEEPEST = 64


class NotProtobuf(ValueError):
    """Bytes that are no message of the expected type."""


def decode_export(data: bytes) -> dict[str, Any]:
    """The spans or log records of an export request. Raises `NotProtobuf`.

    Requests of traces and logs look alike from outside (field 1 holds resources); what is inside tells them apart.
    """
    outer = [value for number, value in _fields(data) if number == 1 and isinstance(value, bytes)]
    if not outer:
        raise NotProtobuf("no resource inside")
    spans, logs = _try(outer, _resource_spans), _try(outer, _resource_logs)
    if spans is not None:
        return {"resourceSpans": spans}
    if logs is not None:
        return {"resourceLogs": logs}
    raise NotProtobuf("neither spans nor log records inside")


def _try(outer: list[bytes], decode: Callable[[bytes], dict[str, Any]]) -> list[dict[str, Any]] | None:
    try:
        return [decode(each) for each in outer]
    except (NotProtobuf, UnicodeDecodeError):
        return None


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of each field: varints and fixed numbers as integers, the rest as bytes."""
    place, end = 0, len(data)
    while place < end:
        tag, place = _varint(data, place)
        number, wire = tag >> 3, tag & 7
        if number == 0:
            raise NotProtobuf("field number 0")
        if wire == 0:
            value, place = _varint(data, place)
            yield number, value
            continue
        if wire == 2:
            size, place = _varint(data, place)
        elif wire == 1:
            size = 8
        elif wire == 5:
            size = 4
        else:
            raise NotProtobuf(f"wire type {wire}")
        if place + size > end:
            raise NotProtobuf("cut off")
        piece = data[place : place + size]
        place += size
        yield number, piece if wire == 2 else int.from_bytes(piece, "little")


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if place >= len(data) or shift > 63:
            raise NotProtobuf("a number without end")
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, bytes):
        return value
    raise NotProtobuf("a number where a message is due")


def _text(value: int | bytes) -> str:
    return _bytes(value).decode()


def _resource(data: bytes) -> dict[str, Any]:
    return {"attributes": [_key_value(_bytes(value)) for number, value in _fields(data) if number == 1]}


def _scope(data: bytes) -> dict[str, Any]:
    return {"name": next((_text(value) for number, value in _fields(data) if number == 1), "")}


def _key_value(data: bytes, depth: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = {"key": "", "value": {}}
    for number, value in _fields(data):
        if number == 1:
            found["key"] = _text(value)
        elif number == 2:
            found["value"] = _any_value(_bytes(value), depth)
    return found


def _any_value(data: bytes, depth: int = 0) -> dict[str, Any]:
    if depth > _DEEPEST:
        raise NotProtobuf("nested too deeply")
    for number, value in _fields(data):
        match number:
            case 1:
                return {"stringValue": _bytes(value).decode("utf-8", "replace")}
            case 2:
                return {"boolValue": bool(value)}
            case 3 if isinstance(value, int):
                return {"intValue": value - (1 << 64) if value >= 1 << 63 else value}
            case 4 if isinstance(value, int):
                return {"doubleValue": struct.unpack("<d", value.to_bytes(8, "little"))[0]}
            case 5:
                inner = [_any_value(_bytes(each), depth + 1) for place, each in _fields(_bytes(value)) if place == 1]
                return {"arrayValue": {"values": inner}}
            case 6:
                pairs = [_key_value(_bytes(each), depth + 1) for place, each in _fields(_bytes(value)) if place == 1]
                return {"kvlistValue": {"values": pairs}}
            case 7:
                return {"bytesValue": _bytes(value)}
            case _:
                continue
    return {}


def _resource_spans(data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {"resource": {}, "scopeSpans": []}
    for number, value in _fields(data):
        if number == 1:
            found["resource"] = _resource(_bytes(value))
        elif number == 2:
            found["scopeSpans"].append(_scoped(_bytes(value), "spans", _span))
    return found


def _resource_logs(data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {"resource": {}, "scopeLogs": []}
    for number, value in _fields(data):
        if number == 1:
            found["resource"] = _resource(_bytes(value))
        elif number == 2:
            found["scopeLogs"].append(_scoped(_bytes(value), "logRecords", _log_record))
    return found


def _scoped(data: bytes, name: str, decode: Callable[[bytes], dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {"scope": {}, name: []}
    for number, value in _fields(data):
        if number == 1:
            found["scope"] = _scope(_bytes(value))
        elif number == 2:
            found[name].append(decode(_bytes(value)))
    return found


def _id(value: int | bytes, size: int) -> bytes:
    data = _bytes(value)
    if len(data) not in (0, size):
        raise NotProtobuf(f"an id of {len(data)} bytes")
    return data


def _span(data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {"attributes": [], "events": []}
    for number, value in _fields(data):
        match number:
            case 1:
                found["traceId"] = _id(value, 16)
            case 2:
                found["spanId"] = _id(value, 8)
            case 4:
                found["parentSpanId"] = _id(value, 8)
            case 5:
                found["name"] = _text(value)
            case 6:
                found["kind"] = value
            case 7:
                found["startTimeUnixNano"] = value
            case 8:
                found["endTimeUnixNano"] = value
            case 9:
                found["attributes"].append(_key_value(_bytes(value)))
            case 11:
                found["events"].append(_event(_bytes(value)))
            case 15:
                found["status"] = _status(_bytes(value))
            case _:
                continue
    if "traceId" not in found or "spanId" not in found:
        raise NotProtobuf("a span without ids")
    return found


def _event(data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {"attributes": []}
    for number, value in _fields(data):
        if number == 1:
            found["timeUnixNano"] = value
        elif number == 2:
            found["name"] = _text(value)
        elif number == 3:
            found["attributes"].append(_key_value(_bytes(value)))
    return found


def _status(data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number, value in _fields(data):
        if number == 2:
            found["message"] = _text(value)
        elif number == 3:
            found["code"] = value
    return found


def _log_record(data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {"attributes": []}
    for number, value in _fields(data):
        match number:
            case 1:
                found["timeUnixNano"] = value
            case 11:
                found["observedTimeUnixNano"] = value
            case 3:
                found["severityText"] = _text(value)
            case 5:
                found["body"] = _any_value(_bytes(value))
            case 6:
                found["attributes"].append(_key_value(_bytes(value)))
            case 9:
                found["traceId"] = _id(value, 16)
            case 10:
                found["spanId"] = _id(value, 8)
            case 12:
                found["eventName"] = _text(value)
            case _:
                continue
    return found
