"""Every format of spans is read to the same values; unreadable records are reported, never raised."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_shapes import T0, TRACE, json_lines, otlp, span, stored

from loomlib.telemetry.traces import Span, Trace, read_spans

DATA = Path(__file__).resolve().parents[2] / "data" / "otel"
FILES = sorted(DATA.iterdir())


def shape(spans: tuple[Span, ...]) -> list[tuple[Any, ...]]:
    return [
        (span.trace_id, span.span_id, span.parent_id, span.name, span.kind, span.start_ns, span.end_ns, span.operation)
        for span in spans
    ]


def hex_spans() -> list[Span]:
    root, chat = "a" * 15 + "1", "b" * 15 + "2"
    return [
        span(root, None, "invoke_agent", 0, 90),
        span(chat, root, "chat", 10, 80, attributes={"gen_ai.usage.input_tokens": 7}),
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_sample_file_is_read_without_a_problem(path: Path) -> None:
    batch = read_spans(path.read_bytes())
    assert batch.problems == ()
    assert batch.spans or batch.log_records or batch.others
    for trace in Trace.of(batch.spans, batch.log_records):
        assert sum(part.duration_ns for part in trace.breakdown().parts) == trace.breakdown().total_ns


@pytest.mark.parametrize(
    "files",
    [
        ["spans_legacy.json"],
        ["spans_latest.json"],
        ["adot_split_spans.json", "adot_split_otel_rt_logs.json"],
    ],
)
def test_both_conventions_and_the_split_form_give_the_same_trajectory(files: list[str]) -> None:
    batch = read_spans([(DATA / name).read_bytes() for name in files])
    (trace,) = Trace.of(batch.spans, batch.log_records)
    trajectory = trace.trajectory()
    assert [(s.kind, s.text, s.name, s.arguments, s.result, s.status) for s in trajectory.steps] == [
        ("system", "You add.", "", None, None, ""),
        ("user", "what is 2+3?", "", None, None, ""),
        ("tool_call", "", "add", {"a": 2, "b": 3}, None, ""),
        ("tool_call", "", "boom", {}, None, ""),
        ("tool_result", "", "add", None, "5", "success"),
        ("tool_result", "", "boom", None, "Error: RuntimeError - boom", "error"),
        ("assistant", "The sum is 5.", "", None, None, ""),
    ]
    assert trajectory.final_answer == "The sum is 5."
    assert trajectory.problems == ()


def test_hex_and_base64_ids_are_the_same_ids() -> None:
    spans = hex_spans()
    assert (
        shape(read_spans(otlp(spans)).spans)
        == shape(read_spans(otlp(spans, id_form="base64")).spans)
        == shape(tuple(spans))
    )


def test_records_come_as_lines_pages_rows_and_objects() -> None:
    spans = hex_spans()
    records = [stored(span) for span in spans]
    expected = shape(tuple(spans))
    forms: list[object] = [
        records,
        json.dumps(records),
        json_lines(spans),
        b"\xef\xbb\xbf" + json.dumps(records).encode(),
        {"events": [{"timestamp": 1, "message": json.dumps(record)} for record in records], "nextToken": "x"},
        {"results": [[{"field": "@message", "value": json.dumps(record)}] for record in records], "status": "Complete"},
        (json.dumps(record).encode() for record in records),
        spans,
    ]
    for form in forms:
        batch = read_spans(form)
        assert shape(batch.spans) == expected
        assert batch.problems == ()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_only_a_line_feed_ends_a_line_of_json(end: str) -> None:
    spans = hex_spans()
    records = [stored(span) | {"name": "a\u2028b\u2029c\x85d"} for span in spans]
    text = "".join(json.dumps(record, ensure_ascii=False) + end for record in records)
    for document in (text, text.encode(), text.removesuffix(end)):
        batch = read_spans(document)
        assert [span.name for span in batch.spans] == ["a\u2028b\u2029c\x85d"] * len(spans)
        assert batch.problem_count == 0


def test_live_spans_of_an_in_memory_exporter_are_read() -> None:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from opentelemetry.trace import SpanKind, StatusCode

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("strands.telemetry.tracer")
    with (
        tracer.start_as_current_span("POST /invocations", kind=SpanKind.SERVER),
        tracer.start_as_current_span("chat") as inner,
    ):
        inner.set_attribute("gen_ai.operation.name", "chat")
        inner.set_status(StatusCode.ERROR, "throttled")
        inner.add_event("gen_ai.choice", {"message": "hello"})
    finished = exporter.get_finished_spans()
    live = read_spans(finished)
    from_json = read_spans([span.to_json() for span in finished])
    assert [span.name for span in live.spans] == ["chat", "POST /invocations"]
    assert live.spans[0].parent_id == live.spans[1].span_id
    assert live.spans[0].status_message == "throttled"
    first = live.spans[0]
    assert (first.operation, first.status, first.scope) == ("chat", "error", "strands.telemetry.tracer")
    for one, other in zip(from_json.spans, live.spans, strict=True):
        assert one.span_id == other.span_id
        assert abs(one.start_ns - other.start_ns) <= 1000  # the SDK's JSON has microseconds
    provider.shutdown()


def test_huge_binary_and_hostile_values_stay_data() -> None:
    huge = "x" * 10_000_000
    name = "<img src=x onerror=alert(1)>\x00\u202e"
    hostile = span("a" * 16, None, "execute_tool", 0, 5, name=name, attributes={"huge": huge, "raw": b"\x00\xff\xfe"})
    batch = read_spans(json.dumps(otlp([hostile])).encode())
    (actual,) = batch.spans
    assert actual.name == name
    assert actual.attributes["huge"] == huge
    assert actual.attributes["raw"] == b"\x00\xff\xfe"
    assert Trace.one(batch.spans).table()[0]["name"] == name


def test_what_cannot_be_read_is_a_problem_beside_what_can() -> None:
    good = json.dumps(stored(hex_spans()[0]))
    batch = read_spans(f'{good}\n{{"broken": \nplain words\n[[[\n'.encode())
    assert len(batch.spans) == 1
    assert batch.problem_count == len(batch.problems) == 2
    assert batch.others == {"text": 1}
    odd = read_spans({"resourceSpans": [7, {"scopeSpans": [3, {"spans": [None, 5, {"spanId": {}, "name": ["x"]}]}]}]})
    assert len(odd.spans) == 1
    assert odd.spans[0].marks == {"no_id", "untimed"}
    assert odd.problem_count == 5


def test_deeply_nested_json_is_a_problem() -> None:
    assert read_spans("[" * 100_000).problem_count == 1
    value: dict[str, Any] = {"stringValue": "x"}
    for _ in range(500):
        value = {"arrayValue": {"values": [value]}}
    batch = read_spans(
        {"spanId": "1" * 16, "traceId": TRACE, "startTimeUnixNano": T0, "attributes": [{"key": "k", "value": value}]}
    )
    assert len(batch.spans) == 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from([TRACE, str(T0)]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(
            [
                "resourceSpans", "scopeSpans", "spans", "resourceLogs", "scopeLogs", "logRecords", "traceId", "spanId",
                "parentSpanId", "startTimeUnixNano", "endTimeUnixNano", "attributes", "key", "value", "stringValue",
                "arrayValue", "values", "bytesValue", "intValue", "events", "status", "code", "body", "resource",
                "scope", "context", "start_time", "message", "results", "field", "kind", "name", "input", "output",
                "messages", "content", "gen_ai.operation.name", "gen_ai.input.messages",
            ]
        ),
        inner,
        max_size=6,
    ),
    max_leaves=30,
)  # fmt: skip


@settings(deadline=None)
@given(json_values)
def test_any_json_is_read_or_a_problem(value: Any) -> None:
    batch = read_spans([value])
    for trace in Trace.of(batch.spans, batch.log_records):
        trace.breakdown()
        trace.trajectory()
        trace.table()
        _ = trace.session_id, trace.agent_name


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_a_problem(data: bytes) -> None:
    read_spans(data)
