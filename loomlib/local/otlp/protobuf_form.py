"""OTLP/protobuf decoded by Google's parser; a parser in Python costs several times as much per span."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable
from typing import Any, TypeVar

from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from .documents import SPAN_KINDS, STATUS_CODES, Decoded, Group, Signal
from .identifiers import SPAN_ID_BYTES, TRACE_ID_BYTES, bytes_id
from .json_values import LARGEST_TIME_NS, MalformedTelemetryError
from .points import TEMPORALITIES, bucket_middles, exponential_middles

_Request = TypeVar("_Request", bound=Message)


def decode_protobuf(body: bytes, signal: Signal) -> Decoded:
    """Decode the records of an export request; invalid records are rejected individually.

    Raises:
        MalformedTelemetryError: The body is not an export request.
    """
    groups: list[Group] = []
    refused: list[str] = []
    if signal == "traces":
        for of_resource in _parsed(ExportTraceServiceRequest(), body).resource_spans:
            resource = _attributes(of_resource.resource.attributes)
            for of_scope in of_resource.scope_spans:
                spans = _readable_items(_span, of_scope.spans, refused)
                groups.append(Group(resource, _scope(of_scope.scope), spans))
    elif signal == "logs":
        for of_resource in _parsed(ExportLogsServiceRequest(), body).resource_logs:
            resource = _attributes(of_resource.resource.attributes)
            for of_scope in of_resource.scope_logs:
                records = _readable_items(_log_record, of_scope.log_records, refused)
                groups.append(Group(resource, _scope(of_scope.scope), records))
    else:
        for of_resource in _parsed(ExportMetricsServiceRequest(), body).resource_metrics:
            resource = _attributes(of_resource.resource.attributes)
            for of_scope in of_resource.scope_metrics:
                metrics = _readable_items(_metric, of_scope.metrics, refused)
                groups.append(Group(resource, _scope(of_scope.scope), metrics))
    return Decoded(groups, refused)


def _parsed(message: _Request, body: bytes) -> _Request:
    try:
        message.ParseFromString(body)
    except DecodeError as error:
        raise MalformedTelemetryError(f"the body is not an {message.DESCRIPTOR.name}: {error}") from error
    return message


def _readable_items(read: Any, items: Iterable[Any], refused: list[str]) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    for item in items:
        try:
            records.append(read(item))
        except Exception as error:  # noqa: BLE001 - one sender's record must not cost the others
            refused.append(str(error) or type(error).__name__)
    return records


def _attributes(pairs: Iterable[KeyValue]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for pair in pairs:
        value = pair.value
        kind = value.WhichOneof("value")
        values[pair.key] = value.string_value if kind == "string_value" else _plain(value, kind)
    return values


def _plain(value: AnyValue, kind: str | None) -> Any:
    match kind:
        case "string_value" | "int_value" | "bool_value":
            return getattr(value, kind)
        case "double_value":
            return _double(value.double_value)
        case "bytes_value":
            return base64.b64encode(value.bytes_value).decode()
        case "array_value":
            return [_plain(item, item.WhichOneof("value")) for item in value.array_value.values]
        case "kvlist_value":
            return _attributes(value.kvlist_value.values)
        case _:
            return None


def _double(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _scope(scope: InstrumentationScope) -> dict[str, Any]:
    form: dict[str, Any] = {"name": scope.name}
    if scope.version:
        form["version"] = scope.version
    if scope.attributes:
        form["attributes"] = _attributes(scope.attributes)
    return form


def _span(span: Span) -> dict[str, Any]:
    trace_id, span_id = bytes_id(span.trace_id, TRACE_ID_BYTES), bytes_id(span.span_id, SPAN_ID_BYTES)
    if trace_id is None or span_id is None:
        raise MalformedTelemetryError(f"the span {span.name[:80]!r} has no valid trace and span id")
    start_ns, end_ns = _moment(span.start_time_unix_nano), _moment(span.end_time_unix_nano)
    record: dict[str, Any] = {"traceId": trace_id, "spanId": span_id}
    if span.parent_span_id:
        record["parentSpanId"] = span.parent_span_id.hex()
    if span.flags:
        record["flags"] = span.flags
    if span.trace_state:
        record["traceState"] = span.trace_state
    kind, code = span.kind, span.status.code
    record |= {
        "name": span.name,
        "kind": SPAN_KINDS[kind] if 0 <= kind < len(SPAN_KINDS) else SPAN_KINDS[0],
        "startTimeUnixNano": start_ns,
        "endTimeUnixNano": end_ns,
        "durationNano": end_ns - start_ns,
        "attributes": _attributes(span.attributes),
    }
    if span.events:
        record["events"] = [
            {
                "timeUnixNano": _moment(event.time_unix_nano),
                "name": event.name,
                "attributes": _attributes(event.attributes),
            }
            for event in span.events
        ]
    if span.links:
        record["links"] = [
            {
                "traceId": bytes_id(link.trace_id, TRACE_ID_BYTES) or "",
                "spanId": bytes_id(link.span_id, SPAN_ID_BYTES) or "",
                "attributes": _attributes(link.attributes),
            }
            for link in span.links
        ]
    record["status"] = {"code": STATUS_CODES[code] if 0 <= code < len(STATUS_CODES) else STATUS_CODES[0]}
    if span.status.message:
        record["status"]["message"] = span.status.message
    for name, count in (
        ("droppedAttributesCount", span.dropped_attributes_count),
        ("droppedEventsCount", span.dropped_events_count),
        ("droppedLinksCount", span.dropped_links_count),
    ):
        if count:
            record[name] = count
    return record


def _log_record(raw_record: LogRecord) -> dict[str, Any]:
    record: dict[str, Any] = {
        "timeUnixNano": _moment(raw_record.time_unix_nano),
        "observedTimeUnixNano": _moment(raw_record.observed_time_unix_nano),
        "severityNumber": int(raw_record.severity_number),
        "severityText": raw_record.severity_text,
        "body": _plain(raw_record.body, raw_record.body.WhichOneof("value")),
        "attributes": _attributes(raw_record.attributes),
    }
    if raw_record.flags:
        record["flags"] = raw_record.flags
    if raw_record.event_name:
        record["eventName"] = raw_record.event_name
        record["attributes"].setdefault("event.name", raw_record.event_name)
    record["traceId"] = bytes_id(raw_record.trace_id, TRACE_ID_BYTES) or ""
    record["spanId"] = bytes_id(raw_record.span_id, SPAN_ID_BYTES) or ""
    return record


def _metric(metric: Metric) -> dict[str, Any]:
    kind = metric.WhichOneof("data")
    if kind is None:
        raise MalformedTelemetryError(f"the metric {metric.name[:80]!r} has no data of a known kind")
    data: Any = getattr(metric, kind)
    temporality = int(getattr(data, "aggregation_temporality", 0))
    name = "exponential" if kind == "exponential_histogram" else kind
    return {
        "name": metric.name,
        "unit": metric.unit,
        "kind": name,
        "monotonic": bool(getattr(data, "is_monotonic", False)),
        "temporality": TEMPORALITIES[temporality] if 0 <= temporality < len(TEMPORALITIES) else TEMPORALITIES[0],
        "points": [_point(name, point) for point in data.data_points],
    }


def _point(kind: str, raw_point: Any) -> dict[str, Any]:
    point: dict[str, Any] = {
        "attributes": _attributes(raw_point.attributes),
        "startTimeUnixNano": _moment(raw_point.start_time_unix_nano),
        "timeUnixNano": _moment(raw_point.time_unix_nano),
    }
    if kind in ("sum", "gauge"):
        whole = raw_point.WhichOneof("value") == "as_int"
        point["value"] = raw_point.as_int if whole else _double(raw_point.as_double)
        return point
    point["count"], point["sum"] = raw_point.count, _double(raw_point.sum)
    if kind in ("histogram", "exponential"):
        for name in ("min", "max"):
            if raw_point.HasField(name):
                point[name] = _double(getattr(raw_point, name))
    if kind == "histogram":
        point["buckets"] = bucket_middles(
            list(raw_point.explicit_bounds), list(raw_point.bucket_counts), point.get("min"), point.get("max")
        )
    elif kind == "exponential":
        point["buckets"] = exponential_middles(
            scale=raw_point.scale,
            zero=raw_point.zero_count,
            positive=(raw_point.positive.offset, list(raw_point.positive.bucket_counts)),
            negative=(raw_point.negative.offset, list(raw_point.negative.bucket_counts)),
        )
    else:
        point["buckets"] = []
    return point


def _moment(nanoseconds: int) -> int:
    if nanoseconds > LARGEST_TIME_NS:
        raise MalformedTelemetryError(f"{nanoseconds} is not a time in Unix nanoseconds")
    return nanoseconds
