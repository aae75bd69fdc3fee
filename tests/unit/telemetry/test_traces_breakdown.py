"""Where the time went: parts that add up, whatever the spans look like."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_shapes import MS, T0, field_note_request, span

from loomlib.telemetry.traces import PARTS, Breakdown, ClientTiming, Span, SpanEvent, Trace, breakdown

OPERATIONS = ["server", "invoke_agent", "cycle", "chat", "execute_tool", "memory", "other"]


def ms(breakdown: Breakdown) -> dict[str, float]:
    return {part.name: part.duration_ms for part in breakdown.parts}


def test_the_field_notes_request_has_its_published_shares() -> None:
    breakdown = Trace.one(field_note_request()).breakdown()
    assert breakdown.total_ms == 4613
    assert ms(breakdown)["model"] == 2916 + 1489
    assert breakdown["model"].share == pytest.approx(0.955, abs=0.0005)
    assert breakdown["tools"].share == pytest.approx(0.0007, abs=0.00005)
    assert breakdown["agent"].share == pytest.approx(0.044, abs=0.0005)


def test_outside_the_agent_is_service_and_network() -> None:
    client = ClientTiming(sent_ns=T0 - 500 * MS, done_ns=T0 + 5044 * MS, is_cold=False)
    breakdown = Trace.one(field_note_request()).breakdown(client)
    assert breakdown.total_ms == 5544
    assert ms(breakdown)["service_network"] == 931
    assert ms(breakdown)["cold_start"] == 0
    assert breakdown["service_network"].certainty == "measured"


def test_a_cold_start_ends_where_the_agent_begins() -> None:
    client = ClientTiming(sent_ns=T0 - 500 * MS, done_ns=T0 + 5044 * MS, is_cold=True, agent_start_ns=T0 + 5 * MS)
    part_ms = ms(Trace.one(field_note_request()).breakdown(client))
    assert part_ms["cold_start"] == 500
    assert part_ms["service_network"] == 431


def test_tools_at_the_same_time_count_once() -> None:
    spans = [
        span("r", None, "invoke_agent", 0, 1000),
        span("m", "r", "chat", 0, 400),
        span("t1", "r", "execute_tool", 400, 520),
        span("t2", "r", "execute_tool", 400, 600),
        span("e", "r", "memory", 600, 650),
    ]
    assert ms(Trace.one(spans).breakdown()) == {
        "cold_start": 0,
        "service_network": 0,
        "agent": 350,
        "model": 400,
        "tools": 200,
        "memory": 50,
        "garbage_collection": 0,
        "unknown": 0,
    }


def test_a_model_call_inside_a_tool_is_the_models_time() -> None:
    spans = [
        span("r", None, "invoke_agent", 0, 100),
        span("t", "r", "execute_tool", 10, 90),
        span("a", "t", "invoke_agent", 20, 80),
        span("m", "a", "chat", 30, 70),
    ]
    part_ms = ms(Trace.one(spans).breakdown())
    assert (part_ms["model"], part_ms["tools"], part_ms["agent"]) == (40, 40, 20)


def test_spans_of_another_clock_are_moved_into_the_clients_interval() -> None:
    client = ClientTiming(sent_ns=T0 + 60_000 * MS, done_ns=T0 + 65_000 * MS, is_cold=False)
    breakdown = Trace.one(field_note_request()).breakdown(client)
    assert "clock_shifted" in breakdown.marks
    assert ms(breakdown)["model"] == 4405
    assert breakdown["model"].certainty == "inferred"
    assert "clock skew" in breakdown["model"].caveat
    unshifted = Trace.one(field_note_request()).breakdown(replace(client, same_clock=True))
    assert "clipped" in unshifted.marks
    assert ms(unshifted)["model"] == 0


@pytest.mark.parametrize(("set_by_ms", "same_clock"), [(86_400_000, True), (-86_400_000, True), (9_000, False)])
def test_spans_of_another_clock_are_moved_even_if_the_server_span_ends_after_the_response(
    set_by_ms: int, same_clock: bool
) -> None:
    spans = [
        span("r", None, "server", set_by_ms + 4, set_by_ms + 150),
        span("t", "r", "execute_tool", set_by_ms + 6, set_by_ms + 106),
    ]
    client = ClientTiming(sent_ns=T0, done_ns=T0 + 110 * MS, is_cold=False, same_clock=same_clock)
    breakdown = Trace.one(spans).breakdown(client)
    assert "clock_shifted" in breakdown.marks
    assert (breakdown.shift_ns, ms(breakdown)["tools"]) == (-(set_by_ms + 4) * MS, 100)
    assert breakdown["tools"].certainty == "inferred"


def test_without_any_span_the_time_is_unknown_and_reports_it() -> None:
    client = ClientTiming(sent_ns=T0, done_ns=T0 + 100 * MS)
    breakdown = Trace.one([]).breakdown(client)
    assert ms(breakdown)["unknown"] == 100
    assert breakdown["model"].certainty == "missing"
    cold_breakdown = Trace.one([]).breakdown(replace(client, agent_start_ns=T0 + 30 * MS, is_cold=True))
    assert (ms(cold_breakdown)["cold_start"], ms(cold_breakdown)["unknown"]) == (30, 70)


def test_a_missing_root_leaves_inferred_parts() -> None:
    spans = [span for span in field_note_request() if span.span_id not in ("5e", "a9")]
    trace = Trace.one(spans)
    assert {"partial", "orphan"} <= trace.marks
    breakdown = trace.breakdown(ClientTiming(sent_ns=T0, done_ns=T0 + 4613 * MS, is_cold=False))
    assert ms(breakdown)["model"] == 4405
    assert breakdown["agent"].certainty == "inferred"
    assert breakdown["agent"].caveat
    assert sum(part.duration_ns for part in breakdown.parts) == 4613 * MS


def test_a_traced_caller_shows_the_sidecar_tax() -> None:
    spans = [
        span("k", None, "other", -200, 4913, kind="client", name="Bedrock AgentCore.InvokeAgentRuntime"),
        *(replace(span, parent_id="k") if span.span_id == "5e" else span for span in field_note_request()),
    ]
    part_ms = ms(Trace.one(spans).breakdown())
    assert part_ms["service_network"] == 500
    assert part_ms["model"] == 4405


def test_a_service_that_the_agent_called_is_not_the_agent() -> None:
    downstream = [
        span("d1", "t1", "server", 90_000, 90_001, name="POST /mcp"),
        span("d2", "d1", "other", 90_000, 90_001),
    ]
    spans = [*field_note_request(), *downstream]
    client = ClientTiming(sent_ns=T0 - 500 * MS, done_ns=T0 + 5044 * MS, is_cold=False)
    breakdown = Trace.one(spans).breakdown(client)
    assert breakdown.shift_ns == 0
    assert ms(breakdown) == ms(Trace.one(field_note_request()).breakdown(client))


def test_a_traced_web_app_in_front_is_not_the_agent_either() -> None:
    front = [
        span("w", None, "server", -300, 5000, name="POST /chat"),
        span("k", "w", "other", -200, 4913, kind="client", name="Bedrock AgentCore.InvokeAgentRuntime"),
    ]
    spans = [*front, *(replace(span, parent_id="k") if span.span_id == "5e" else span for span in field_note_request())]
    trace = Trace.one(spans)
    part_ms = ms(trace.breakdown())
    assert (part_ms["service_network"], part_ms["model"], part_ms["unknown"]) == (687, 4405, 0)
    assert [bar.part for bar in trace.waterfall()][:4] == ["service_network", "service_network", "agent", "agent"]


def test_a_garbage_collection_is_a_part_of_its_own_and_not_the_models() -> None:
    server, *rest = field_note_request()
    pause = SpanEvent(name="garbage collection", time_ns=T0 + 3100 * MS, attributes={"duration_ns": 66 * MS})
    spans = [replace(server, scope="loom.local.invocations", events=(pause,)), *rest]
    before, after = Trace.one(field_note_request()).breakdown(), Trace.one(spans).breakdown()
    assert after["garbage_collection"].duration_ms == 66
    assert after["garbage_collection"].certainty == "measured"
    assert before["model"].duration_ms - after["model"].duration_ms == 66
    assert before["garbage_collection"].certainty == "missing"


@pytest.mark.parametrize("length", [None, "long", -1, float("nan"), 10**30])
def test_a_pause_of_an_odd_length_does_not_break_the_breakdown(length: object) -> None:
    server, *rest = field_note_request()
    pause = SpanEvent(name="garbage collection", time_ns=T0, attributes={"duration_ns": length})
    breakdown = Trace.one([replace(server, scope="loom.local.invocations", events=(pause,)), *rest]).breakdown()
    assert sum(part.duration_ns for part in breakdown.parts) == breakdown.total_ns


def test_an_interval_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(ValueError):
        ClientTiming(sent_ns=2, done_ns=1)


@st.composite
def forests(draw: st.DrawFn) -> list[Span]:
    """Spans with any parents (missing, circular, themselves), any times (reversed too), and copies of some."""
    count = draw(st.integers(0, 14))
    ids = [f"s{place}" for place in range(count)]
    parents = st.one_of(st.none(), st.sampled_from([*ids, "gone", "away"])) if ids else st.none()
    spans: list[Span] = []
    for id in ids:
        start = draw(st.integers(0, 60))
        end = draw(st.one_of(st.integers(start, 80), st.integers(0, 80)))
        new_span = span(id, draw(parents), draw(st.sampled_from(OPERATIONS)), start, end)
        if draw(st.booleans()):
            new_span = replace(new_span, kind=draw(st.sampled_from(["internal", "client", "server"])))
        if draw(st.integers(0, 9)) == 0:
            new_span = replace(new_span, marks=frozenset({draw(st.sampled_from(["untimed", "unfinished"]))}))
        spans.append(new_span)
    for place in draw(st.lists(st.integers(0, max(0, count - 1)), max_size=4)) if count else []:
        original = spans[place]
        spans.append(replace(original, end_ns=draw(st.integers(T0, T0 + 80 * MS))) if draw(st.booleans()) else original)
    return spans


@st.composite
def clients(draw: st.DrawFn) -> ClientTiming | None:
    if draw(st.booleans()):
        return None
    sent_ns = T0 + draw(st.integers(-90, 90)) * MS
    done_ns = sent_ns + draw(st.integers(0, 150)) * MS
    return ClientTiming(
        sent_ns=sent_ns,
        done_ns=done_ns,
        agent_start_ns=draw(st.one_of(st.none(), st.integers(T0 - 90 * MS, T0 + 90 * MS))),
        is_cold=draw(st.sampled_from([None, True, False])),
        same_clock=draw(st.booleans()),
    )


@settings(deadline=None)
@given(forests(), clients())
def test_any_forest_is_divided_without_loss(spans: list[Span], client: ClientTiming | None) -> None:
    trace = Trace.one(spans)
    result = breakdown(trace, client)
    assert [part.name for part in result.parts] == list(PARTS)
    assert all(part.duration_ns >= 0 and 0 <= part.share <= 1 for part in result.parts)
    assert sum(part.duration_ns for part in result.parts) == result.total_ns
    if client is not None:
        assert (result.start_ns, result.end_ns) == (client.sent_ns, client.done_ns)
    at_ns = result.start_ns
    for _, start, end in result.timeline():
        assert start == at_ns
        assert end > start
        at_ns = end
    assert at_ns == result.end_ns
    assert all(part.derived_from and part.certainty in ("measured", "inferred", "missing") for part in result.parts)
    span_ids = [id for part in result.parts for id in part.span_ids]
    assert len(span_ids) == len(set(span_ids))


@settings(deadline=None)
@given(forests())
def test_any_forest_holds_every_span_exactly_once(spans: list[Span]) -> None:
    trace = Trace.one(spans)
    ids = [span.span_id for span in trace.spans]
    assert len(ids) == len(set(ids))
    assert len(trace.spans) + len(trace.duplicates) == len(spans)
    assert {span.span_id for span in (*trace.spans, *trace.duplicates)} == {span.span_id for span in spans}
    walked = [span.span_id for _, span in trace.walk()]
    assert sorted(walked) == sorted(ids)
    assert len(trace.waterfall()) == len(trace.table()) == len(ids)
    trace.trajectory()


@settings(deadline=None)
@given(forests(), clients(), st.randoms())
def test_the_order_of_arrival_changes_nothing(
    spans: list[Span], client: ClientTiming | None, chance: random.Random
) -> None:
    shuffled = list(spans)
    chance.shuffle(shuffled)
    one, other = Trace.one(spans), Trace.one(shuffled)
    assert one.spans == other.spans
    assert one.marks == other.marks
    assert one.breakdown(client) == other.breakdown(client)
    assert one.waterfall() == other.waterfall()
    assert one.trajectory() == other.trajectory()
