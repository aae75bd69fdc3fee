"""Spans as OTLP/JSON: whatever OpenTelemetry lets into a span comes out of the bytes again."""

from __future__ import annotations

import base64
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Link, SpanKind, Status, StatusCode

from loomlib.local.sessions.tracing.encode import BODY_LIMIT_BYTES, CUT_ATTRIBUTE, VALUE_LIMIT, request_bodies
from loomlib.telemetry.traces.read import read_spans

TEXTS = st.text(max_size=20)
SCALARS = st.one_of(
    TEXTS, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.binary(max_size=9)
)
LISTS = st.one_of(
    *(st.lists(elements, min_size=1, max_size=3) for elements in (TEXTS, st.booleans(), st.integers(-9, 9)))
)
ATTRIBUTES = st.dictionaries(st.text(min_size=1, max_size=9), st.one_of(SCALARS, LISTS), max_size=5)


def spans_of(record) -> list[ReadableSpan]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource({"service.name": "one.DEFAULT"}), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    record(provider.get_tracer("tests", "1.0"))
    return list(exporter.get_finished_spans())


def one_span(attributes) -> ReadableSpan:
    return spans_of(lambda tracer: tracer.start_span("one", attributes=attributes).end())[0]


def bodies_of(spans) -> list[dict]:
    return [json.loads(body) for body, _ in request_bodies(spans)]


def attributes_of(spans) -> dict:
    [body] = bodies_of(spans)
    [span] = body["resourceSpans"][0]["scopeSpans"][0]["spans"]
    return {pair["key"]: pair["value"] for pair in span["attributes"]}


def plain(attributes):
    """Lists and tuples are one to JSON."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in attributes.items()}


@given(attributes=ATTRIBUTES, event=ATTRIBUTES)
def test_the_bytes_hold_what_the_span_holds(attributes, event):
    def record(tracer):
        with tracer.start_as_current_span("outer", attributes=attributes, kind=SpanKind.CLIENT) as outer:
            outer.add_event("said", event)
            linked = Link(outer.get_span_context(), {"why": "because"})
            with tracer.start_as_current_span("inner", links=[linked]) as inner:
                inner.set_status(Status(StatusCode.ERROR, "it broke"))

    spans = spans_of(record)
    [(body, count)] = request_bodies(spans)
    read = read_spans(body)
    live = read_spans(spans)
    assert (count, read.problem_count) == (2, 0)
    for decoded, original in zip(read.spans, live.spans, strict=True):
        assert (decoded.trace_id, decoded.span_id, decoded.parent_id) == (
            original.trace_id,
            original.span_id,
            original.parent_id,
        )
        assert (decoded.name, decoded.kind, decoded.start_ns, decoded.end_ns) == (
            original.name,
            original.kind,
            original.start_ns,
            original.end_ns,
        )
        assert (decoded.status, decoded.status_message, decoded.scope) == (
            original.status,
            original.status_message,
            original.scope,
        )
        assert plain(decoded.resource) == plain(original.resource)
        assert plain(decoded.attributes) == plain(original.attributes)
        assert [plain(span_event.attributes) for span_event in decoded.events] == [
            plain(span_event.attributes) for span_event in original.events
        ]


def test_a_lone_surrogate_becomes_a_question_mark():
    assert attributes_of([one_span({"name": "a\udce9b"})])["name"] == {"stringValue": "a?b"}


@pytest.mark.parametrize(("value", "written"), [(math.inf, "Infinity"), (-math.inf, "-Infinity"), (math.nan, "NaN")])
def test_numbers_that_json_has_not_are_written_as_protobuf_writes_them(value, written):
    assert attributes_of([one_span({"x": value})])["x"] == {"doubleValue": written}


def test_an_integer_beyond_64_bits_is_text():
    assert attributes_of([one_span({"x": 2**70})])["x"] == {"stringValue": str(2**70)}


def test_values_beyond_the_limit_are_cut_and_named():
    cut = attributes_of(
        [one_span({"long": "é" * (VALUE_LIMIT + 1), "fits": "x" * VALUE_LIMIT, "raw": bytes(VALUE_LIMIT + 2)})]
    )
    assert len(cut["long"]["stringValue"]) == len(cut["fits"]["stringValue"]) == VALUE_LIMIT
    assert len(base64.b64decode(cut["raw"]["bytesValue"])) == VALUE_LIMIT
    cut_entries = [value["stringValue"] for value in cut[CUT_ATTRIBUTE]["arrayValue"]["values"]]
    assert cut_entries == [f"long={VALUE_LIMIT + 1}", f"raw={VALUE_LIMIT + 2}"]


def test_many_large_spans_are_split_into_requests_and_none_is_lost():
    spans = [one_span({"text": "x" * 1_000_000, "number": number}) for number in range(11)]
    requests = list(request_bodies(spans))
    assert sum(count for _, count in requests) == 11
    assert len(requests) == 3
    assert all(len(body) < BODY_LIMIT_BYTES + 2_000_000 for body, _ in requests)
    read = [span.attributes["number"] for body, _ in requests for span in read_spans(body).spans]
    assert read == list(range(11))


def test_no_spans_are_no_request():
    assert list(request_bodies([])) == []
