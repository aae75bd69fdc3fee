"""Decode one span or log record, for each form in which they are stored or exported.

OTLP JSON and the records of `aws/spans` share their field names (`traceId`, `startTimeUnixNano`, …); the SDK's own
`to_json` has `context` and ISO times; Strands' in-memory exporter returns live `ReadableSpan` objects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from loomlib.json_values import as_list, as_mapping, mapping_or_none

from .any_values import attributes_of, plain_value
from .identifiers import normal_id
from .interning import InternPool
from .span import EMPTY, TRUNCATION_ATTRIBUTES, LogRecord, Span, SpanEvent
from .timestamps import MAX_NS as _MAX_NS
from .timestamps import unix_ns

_KINDS: dict[object, str] = {
    0: "internal",
    1: "internal",
    2: "server",
    3: "client",
    4: "producer",
    5: "consumer",
    "SPAN_KIND_INTERNAL": "internal",
    "SPAN_KIND_SERVER": "server",
    "SPAN_KIND_CLIENT": "client",
    "INTERNAL": "internal",
    "SERVER": "server",
    "CLIENT": "client",
}
_STATUSES: dict[object, str] = {
    0: "unset",
    1: "ok",
    2: "error",
    "STATUS_CODE_UNSET": "unset",
    "STATUS_CODE_OK": "ok",
    "STATUS_CODE_ERROR": "error",
    "UNSET": "unset",
    "OK": "ok",
    "ERROR": "error",
}
_NO_MARKS: frozenset[str] = frozenset()
_SERVICE_CUT, _EXPORTER_CUT = TRUNCATION_ATTRIBUTES


def _kind(value: object) -> str:
    kind = _KINDS.get(value) if type(value) is str or type(value) is int else None
    if kind is not None:
        return kind
    text = str(getattr(value, "name", value)).rpartition(".")[2].removeprefix("SPAN_KIND_").lower()
    return text if text in ("server", "client", "producer", "consumer") else "internal"


def _status(value: object) -> str:
    status = _STATUSES.get(value) if type(value) is str or type(value) is int else None
    if status is not None:
        return status
    text = str(getattr(value, "name", value)).rpartition(".")[2].removeprefix("STATUS_CODE_").lower()
    return text if text in ("ok", "error") else "unset"


def _times(start: object, end: object) -> tuple[int, int, frozenset[str]]:
    """Return start, end and marks for missing ones; a missing time is replaced by the other."""
    start_ns, end_ns = unix_ns(start), unix_ns(end)
    if start_ns is not None and end_ns is not None:
        return start_ns, end_ns, _NO_MARKS
    if start_ns is not None:
        return start_ns, start_ns, frozenset({"unfinished"})
    if end_ns is not None:
        return end_ns, end_ns, frozenset({"untimed"})
    return 0, 0, frozenset({"untimed"})


def otlp_span(
    raw: Mapping[str, Any],
    resource: Mapping[str, Any] = EMPTY,
    scope: str = "",
    attributes: Callable[[object], Mapping[str, Any]] = attributes_of,
) -> Span:
    """Decode a span of OTLP JSON or of `aws/spans`.

    Args:
        raw: The span's fields.
        resource: The attributes of the resource around it (OTLP).
        scope: The name of the instrumentation scope around it (OTLP).
        attributes: How to decode its attributes.
    """
    get = raw.get
    start, end = get("startTimeUnixNano"), get("endTimeUnixNano")
    marks = _NO_MARKS
    if not (type(start) is int and type(end) is int and 0 < start <= end < _MAX_NS):  # they are, in `aws/spans`
        start, end, marks = _times(start or get("start_time_unix_nano"), end or get("end_time_unix_nano"))
    raw_status = get("status")
    status = EMPTY if not raw_status else mapping_or_none(raw_status) or {"code": raw_status}
    code, message = status.get("code"), status.get("message")
    events, kind = get("events"), get("kind")
    values = attributes(get("attributes"))
    return Span(
        trace_id=normal_id(get("traceId") or get("trace_id")),
        span_id=normal_id(get("spanId") or get("span_id")),
        parent_id=normal_id(get("parentSpanId") or get("parent_span_id")) or None,
        name=str(get("name") or ""),
        kind=_KINDS.get(kind) or _kind(kind) if type(kind) is str else _kind(kind),
        start_ns=start,
        end_ns=end,
        attributes=values,
        events=_events(events) if events else (),
        status=_status(code) if code else "unset",
        status_message=str(message) if message else "",
        resource=resource,
        scope=scope,
        marks=marks if _SERVICE_CUT not in values and _EXPORTER_CUT not in values else marks | {"values_cut"},
    )


def _events(raw: object) -> tuple[SpanEvent, ...]:
    events = [event for event in map(mapping_or_none, as_list(raw)) if event is not None]
    return tuple(
        SpanEvent(
            name=str(event.get("name") or ""),
            time_ns=unix_ns(event.get("timeUnixNano") or event.get("time_unix_nano") or event.get("timestamp")) or 0,
            attributes=attributes_of(event.get("attributes")),
        )
        for event in events
    )


def stored_span(raw: Mapping[str, Any], pool: InternPool) -> Span:
    """Decode a record of `aws/spans`, which includes its resource and scope."""
    resource = as_mapping(raw.get("resource"))
    scope = as_mapping(raw.get("scope") or raw.get("instrumentationScope"))
    attributes = attributes_of(resource.get("attributes"))
    return otlp_span(raw, pool.resource(attributes), pool.text(str(scope.get("name") or "")), pool.attributes)


def sdk_span(raw: Mapping[str, Any]) -> Span:
    """Decode a span as `ReadableSpan.to_json` writes it."""
    context = as_mapping(raw.get("context"))
    start, end, marks = _times(raw.get("start_time"), raw.get("end_time"))
    status = as_mapping(raw.get("status"))
    resource = as_mapping(raw.get("resource"))
    scope = as_mapping(raw.get("instrumentation_scope") or raw.get("scope"))
    return Span(
        trace_id=normal_id(context.get("trace_id")),
        span_id=normal_id(context.get("span_id")),
        parent_id=normal_id(raw.get("parent_id")) or None,
        name=str(raw.get("name") or ""),
        kind=_kind(raw.get("kind")),
        start_ns=start,
        end_ns=end,
        attributes=attributes_of(raw.get("attributes")),
        events=_events(raw.get("events")),
        status=_status(status.get("status_code")),
        status_message=str(status.get("description") or ""),
        resource=attributes_of(resource.get("attributes")),
        scope=str(scope.get("name") or ""),
        marks=marks,
    )


def live_span(span: Any) -> Span:
    """Decode a finished `ReadableSpan` of the OpenTelemetry SDK by its attributes, without importing the SDK."""
    context = getattr(span, "context", None)
    parent = getattr(span, "parent", None)
    start, end, marks = _times(getattr(span, "start_time", None), getattr(span, "end_time", None))
    status = getattr(span, "status", None)
    resource = getattr(span, "resource", None)
    scope = getattr(span, "instrumentation_scope", None)
    return Span(
        trace_id=f"{getattr(context, 'trace_id', 0):032x}",
        span_id=f"{getattr(context, 'span_id', 0):016x}",
        parent_id=None if parent is None else f"{getattr(parent, 'span_id', 0):016x}",
        name=str(getattr(span, "name", "")),
        kind=_kind(getattr(span, "kind", None)),
        start_ns=start,
        end_ns=end,
        attributes=dict(getattr(span, "attributes", None) or {}),
        events=tuple(
            SpanEvent(
                name=str(getattr(event, "name", "")),
                time_ns=unix_ns(getattr(event, "timestamp", None)) or 0,
                attributes=dict(getattr(event, "attributes", None) or {}),
            )
            for event in getattr(span, "events", ())
        ),
        status=_status(getattr(status, "status_code", None)),
        status_message=str(getattr(status, "description", None) or ""),
        resource=dict(getattr(resource, "attributes", None) or {}),
        scope=str(getattr(scope, "name", None) or ""),
        marks=marks,
    )


def log_record(raw: Mapping[str, Any], resource: Mapping[str, Any] | None = None, scope: str = "") -> LogRecord:
    """Decode a log record of OTLP JSON, of `otel-rt-logs`, or as the SDK's `to_json` writes it.

    Args:
        raw: The record's fields.
        resource: The attributes of the resource around it (OTLP); None where the record carries its own.
        scope: The name of the instrumentation scope around it.
    """
    get = raw.get
    if resource is None:
        resource = attributes_of(as_mapping(get("resource")).get("attributes"))
        scope = str(as_mapping(get("scope")).get("name") or "")
    attributes = attributes_of(get("attributes"))
    times = ("timeUnixNano", "time_unix_nano", "timestamp", "observedTimeUnixNano", "observed_timestamp")
    return LogRecord(
        trace_id=normal_id(get("traceId") or get("trace_id")),
        span_id=normal_id(get("spanId") or get("span_id")),
        time_ns=next((time_ns for name in times if (time_ns := unix_ns(get(name))) is not None), 0),
        body=plain_value(get("body")),
        event_name=str(get("eventName") or get("event_name") or attributes.get("event.name") or ""),
        attributes=attributes,
        resource=resource,
        scope=scope,
        severity=str(get("severityText") or get("severity_text") or ""),
    )
