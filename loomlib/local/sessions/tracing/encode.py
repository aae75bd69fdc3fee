"""Finished spans as OTLP/JSON (opentelemetry-proto, `trace/v1/trace.proto`): hex ids, 64-bit integers as strings."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import Link, SpanContext

VALUE_LIMIT = 1_048_576
"""Maximum length of one attribute value: characters of a text, bytes of a binary. CloudWatch Logs events hold 1 MB."""

CUT_ATTRIBUTE = "loom.cut"
"""The span attribute that lists the values longer than `VALUE_LIMIT`, each as `name=original length`."""

BODY_LIMIT_BYTES = 4_194_304
"""A request is closed once it is this long; one span alone may be longer."""

_INT64 = 2**63
_Text = TypeVar("_Text", str, bytes)


def request_bodies(spans: Sequence[ReadableSpan]) -> Iterator[tuple[bytes, int]]:
    """Encode spans as ExportTraceServiceRequests; yield each with the number of its spans."""
    groups: dict[tuple[int, int], list[bytes]] = {}
    heads: dict[tuple[int, int], tuple[bytes, bytes]] = {}
    size = count = 0
    for span in spans:
        key = id(span.resource), id(span.instrumentation_scope)
        if key not in groups:
            groups[key], heads[key] = [], _heads(span)
        encoded = _bytes_of(_span(span))
        groups[key].append(encoded)
        size, count = size + len(encoded), count + 1
        if size >= BODY_LIMIT_BYTES:
            yield _request(groups, heads), count
            groups, heads, size, count = {}, {}, 0, 0
    if count:
        yield _request(groups, heads), count


def encoded_attributes(attributes: Mapping[str, object]) -> list[dict[str, object]]:
    """Encode attributes as OTLP/JSON, truncating long values."""
    return _attributes(attributes, [])


def _request(
    groups: Mapping[tuple[int, int], list[bytes]], heads: Mapping[tuple[int, int], tuple[bytes, bytes]]
) -> bytes:
    parts = [
        b'{"resource":%b,"scopeSpans":[{"scope":%b,"spans":[%b]}]}' % (*heads[key], b",".join(spans))
        for key, spans in groups.items()
    ]
    return b'{"resourceSpans":[%b]}' % b",".join(parts)


def _heads(span: ReadableSpan) -> tuple[bytes, bytes]:
    cut: list[str] = []
    scope = span.instrumentation_scope
    scope_fields: dict[str, object] = {"name": scope.name if scope is not None else ""}
    if scope is not None and scope.version:
        scope_fields["version"] = scope.version
    return _bytes_of({"attributes": _attributes(span.resource.attributes, cut)}), _bytes_of(scope_fields)


def _bytes_of(document: Mapping[str, object]) -> bytes:
    # A lone surrogate, such as os.fsdecode makes of a file's odd name, has no UTF-8: it becomes a question mark.
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _span(span: ReadableSpan) -> dict[str, object]:
    cut: list[str] = []
    encoded = _ids(span.context)
    if span.parent is not None:
        encoded["parentSpanId"] = f"{span.parent.span_id:016x}"
        # Bits 8 and 9 of `flags`: whether it is known, and true, that the parent lives in another process.
        encoded["flags"] = (span.context.trace_flags & 0xFF if span.context else 0) | 0x100
        if span.parent.is_remote:
            encoded["flags"] |= 0x200
    encoded |= {
        "name": span.name,
        "kind": span.kind.value + 1,
        "startTimeUnixNano": str(span.start_time or 0),
        "endTimeUnixNano": str(span.end_time or 0),
        "status": {"code": span.status.status_code.value, "message": span.status.description or ""},
    }
    attributes = _attributes(span.attributes, cut)
    encoded["events"] = [
        {"name": event.name, "timeUnixNano": str(event.timestamp), "attributes": _attributes(event.attributes, cut)}
        for event in span.events
    ]
    if span.links:
        encoded["links"] = [_link(link, cut) for link in span.links]
    if cut:
        attributes.append({"key": CUT_ATTRIBUTE, "value": _value(cut, CUT_ATTRIBUTE, [])})
    encoded["attributes"] = attributes
    encoded["droppedAttributesCount"] = span.dropped_attributes
    encoded["droppedEventsCount"] = span.dropped_events
    return encoded


def _ids(context: SpanContext | None) -> dict[str, object]:
    if context is None:
        return {}
    ids: dict[str, object] = {"traceId": f"{context.trace_id:032x}", "spanId": f"{context.span_id:016x}"}
    if context.trace_state:
        ids["traceState"] = context.trace_state.to_header()
    return ids


def _link(link: Link, cut: list[str]) -> dict[str, object]:
    return {**_ids(link.context), "attributes": _attributes(link.attributes, cut)}


def _attributes(attributes: Mapping[str, object] | None, cut: list[str]) -> list[dict[str, object]]:
    return [{"key": str(name), "value": _value(value, str(name), cut)} for name, value in (attributes or {}).items()]


def _value(value: object, name: str, cut: list[str]) -> dict[str, object]:
    """Encode an AnyValue.

    A value over the limit is cut, and its name is added to `cut`.
    """
    match value:
        case str():
            return {"stringValue": _within(value, name, cut)}
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)} if -_INT64 <= value < _INT64 else {"stringValue": str(value)}
        case float():
            return {"doubleValue": value if math.isfinite(value) else _NOT_FINITE.get(value, "NaN")}
        case bytes() | bytearray():
            return {"bytesValue": base64.b64encode(_within(bytes(value), name, cut)).decode()}
        case Mapping():
            return {"kvlistValue": {"values": _attributes(value, cut)}}  # pyright: ignore[reportUnknownArgumentType]
        case Sequence():
            items: Sequence[object] = value  # pyright: ignore[reportUnknownVariableType]
            return {"arrayValue": {"values": [_value(item, name, cut) for item in items]}}
        case None:
            return {}
        case _:
            return {"stringValue": _within(str(value), name, cut)}


_NOT_FINITE = {math.inf: "Infinity", -math.inf: "-Infinity"}


def _within(value: _Text, name: str, cut: list[str]) -> _Text:
    if len(value) <= VALUE_LIMIT:
        return value
    cut.append(f"{name}={len(value)}")
    return value[:VALUE_LIMIT]
