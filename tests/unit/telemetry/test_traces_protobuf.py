"""OTLP exports in protobuf."""

from __future__ import annotations

import wire
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_shapes import T0, TRACE, span

from loomlib.telemetry.traces import SpanEvent, read_spans

ATTRIBUTES = {
    "text": "é ☃",
    "whole": -3,
    "large": 2**62,
    "real": 0.5,
    "true": True,
    "raw": b"\x00\xff",
    "list": ["a", 1, [True]],
    "map": {"inner": {"deep": 1}},
}


def test_spans_in_protobuf_are_the_spans_that_were_sent() -> None:
    root, chat = "a" * 16, "b" * 16
    event = SpanEvent(name="gen_ai.choice", time_ns=T0 + 5, attributes={"message": "hello"})
    spans = [
        span(root, None, "invoke_agent", 0, 90, kind="server"),
        span(chat, root, "chat", 1, 80, status="error", status_message="no", attributes=ATTRIBUTES, events=(event,)),
    ]
    batch = read_spans(wire.traces(spans))
    assert batch.problems == ()
    first, second = batch.spans
    assert (first.span_id, first.parent_id, first.kind, first.start_ns, first.end_ns) == (
        root,
        None,
        "server",
        spans[0].start_ns,
        spans[0].end_ns,
    )
    assert second.parent_id == root
    assert dict(second.attributes) == dict(spans[1].attributes)
    assert second.events == (event,)
    assert (second.status, second.status_message, second.scope) == ("error", "no", "strands")
    assert second.resource == {"service.name": "demo"}


def test_log_records_in_protobuf_are_read() -> None:
    body = {"output": {"messages": [{"role": "assistant", "content": {"message": "hi"}}]}}
    batch = read_spans(wire.logs(TRACE, "c" * 16, body))
    assert batch.problems == ()
    (record,) = batch.log_records
    assert (record.trace_id, record.span_id, record.event_name, record.body) == (TRACE, "c" * 16, "gen_ai.choice", body)


@settings(deadline=None)
@given(st.integers(0, 400), st.integers(0, 255))
def test_a_cut_or_damaged_export_is_read_or_a_problem(place: int, byte: int) -> None:
    whole = wire.traces([span("a" * 16, None, "chat", 0, 5, attributes={"text": "x" * 50})])
    read_spans(whole[:place])
    damaged = bytearray(whole)
    damaged[place % len(damaged)] = byte
    read_spans(bytes(damaged))
