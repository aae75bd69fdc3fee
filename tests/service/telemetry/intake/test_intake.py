"""What exporters send is found where AWS keeps it, by plain boto3."""

from __future__ import annotations

import base64
import gzip
import json
import secrets
import time
from collections.abc import Callable
from typing import Any

import pytest
from exporting import GROUP, SESSION, Exporter, span, text, traces
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from waiting import wait_until

from loomlib import local

JSON, PROTOBUF = "application/json", "application/x-protobuf"


def new_trace() -> str:
    return secrets.token_hex(16)


def protobuf(document: dict[str, Any]) -> bytes:
    # protobuf's own JSON has ids in base64.
    def based(item: Any) -> Any:
        if isinstance(item, dict):
            return {
                key: base64.b64encode(bytes.fromhex(value)).decode()
                if key in ("traceId", "spanId", "parentSpanId")
                else based(value)
                for key, value in item.items()
            }
        return [based(element) for element in item] if isinstance(item, list) else item

    return json_format.ParseDict(based(document), ExportTraceServiceRequest()).SerializeToString()


def test_a_span_sent_as_json_is_a_record_of_aws_spans(exporter: Exporter) -> None:
    trace = new_trace()
    otlp_span = span(trace, parentSpanId="75cb16b56ec40052", status={"code": 1}, kind=2, attributes=[text("a", "b")])
    assert exporter.send(traces(otlp_span)) == {}
    (record,) = exporter.records(pattern=f'"{trace}"')
    start, end = int(otlp_span["startTimeUnixNano"]), int(otlp_span["endTimeUnixNano"])
    assert record == {
        "resource": {"attributes": {"service.name": "demo.DEFAULT", "aws.log.group.names": GROUP}},
        "scope": {"name": "strands.telemetry.tracer"},
        "traceId": trace,
        "spanId": "9a82801629270b9c",
        "parentSpanId": "75cb16b56ec40052",
        "name": "chat",
        "kind": "SERVER",
        "startTimeUnixNano": start,
        "endTimeUnixNano": end,
        "durationNano": 120_000_000,
        "attributes": {"a": "b"},
        "status": {"code": "OK"},
    }
    (event,) = exporter.events(pattern=f'"{trace}"')
    assert event["logStreamName"] == "default"
    assert event["timestamp"] == end // 1_000_000


@pytest.mark.parametrize("packed", [False, True])
def test_protobuf_and_json_make_the_same_record(exporter: Exporter, packed: bool) -> None:
    trace = new_trace()
    values = [
        text("text", "ü"),
        {"key": "whole", "value": {"intValue": "-5"}},
        {"key": "part", "value": {"doubleValue": 0.5}},
        {"key": "odd", "value": {"doubleValue": "NaN"}},
        {"key": "yes", "value": {"boolValue": True}},
        {"key": "list", "value": {"arrayValue": {"values": [{"stringValue": "x"}, {"intValue": "1"}]}}},
        {"key": "map", "value": {"kvlistValue": {"values": [text("inner", "y")]}}},
        {"key": "bytes", "value": {"bytesValue": "AP8="}},
        {"key": "nothing", "value": {}},
    ]
    document = traces(
        span(
            trace,
            attributes=values,
            events=[{"timeUnixNano": "5", "name": "e", "attributes": [text("k", "v")]}],
            links=[{"traceId": new_trace(), "spanId": "00f067aa0ba902b7"}],
            status={"code": "STATUS_CODE_ERROR", "message": "no"},
        )
    )
    exporter.send(document)
    body = protobuf(document)
    headers = {"content_encoding": "gzip"} if packed else {}
    status, answer = exporter.post("/otlp/v1/traces", gzip.compress(body) if packed else body, PROTOBUF, **headers)
    assert (status, answer) == (200, b"")
    json_record, protobuf_record = exporter.records(pattern=f'"{trace}"', at_least=2)
    assert json_record == protobuf_record
    assert json_record["attributes"]["bytes"] == "AP8="
    assert json_record["attributes"]["odd"] == "NaN"


def test_the_conversation_goes_to_the_runtime_s_group_and_leaves_the_span(exporter: Exporter) -> None:
    trace = new_trace()
    events = [
        {"name": "gen_ai.user.message", "timeUnixNano": "1", "attributes": [text("content", "2+2?")]},
        {"name": "gen_ai.choice", "timeUnixNano": "2", "attributes": [text("message", "4"), text("tool.result", "r")]},
        {"name": "exception", "timeUnixNano": "3", "attributes": [text("exception.type", "E")]},
    ]
    exporter.send(traces(span(trace, events=events, attributes=[text("session.id", SESSION)])))
    (record,) = exporter.records(pattern=f'"{trace}"')
    assert [event["name"] for event in record["events"]] == ["exception"]
    (messages,) = exporter.records(GROUP, f'"{trace}"')
    assert messages["body"] == {
        "input": {"messages": [{"role": "user", "content": {"content": "2+2?"}}]},
        "output": {
            "messages": [
                {"role": "assistant", "content": {"message": "4", "tool.result": "r"}},
                {"role": "assistant", "content": "r"},
            ]
        },
    }
    assert messages["attributes"] == {"event.name": "strands.telemetry.tracer", "session.id": SESSION}
    assert (messages["traceId"], messages["spanId"]) == (trace, record["spanId"])
    (event,) = exporter.events(GROUP, f'"{trace}"')
    assert event["logStreamName"] == "otel-rt-logs"


