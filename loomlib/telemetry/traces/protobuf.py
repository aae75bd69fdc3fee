"""An OTLP export in protobuf, decoded into the mapping that its JSON form would be.

Attributes are plain mappings already; `any_values.attributes_of` takes both forms. Importing opentelemetry-proto costs
about 50 ms, so it is imported when the first protobuf export is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from google.protobuf.message import DecodeError, Message

if TYPE_CHECKING:
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
    from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs
    from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span

_Request = TypeVar("_Request", bound=Message)


class NotProtobufError(ValueError):
    """The bytes are not an OTLP export request of spans or log records."""


def decode_export(data: bytes) -> dict[str, Any]:
    """Decode the spans or log records of an export request.

    Requests of spans and of log records have the same outer form, and protobuf skips fields of another type. So it is a
    request of spans when every span in it has its ids.

    Raises:
        NotProtobufError: The bytes are neither.
    """
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    traces = _parsed(ExportTraceServiceRequest(), data)
    if traces is not None and (spans := [_resource_spans(group) for group in traces.resource_spans]) and all(spans):
        return {"resourceSpans": spans}
    logs = _parsed(ExportLogsServiceRequest(), data)
    if logs is not None and (records := [_resource_logs(group) for group in logs.resource_logs]) and all(records):
        return {"resourceLogs": records}
    raise NotProtobufError("not an OTLP export of spans or log records")


def _parsed(request: _Request, data: bytes) -> _Request | None:
    try:
        request.ParseFromString(data)
    except DecodeError:
        return None
    return request


def _resource_spans(group: ResourceSpans) -> dict[str, Any] | None:
    scopes: list[dict[str, Any]] = []
    for scope in group.scope_spans:
        if any(len(span.trace_id) != 16 or len(span.span_id) != 8 for span in scope.spans):
            return None
        scopes.append({"scope": {"name": scope.scope.name}, "spans": [_span(span) for span in scope.spans]})
    return {"resource": {"attributes": _attributes(group.resource.attributes)}, "scopeSpans": scopes}


def _resource_logs(group: ResourceLogs) -> dict[str, Any] | None:
    scopes: list[dict[str, Any]] = []
    for scope in group.scope_logs:
        if any(
            len(log_record.trace_id) not in (0, 16) or len(log_record.span_id) not in (0, 8)
            for log_record in scope.log_records
        ):
            return None
        records = [_log_record(record) for record in scope.log_records]
        scopes.append({"scope": {"name": scope.scope.name}, "logRecords": records})
    return {"resource": {"attributes": _attributes(group.resource.attributes)}, "scopeLogs": scopes}


def _span(span: Span) -> dict[str, Any]:
    return {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "parentSpanId": span.parent_span_id,
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": span.start_time_unix_nano,
        "endTimeUnixNano": span.end_time_unix_nano,
        "attributes": _attributes(span.attributes),
        "events": [
            {"timeUnixNano": event.time_unix_nano, "name": event.name, "attributes": _attributes(event.attributes)}
            for event in span.events
        ],
        "status": {"code": span.status.code, "message": span.status.message},
    }


def _log_record(record: LogRecord) -> dict[str, Any]:
    return {
        "traceId": record.trace_id,
        "spanId": record.span_id,
        "timeUnixNano": record.time_unix_nano,
        "observedTimeUnixNano": record.observed_time_unix_nano,
        "severityText": record.severity_text,
        "eventName": record.event_name,
        "body": _plain(record.body),
        "attributes": _attributes(record.attributes),
    }


def _attributes(pairs: Iterable[KeyValue]) -> dict[str, Any]:
    return {pair.key: _plain(pair.value) for pair in pairs}


def _plain(value: AnyValue) -> Any:
    match kind := value.WhichOneof("value"):
        case None:
            return None
        case "array_value":
            return [_plain(item) for item in value.array_value.values]
        case "kvlist_value":
            return _attributes(value.kvlist_value.values)
        case _:
            return getattr(value, kind)
