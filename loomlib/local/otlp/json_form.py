"""OTLP/JSON decoded: ids in hex or base64, 64-bit integers as text or numbers, enumerations by name or number."""

from __future__ import annotations

import json
from typing import Any

from .documents import SPAN_KINDS, STATUS_CODES, Decoded, Group, Signal
from .identifiers import SPAN_ID_BYTES, TRACE_ID_BYTES, hex_id
from .json_points import metric
from .json_values import MalformedTelemetryError, attributes, integer, items, members, moment, plain, text

_NAMES = {
    "traces": ("resourceSpans", "scopeSpans", "spans"),
    "logs": ("resourceLogs", "scopeLogs", "logRecords"),
    "metrics": ("resourceMetrics", "scopeMetrics", "metrics"),
}


def decode_json(body: bytes, signal: Signal) -> Decoded:
    """Decode the records of an export request; invalid records are rejected individually.

    Raises:
        MalformedTelemetryError: The body is not an export request.
    """
    try:
        document = members(json.loads(body))
    except (ValueError, RecursionError) as error:
        raise MalformedTelemetryError(f"the body is not a JSON object: {error}") from error
    resources, scopes, records = _NAMES[signal]
    read = {"traces": _span, "logs": _log_record, "metrics": metric}[signal]
    groups: list[Group] = []
    refused: list[str] = []
    for of_resource in map(members, items(document.get(resources))):
        resource = attributes(members(of_resource.get("resource") or {}).get("attributes"))
        for of_scope in map(members, items(of_resource.get(scopes))):
            decoded: list[dict[str, Any]] = []
            for item in items(of_scope.get(records)):
                try:
                    decoded.append(read(members(item)))
                except Exception as error:  # noqa: BLE001 - one sender's record must not cost the others
                    refused.append(str(error) or type(error).__name__)
            groups.append(Group(resource, _scope(of_scope.get("scope")), decoded))
    return Decoded(groups, refused)


def _scope(value: object) -> dict[str, Any]:
    scope = members(value or {})
    form: dict[str, Any] = {"name": text(scope.get("name"))}
    if scope.get("version"):
        form["version"] = text(scope["version"])
    if scope.get("attributes"):
        form["attributes"] = attributes(scope["attributes"])
    return form


def _span(span: dict[str, Any]) -> dict[str, Any]:
    trace_id, span_id = hex_id(span.get("traceId"), TRACE_ID_BYTES), hex_id(span.get("spanId"), SPAN_ID_BYTES)
    if trace_id is None or span_id is None:
        raise MalformedTelemetryError(f"the span {text(span.get('name'))[:80]!r} has no valid trace and span id")
    start_ns, end_ns = moment(span.get("startTimeUnixNano")), moment(span.get("endTimeUnixNano"))
    record: dict[str, Any] = {"traceId": trace_id, "spanId": span_id}
    if parent := span.get("parentSpanId"):
        # An invalid parent id is kept: a reader should see that the parent is unknown, not mistake the span for a root.
        record["parentSpanId"] = hex_id(parent, SPAN_ID_BYTES) or text(parent)
    if "flags" in span:
        record["flags"] = integer(span["flags"])
    if span.get("traceState"):
        record["traceState"] = text(span["traceState"])
    record |= {
        "name": text(span.get("name")),
        "kind": _enumerated(span.get("kind"), SPAN_KINDS, "SPAN_KIND_"),
        "startTimeUnixNano": start_ns,
        "endTimeUnixNano": end_ns,
        "durationNano": end_ns - start_ns,
        "attributes": attributes(span.get("attributes")),
    }
    if events := items(span.get("events")):
        record["events"] = [_event(members(event)) for event in events]
    if links := items(span.get("links")):
        record["links"] = [_link(members(link)) for link in links]
    status = members(span.get("status") or {})
    record["status"] = {"code": _enumerated(status.get("code"), STATUS_CODES, "STATUS_CODE_")}
    if status.get("message"):
        record["status"]["message"] = text(status["message"])
    for name in ("droppedAttributesCount", "droppedEventsCount", "droppedLinksCount"):
        if span.get(name):
            record[name] = integer(span[name])
    return record


def _event(event: dict[str, Any]) -> dict[str, Any]:
    return {
        "timeUnixNano": moment(event.get("timeUnixNano")),
        "name": text(event.get("name")),
        "attributes": attributes(event.get("attributes")),
    }


def _link(link: dict[str, Any]) -> dict[str, Any]:
    return {
        "traceId": hex_id(link.get("traceId"), TRACE_ID_BYTES) or "",
        "spanId": hex_id(link.get("spanId"), SPAN_ID_BYTES) or "",
        "attributes": attributes(link.get("attributes")),
    }


def _log_record(raw_record: dict[str, Any]) -> dict[str, Any]:
    record: dict[str, Any] = {
        "timeUnixNano": moment(raw_record.get("timeUnixNano")),
        "observedTimeUnixNano": moment(raw_record.get("observedTimeUnixNano")),
        "severityNumber": _severity(raw_record.get("severityNumber")),
        "severityText": text(raw_record.get("severityText")),
        "body": plain(raw_record.get("body")),
        "attributes": attributes(raw_record.get("attributes")),
    }
    if "flags" in raw_record:
        record["flags"] = integer(raw_record["flags"])
    if event_name := text(raw_record.get("eventName")):
        record["eventName"] = event_name
        record["attributes"].setdefault("event.name", event_name)
    record["traceId"] = hex_id(raw_record.get("traceId"), TRACE_ID_BYTES) or ""
    record["spanId"] = hex_id(raw_record.get("spanId"), SPAN_ID_BYTES) or ""
    return record


def _severity(value: object) -> int:
    if isinstance(value, str) and value.startswith("SEVERITY_NUMBER_"):
        name = value.removeprefix("SEVERITY_NUMBER_")
        base, level = (name[:-1], int(name[-1])) if name[-1:] in "234" else (name, 1)
        bases = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
        return bases.index(base) * 4 + level if base in bases else 0
    return integer(value)


def _enumerated(value: object, names: tuple[str, ...], prefix: str) -> str:
    if isinstance(value, str) and not value.isdecimal():
        name = value.removeprefix(prefix)
        if name in names:
            return name
        raise MalformedTelemetryError(f"{value[:40]!r} is unknown")
    number = integer(value)
    return names[number] if 0 <= number < len(names) else names[0]