def test_a_span_without_a_runtime_keeps_its_conversation(exporter: Exporter) -> None:
    trace = new_trace()
    events = [{"name": "gen_ai.user.message", "timeUnixNano": "1", "attributes": [text("content", "2+2?")]}]
    exporter.send(traces(span(trace, events=events), group=None))
    (record,) = exporter.records(pattern=f'"{trace}"')
    assert record["events"][0]["attributes"] == {"content": "2+2?"}


def test_a_span_without_a_session_takes_its_sender_s_and_else_its_trace_s(exporter: Exporter) -> None:
    trace, other = new_trace(), new_trace()
    exporter.send(traces(span(trace, "1" * 16, attributes=[text("session.id", SESSION)])))
    exporter.send(traces(span(trace, "2" * 16)))
    exporter.send(traces(span(trace, "3" * 16), span(other, "4" * 16)), x_loom_session="that-of-the-sender")
    by_span = {record["spanId"]: record["attributes"].get("session.id") for record in exporter.records(at_least=4)}
    assert [by_span[digit * 16] for digit in "1234"] == [SESSION, SESSION, "that-of-the-sender", "that-of-the-sender"]
    events = exporter.events(pattern='"that-of-the-sender"')
    assert len(events) == 2


def test_a_session_s_stream_names_its_session_and_group(aws: Any, exporter: Exporter) -> None:
    echo = aws.deploy("intake_echo")
    session = "session-" + secrets.token_hex(20)
    aws.invoke(echo["agentRuntimeArn"], runtimeSessionId=session)
    (live,) = [entry for entry in local.status(aws.state.home).sessions if entry.session_id == session]
    trace = new_trace()
    events = [{"name": "gen_ai.user.message", "timeUnixNano": "1", "attributes": [text("content", "hi")]}]
    exporter.send(traces(span(trace, events=events), group=None), x_loom_stream=live.stream.rpartition("]")[2])
    (record,) = exporter.records(pattern=f'"{session}"')
    assert record["traceId"] == trace
    group = f"/aws/bedrock-agentcore/runtimes/{echo['agentRuntimeId']}-DEFAULT"
    (messages,) = exporter.records(group, f'"{trace}"')
    assert messages["attributes"]["session.id"] == session


def test_log_records_and_metrics_land_in_the_runtime_s_group(exporter: Exporter) -> None:
    mark = secrets.token_hex(8)
    now = str(time.time_ns())
    resource = {"attributes": [text("service.name", "demo.DEFAULT"), text("aws.log.group.names", GROUP)]}
    record = {"timeUnixNano": now, "severityNumber": 9, "severityText": "INFO", "body": {"stringValue": mark}}
    logs = {"resourceLogs": [{"resource": resource, "scopeLogs": [{"scope": {"name": "app"}, "logRecords": [record]}]}]}
    exporter.send(logs, "logs")
    (log_record,) = exporter.records(GROUP, f'"{mark}"')
    assert (log_record["body"], log_record["severityNumber"], log_record["scope"]) == (mark, 9, {"name": "app"})
    point = {"timeUnixNano": now, "count": "2", "sum": 0.4, "min": 0.1, "max": 0.3, "bucketCounts": ["0", "2"]}
    metric = {
        "name": "strands.tool.duration",
        "unit": "s",
        "histogram": {
            "aggregationTemporality": 1,
            "dataPoints": [point | {"explicitBounds": [0.1], "attributes": [text("tool_name", mark)]}],
        },
    }
    metrics = {"resourceMetrics": [{"resource": resource, "scopeMetrics": [{"metrics": [metric]}]}]}
    exporter.send(metrics, "metrics")
    (line,) = exporter.records(GROUP, f'"tool_name":"{mark}"')
    assert line["_aws"]["CloudWatchMetrics"] == [
        {
            "Namespace": "bedrock-agentcore",
            "Metrics": [{"Name": "strands.tool.duration", "Unit": "Seconds"}],
            "Dimensions": [["tool_name", "Service", "Environment"]],
        }
    ]
    duration = line["strands.tool.duration"]
    assert duration == {"Values": [0.2], "Counts": [2.0], "Count": 2, "Sum": 0.4, "Max": 0.3, "Min": 0.1}
    assert line["Service"] == "demo.DEFAULT"


def test_one_bad_span_is_refused_by_name_and_the_others_are_kept(exporter: Exporter) -> None:
    trace = new_trace()
    bad = span(trace, "0" * 16, name="without an id")
    answer = exporter.send(traces(span(trace, "5" * 16), bad))
    assert answer["partialSuccess"]["rejectedSpans"] == "1"
    assert "without an id" in answer["partialSuccess"]["errorMessage"]
    assert [record["spanId"] for record in exporter.records(pattern=f'"{trace}"')] == ["5" * 16]
    document = traces(span(trace, "6" * 16), bad | {"spanId": "75cb16b56ec40052", "traceId": "00" * 16})
    status, body = exporter.post("/otlp/v1/traces", protobuf(document), PROTOBUF)
    partial = ExportTraceServiceResponse.FromString(body).partial_success
    assert (status, partial.rejected_spans) == (200, 1)
    assert "without an id" in partial.error_message


