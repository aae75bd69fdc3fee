"""Model calls, tools, cycles and retries, as a trace tells them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from trace_shapes import MS, T0, field_note_request, span

from loomlib.telemetry.traces import SpanEvent, Trace, cycles, model_calls, parallelism, retries, tool_calls


def test_a_model_calls_first_token_and_streaming_share() -> None:
    first, second = model_calls(Trace.one(field_note_request()))
    assert (first.ttft_ms, first.cycle, first.input_tokens, first.output_tokens) == (2707, 1, 1752, 44)
    assert first.streaming_share == pytest.approx(209 / 2916)
    assert second.streaming_share == pytest.approx(94 / 1489)


def test_the_prompt_grows_from_cycle_to_cycle() -> None:
    first, second = cycles(Trace.one(field_note_request()))
    assert (first.growth_tokens, second.growth_tokens) == (None, 70)
    assert second.growth_share == pytest.approx(0.04, abs=0.0005)
    assert (first.number, second.number) == (1, 2)
    assert first.tools.calls == 1
    assert not first.is_inferred


def test_without_cycle_spans_model_calls_stand_for_cycles() -> None:
    spans = [replace(span, parent_id="a9") for span in field_note_request() if span.operation == "chat"]
    agent_cycles = cycles(Trace.one(spans))
    assert [(cycle.number, cycle.input_tokens, cycle.growth_tokens) for cycle in agent_cycles] == [
        (1, 1752, None),
        (2, 1822, 70),
    ]
    assert all(cycle.is_inferred for cycle in agent_cycles)


@pytest.mark.parametrize("parent", ["m1", "c1", None])
def test_botocores_twin_of_a_model_call_counts_once(parent: str | None) -> None:
    twin = span(
        "b1",
        parent,
        "chat",
        70,
        2970,
        kind="client",
        name="chat anthropic.claude",
        scope="opentelemetry.instrumentation.botocore.bedrock-runtime",
        attributes={
            "gen_ai.request.model": "anthropic.claude",
            "gen_ai.usage.input_tokens": 1752,
            "retry_attempts": 2,
        },
    )
    below = span("h1", "b1", "other", 80, 2900, kind="client", name="POST")
    trace = Trace.one([twin, below, *field_note_request()])
    assert [span.span_id for span in trace.duplicates] == ["b1"]
    assert "duplicates_removed" in trace.marks
    assert trace.span("h1") in trace.spans
    first, second = model_calls(trace)
    assert (first.model, first.http_retries, first.input_tokens) == ("anthropic.claude", 2, 1752)
    assert second.model is None
    assert trace.breakdown()["model"].duration_ns == 4405 * MS
    assert cycles(trace)[0].input_tokens == 1752


def test_a_botocore_call_of_its_own_is_a_model_call() -> None:
    alone = span("b1", "5e", "chat", 4600, 4610, kind="client", name="chat titan")
    trace = Trace.one([alone, *field_note_request()])
    assert trace.duplicates == ()
    assert len(model_calls(trace)) == 3


def test_a_throttled_call_is_a_retry_with_its_wait() -> None:
    failed = span(
        "m0",
        "c1",
        "chat",
        45,
        50,
        status="error",
        events=(
            SpanEvent(
                name="exception",
                time_ns=T0,
                attributes={"exception.type": "ModelThrottledException", "exception.message": "slow down"},
            ),
        ),
    )
    calls = model_calls(Trace.one([failed, *field_note_request()]))
    assert [call.attempt for call in calls] == [1, 2, 1]
    (retry,) = retries(calls)
    assert (retry.failed_span_id, retry.next_span_id, retry.cycle) == ("m0", "m1", 1)
    assert retry.error == "ModelThrottledException: slow down"
    assert (retry.failed_ns, retry.waited_ns) == (5 * MS, 10 * MS)


def test_how_parallel_tools_ran() -> None:
    spans = [span(f"t{place}", None, "execute_tool", place * 50, place * 50 + 100) for place in range(4)]
    serial = [span(f"t{place}", None, "execute_tool", place * 100, place * 100 + 100) for place in range(4)]
    overlapping, one_by_one = (parallelism(tool_calls(Trace.one(tool_spans))) for tool_spans in (spans, serial))
    assert (overlapping.sum_ns, overlapping.elapsed_ns, overlapping.most_at_once) == (400 * MS, 250 * MS, 2)
    assert overlapping.factor == pytest.approx(1.6)
    assert (one_by_one.factor, one_by_one.most_at_once) == (1, 1)


def test_cycles_count_within_their_own_agent() -> None:
    inner = [
        span("ia", "t1", "invoke_agent", 3000, 3003),
        span("ic", "ia", "cycle", 3000, 3002),
        span("im", "ic", "chat", 3001, 3002, attributes={"gen_ai.usage.input_tokens": 10}),
    ]
    trace = Trace.one([*inner, *field_note_request()])
    growth = {(cycle.agent_span_id, cycle.number): cycle.growth_tokens for cycle in cycles(trace)}
    assert growth == {("a9", 1): None, ("a9", 2): 70, ("ia", 1): None}
    (agents,) = trace.trajectory().agents
    assert agents.span_id == "ia"


def test_a_slow_trace_of_one_deep_chain_is_still_placed() -> None:
    chain = [span(f"s{place}", f"s{place - 1}" if place else None, "other", 0, 10) for place in range(20_000)]
    trace = Trace.one(chain)
    assert sum(1 for _ in trace.walk()) == 20_000
    assert trace.breakdown()["agent"].duration_ns == 10 * MS


def test_tools_without_a_model_call_are_reported_in_their_order() -> None:
    tool = span(
        "t1",
        None,
        "execute_tool",
        0,
        5,
        attributes={
            "gen_ai.tool.name": "add",
            "gen_ai.tool.call.id": "x",
            "gen_ai.tool.call.arguments": '{"a": 1}',
            "gen_ai.tool.call.result": '[{"text": "2"}]',
            "gen_ai.tool.status": "success",
        },
    )
    trajectory = Trace.one([tool]).trajectory()
    assert [(step.kind, step.name) for step in trajectory.steps] == [("tool_call", "add"), ("tool_result", "add")]
    (call,) = trajectory.tool_calls
    assert (call.arguments, call.result, call.status, call.is_answered) == ({"a": 1}, "2", "success", True)
    assert trajectory.problems == ("no_model_call",)


def test_retries_of_different_agents_are_not_mixed() -> None:
    spans = [
        *(span(f"a{agent}", None, "invoke_agent", agent * 10, agent * 10 + 9) for agent in (1, 2)),
        *(span(f"c{agent}", f"a{agent}", "cycle", agent * 10, agent * 10 + 8) for agent in (1, 2)),
        span("failed", "c1", "chat", 11, 12, status="error"),
        span("failed too", "c2", "chat", 21, 22, status="error"),
        span("again", "c2", "chat", 23, 24),
    ]
    (only,) = retries(model_calls(Trace.one(spans)))
    assert (only.failed_span_id, only.next_span_id) == ("failed too", "again")


def test_a_deep_and_wide_trace_is_read_in_time_that_grows_with_it() -> None:
    operations = ["other", "cycle", "chat", "execute_tool", "invoke_agent", "server"]
    spans = [
        span(f"s{place}", f"s{place - 1}" if place else None, operations[place % 6], place / 1e3, 100)
        for place in range(12_000)
    ]
    beside = [span(f"b{place}", "s0", "chat", 1, 2, kind="client") for place in range(3_000)]
    trace = Trace.one([*spans, *beside])
    assert len(trace.spans) + len(trace.duplicates) == 15_000
    assert trace.breakdown()["model"].duration_ns > 0
    assert len(cycles(trace)) == 2_000
    assert len(model_calls(trace)) + len(trace.duplicates) == 5_000
    assert trace.trajectory().problems


@pytest.mark.parametrize("said", [-1.0, float("nan"), float("inf"), "soon", True, None])
def test_a_first_token_before_its_request_is_no_time(said: object) -> None:
    chat = span("m", None, "chat", 0, 100, attributes={"gen_ai.server.time_to_first_token": said})
    (call,) = model_calls(Trace.one([chat]))
    assert call.ttft_ms is None
    assert call.streaming_share is None
