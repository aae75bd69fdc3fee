"""One span or log record out of one mapping or object, for each form in which they are stored or handed over.

OTLP JSON and the records of `aws/spans` share their field names (`traceId`, `startTimeUnixNano`, …); the SDK's own
`to_json` has `context` and ISO times; Strands' in-memory exporter hands over live `ReadableSpan` objects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .identifiers import normal_id
from .moments import LAST_NS as _LAST_NS
from .moments import unix_ns
from .shared import Shared
from .span import CUT_MARKS, EMPTY, LogRecord, Span, SpanEvent
from .values import as_list, as_mapping, attributes_of, plain_value

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
_SERVICE_CUT, _EXPORTER_CUT = CUT_MARKS


def _kind(value: object) -> str:
    known = _KINDS.get(value) if type(value) is str or type(value) is int else None
    if known is not None:
        return known
    text = str(getattr(value, "name", value)).rpartition(".")[2].removeprefix("SPAN_KIND_").lower()
    return text if text in ("server", "client", "producer", "consumer") else "internal"


def _status(value: object) -> str:
    known = _STATUSES.get(value) if type(value) is str or type(value) is int else None
    if known is not None:
        return known
    text = str(getattr(value, "name", value)).rpartition(".")[2].removeprefix("STATUS_CODE_").lower()
    return text if text in ("ok", "error") else "unset"


def _times(start: object, end: object) -> tuple[int, int, frozenset[str]]:
    """Start and end, and how sure they are; a missing one takes the other's place, so that nothing is made up."""
    begun, done = unix_ns(start), unix_ns(end)
    if begun is not None and done is not None:
        return begun, done, _NO_MARKS
    if begun is not None:
        return begun, begun, frozenset({"unfinished"})
    if done is not None:
        return done, done, frozenset({"untimed"})
    return 0, 0, frozenset({"untimed"})


def otlp_span(
    raw: Mapping[str, Any],
    resource: Mapping[str, Any] = EMPTY,
    scope: str = "",
    attributes: Callable[[object], Mapping[str, Any]] = attributes_of,
) -> Span:
    """A span of OTLP JSON or of `aws/spans`; `resource` and `scope` are those around it (OTLP)."""
    get = raw.get
    start, end = get("startTimeUnixNano"), get("endTimeUnixNano")
    marks = _NO_MARKS
    if not (type(start) is int and type(end) is int and 0 < start <= end < _LAST_NS):  # they are, in `aws/spans`
        start, end, marks = _times(start or get("start_time_unix_nano"), end or get("end_time_unix_nano"))
    stated = get("status")
    status = EMPTY if not stated else as_mapping(stated) or {"code": stated}
    code, message = status.get("code"), status.get("message")
    events, kind = get("events"), get("kind")
    found = attributes(get("attributes"))
    return Span(
        trace_id=normal_id(get("traceId") or get("trace_id")),
        span_id=normal_id(get("spanId") or get("span_id")),
        parent_id=normal_id(get("parentSpanId") or get("parent_span_id")) or None,
        name=str(get("name") or ""),
        kind=_KINDS.get(kind) or _kind(kind) if type(kind) is str else _kind(kind),
        start_ns=start,
        end_ns=end,
        attributes=found,
        events=_events(events) if events else (),
        status=_status(code) if code else "unset",
        status_message=str(message) if message else "",
        resource=resource,
        scope=scope,
        marks=marks if _SERVICE_CUT not in found and _EXPORTER_CUT not in found else marks | {"values_cut"},
    )


def _events(raw: object) -> tuple[SpanEvent, ...]:
    events = [event for event in map(as_mapping, as_list(raw)) if event is not None]
    return tuple(
        SpanEvent(
            name=str(event.get("name") or ""),
            time_ns=unix_ns(event.get("timeUnixNano") or event.get("time_unix_nano") or event.get("timestamp")) or 0,
            attributes=attributes_of(event.get("attributes")),
        )
        for event in events
    )


def stored_span(raw: Mapping[str, Any], shared: Shared) -> Span:
    """A record of `aws/spans`: resource and scope are inside the record itself, the same ones in each."""
    resource = as_mapping(raw.get("resource")) or EMPTY
    scope = as_mapping(raw.get("scope") or raw.get("instrumentationScope")) or EMPTY
    found = attributes_of(resource.get("attributes"))
    return otlp_span(raw, shared.resource(found), shared.text(str(scope.get("name") or "")), shared.attributes)


def sdk_span(raw: Mapping[str, Any]) -> Span:
    """A span as `ReadableSpan.to_json` writes it."""
    context = as_mapping(raw.get("context")) or EMPTY
    start, end, marks = _times(raw.get("start_time"), raw.get("end_time"))
    status = as_mapping(raw.get("status")) or EMPTY
    resource = as_mapping(raw.get("resource")) or EMPTY
    scope = as_mapping(raw.get("instrumentation_scope") or raw.get("scope")) or EMPTY
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
    """A finished `ReadableSpan` of the OpenTelemetry SDK (read by its attributes; the SDK is not imported)."""
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
    """A log record of OTLP JSON, of `otel-rt-logs`, or as the SDK's `to_json` writes it."""
    get = raw.get
    if resource is None:
        resource = attributes_of((as_mapping(get("resource")) or EMPTY).get("attributes"))
        scope = str((as_mapping(get("scope")) or EMPTY).get("name") or "")
    attributes = attributes_of(get("attributes"))
    times = ("timeUnixNano", "time_unix_nano", "timestamp", "observedTimeUnixNano", "observed_timestamp")
    return LogRecord(
        trace_id=normal_id(get("traceId") or get("trace_id")),
        span_id=normal_id(get("spanId") or get("span_id")),
        time_ns=next((found for name in times if (found := unix_ns(get(name))) is not None), 0),
        body=plain_value(get("body")),
        event_name=str(get("eventName") or get("event_name") or attributes.get("event.name") or ""),
        attributes=attributes,
        resource=resource,
        scope=scope,
        severity=str(get("severityText") or get("severity_text") or ""),
    )