GZIP = {"content_encoding": "gzip"}


@pytest.mark.parametrize(
    ("body", "content_type", "headers", "status"),
    [
        pytest.param(lambda: b"{nope", JSON, {}, 400, id="no JSON"),
        pytest.param(lambda: b"[1]", JSON, {}, 400, id="a list"),
        pytest.param(lambda: b'{"resourceSpans": 5}', JSON, {}, 400, id="a number for the spans"),
        pytest.param(lambda: b"[" * 100_000, JSON, {}, 400, id="too deep"),
        pytest.param(lambda: b"\xff\xff\xff", PROTOBUF, {}, 400, id="no protobuf"),
        pytest.param(lambda: b"{}", JSON, GZIP, 400, id="no gzip"),
        pytest.param(lambda: gzip.compress(b"{}")[:-9], JSON, GZIP, 400, id="gzip cut off"),
        pytest.param(lambda: gzip.compress(b" " * 200_000_000, 1), JSON, GZIP, 400, id="200 MB in a little gzip"),
        pytest.param(lambda: b" " * 33_000_000, JSON, {}, 413, id="33 MB"),
        pytest.param(lambda: b"{}", "text/plain", {}, 415, id="text"),
        pytest.param(lambda: b"{}", JSON, {"content_encoding": "br"}, 415, id="another coding"),
        pytest.param(lambda: b"{}", JSON, {}, 200, id="nothing as JSON"),
        pytest.param(lambda: b"", PROTOBUF, {}, 200, id="nothing as protobuf"),
    ],
)
def test_what_is_no_export_request_is_refused_and_the_next_one_is_taken(
    exporter: Exporter, body: Callable[[], bytes], content_type: str, headers: dict[str, str], status: int
) -> None:
    assert exporter.post("/otlp/v1/traces", body(), content_type, **headers)[0] == status
    trace = new_trace()
    exporter.send(traces(span(trace)))
    assert len(exporter.records(pattern=f'"{trace}"')) == 1


def test_only_the_holder_of_the_key_may_send(exporter: Exporter) -> None:
    assert exporter.post("/otlp/v1/traces", traces(span()), authorization="Bearer wrong")[0] == 403
    assert exporter.post("/otlp/v1/nothing", traces(span()))[0] == 404


def test_records_outlive_a_restart(start_service: Callable[..., Any]) -> None:
    first = start_service()
    trace = new_trace()
    Exporter(first).send(traces(span(trace, attributes=[text("session.id", SESSION)])))
    local.stop(first.state.home)
    again = Exporter(start_service())
    assert len(again.records(pattern=f'"{trace}"')) == 1
    assert len(again.records(pattern=f'"{SESSION}"')) == 1


def test_a_log_delay_hides_telemetry_for_its_time_only(start_service: Callable[..., Any]) -> None:
    exporter = Exporter(start_service(log_delay_s=1.0))

    def hidden() -> str:
        """A trace that is not visible right after it was sent; a busy machine can look only after the delay."""
        trace = new_trace()
        exporter.send(traces(span(trace)))
        return "" if exporter.events(pattern=f'"{trace}"') else trace

    trace = wait_until(hidden, what="a trace that is hidden at first")
    assert len(exporter.records(pattern=f'"{trace}"')) == 1
    (event,) = exporter.events(pattern=f'"{trace}"')
    assert event["ingestionTime"] - event["timestamp"] >= 1_000


def test_a_deleted_group_takes_its_telemetry_along(start_service: Callable[..., Any]) -> None:
    first = start_service()
    exporter = Exporter(first)
    exporter.send(traces(span(new_trace(), "1" * 16)))
    assert len(exporter.records()) == 1
    first.client("logs").delete_log_group(logGroupName="aws/spans")
    assert exporter.events() == []
    trace = new_trace()
    exporter.send(traces(span(trace, "2" * 16)))
    assert [record["traceId"] for record in exporter.records()] == [trace]
    local.stop(first.state.home)
    assert [record["traceId"] for record in Exporter(start_service()).records()] == [trace]


def test_pages_of_spans_lose_and_repeat_nothing(exporter: Exporter) -> None:
    trace = new_trace()
    long = text("long", "x" * 2_000)
    spans = [span(trace, f"{number:016x}", attributes=[long]) for number in range(1, 1_501)]
    exporter.send(traces(*spans))
    events = exporter.events(pattern=f'"{trace}"')
    ids = [json.loads(event["message"])["spanId"] for event in events]
    assert len(ids) == len(set(ids)) == 1_500
    page = exporter.aws.client("logs").filter_log_events(logGroupName="aws/spans", filterPattern=f'"{trace}"')
    assert sum(len(event["message"]) for event in page["events"]) <= 1_000_000
