"""An OTLP export in protobuf's wire format, written from the same JSON that the reader understands."""

from __future__ import annotations

import struct
from typing import Any


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def fixed64(number: int, value: int) -> bytes:
    return varint(number << 3 | 1) + value.to_bytes(8, "little")


def number(place: int, value: int) -> bytes:
    return varint(place << 3) + varint(value)


def any_value(value: Any) -> bytes:
    if isinstance(value, bool):
        return number(2, value)
    if isinstance(value, int):
        return number(3, value)
    if isinstance(value, float):
        return varint(4 << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, bytes):
        return field(7, value)
    if isinstance(value, list):
        return field(5, b"".join(field(1, any_value(item)) for item in value))
    if isinstance(value, dict):
        return field(6, b"".join(field(1, pair(key, item)) for key, item in value.items()))
    return field(1, value)


def pair(key: str, value: Any) -> bytes:
    return field(1, key) + field(2, any_value(value))


def span(each: Any) -> bytes:
    """A `Span` as the message `opentelemetry.proto.trace.v1.Span`."""
    parts = [
        field(1, bytes.fromhex(each.trace_id)),
        field(2, bytes.fromhex(each.span_id)),
        field(4, bytes.fromhex(each.parent_id)) if each.parent_id else b"",
        field(5, each.name),
        number(6, {"internal": 1, "server": 2, "client": 3}[each.kind]),
        fixed64(7, each.start_ns),
        fixed64(8, each.end_ns),
        *(field(9, pair(key, value)) for key, value in each.attributes.items()),
        *(
            field(
                11,
                fixed64(1, event.time_ns)
                + field(2, event.name)
                + b"".join(field(3, pair(key, value)) for key, value in event.attributes.items()),
            )
            for event in each.events
        ),
        field(15, field(2, each.status_message) + number(3, {"unset": 0, "ok": 1, "error": 2}[each.status])),
        fixed64(16, 7),  # flags (fixed32 in the standard): a field that the reader does not know
    ]
    return b"".join(parts)


def traces(spans: list[Any]) -> bytes:
    scope = field(1, field(1, "strands")) + b"".join(field(2, span(record)) for record in spans)
    return field(1, field(1, field(1, pair("service.name", "demo"))) + field(2, scope))


def logs(trace_id: str, span_id: str, body: Any) -> bytes:
    record = fixed64(1, 1_795_293_700_000_000_000) + number(2, 9) + field(5, any_value(body))
    record += field(9, bytes.fromhex(trace_id)) + field(10, bytes.fromhex(span_id)) + field(12, "gen_ai.choice")
    return field(1, field(1, b"") + field(2, field(1, field(1, "strands")) + field(2, record)))
