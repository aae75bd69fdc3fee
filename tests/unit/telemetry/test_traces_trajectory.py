"""Trajectories: this invocation's steps in order, in either convention; earlier messages are history."""

from __future__ import annotations

import json
from typing import Any

import pytest
from trace_shapes import T0, TRACE, span

from loomlib.telemetry.traces import LogRecord, Span, SpanEvent, Trace, Trajectory, model_calls

CALL_1 = [{"toolUse": {"toolUseId": "t1", "name": "add", "input": {"a": 2}}}]
RESULT_1 = [{"toolResult": {"toolUseId": "t1", "status": "success", "content": [{"text": "4"}]}}]
CALL_2 = [{"text": "Let me see."}, {"toolUse": {"toolUseId": "t2", "name": "add", "input": {"a": 3}}}]
RESULT_2 = [{"toolResult": {"toolUseId": "t2", "status": "error", "content": [{"text": "no"}, {"text": "way"}]}}]
CONVERSATION: list[tuple[str, list[dict[str, Any]]]] = [
    ("user", [{"text": "2+2?"}]),
    ("assistant", CALL_1),
    ("user", RESULT_1),
    ("assistant", [{"text": "4."}]),
    ("user", [{"text": "and 3+3?"}]),
    ("assistant", CALL_2),
    ("user", RESULT_2),
    ("assistant", [{"text": "I can't."}]),
]
"""A session's two invocations; the trace is that of the second, whose model calls were given 5 and 7 messages."""


def part(block: dict[str, Any]) -> dict[str, Any]:
    if use := block.get("toolUse"):
        return {"type": "tool_call", "name": use["name"], "id": use["toolUseId"], "arguments": use["input"]}
    if result := block.get("toolResult"):
        return {"type": "tool_call_response", "id": result["toolUseId"], "response": result["content"]}
    return {"type": "text", "content": block["text"]}


def latest(count: int) -> dict[str, Any]:
    def form(messages: list[tuple[str, list[dict[str, Any]]]]) -> str:
        return json.dumps([{"role": role, "parts": [part(block) for block in blocks]} for role, blocks in messages])

    return {
        "gen_ai.system_instructions": json.dumps([{"type": "text", "content": "You add."}]),
        "gen_ai.input.messages": form(CONVERSATION[:count]),
        "gen_ai.output.messages": form(CONVERSATION[count : count + 1]),
    }


def legacy(count: int) -> tuple[SpanEvent, ...]:
    def event(role: str, blocks: list[dict[str, Any]]) -> SpanEvent:
        name = "tool" if "toolResult" in blocks[0] else role
        return SpanEvent(name=f"gen_ai.{name}.message", time_ns=T0, attributes={"content": json.dumps(blocks)})

    answer = {"finish_reason": "end_turn", "message": json.dumps(CONVERSATION[count][1])}
    return (
        event("system", [{"text": "You add."}]),
        *(event(role, blocks) for role, blocks in CONVERSATION[:count]),
        SpanEvent(name="gen_ai.choice", time_ns=T0, attributes=answer),
    )


def split(span_id: str, count: int) -> LogRecord:
    inputs = [{"role": "system", "content": {"content": json.dumps([{"text": "You add."}])}}]
    outputs: list[dict[str, Any]] = []
    for role, blocks in CONVERSATION[:count]:
        content = {"content": json.dumps(blocks)}
        (outputs if role == "assistant" else inputs).append({"role": role, "content": content})
    final = {"message": json.dumps(CONVERSATION[count][1]), "finish_reason": "end_turn"}
    outputs.append({"role": "assistant", "content": final})
    body = {"input": {"messages": inputs}, "output": {"messages": outputs}}
    return LogRecord(trace_id=TRACE, span_id=span_id, time_ns=T0, body=body, event_name="strands.telemetry.tracer")


def second_invocation(form: str) -> Trace:
    more: list[dict[str, Any]] = [{}, {}]
    records: list[LogRecord] = []
    for place, count in enumerate((5, 7)):
        if form == "attributes":
            more[place] = {"attributes": latest(count)}
        elif form == "details":
            details = SpanEvent(name="gen_ai.client.inference.operation.details", time_ns=T0, attributes=latest(count))
            more[place] = {"events": (details,)}
        elif form == "events":
            more[place] = {"events": legacy(count)}
        else:
            records.append(split(f"m{place + 1}", count))
    tool = {"gen_ai.tool.name": "add", "gen_ai.tool.call.id": "t2", "gen_ai.tool.status": "error"}
    result_text = json.dumps(RESULT_2[0]["toolResult"]["content"])
    result = SpanEvent(name="gen_ai.choice", time_ns=T0, attributes={"message": result_text})
    spans: list[Span] = [
        span("a", None, "invoke_agent", 0, 100),
        span("m1", "a", "chat", 1, 40, **more[0]),
        span("t", "a", "execute_tool", 41, 50, attributes=tool, events=(result,)),
        span("m2", "a", "chat", 51, 90, **more[1]),
    ]
    return Trace.one(spans, records)


def steps_of(trajectory: Trajectory) -> list[tuple[Any, ...]]:
    return [(s.kind, s.text, s.name, s.arguments, s.result, s.status) for s in trajectory.steps]


@pytest.mark.parametrize("form", ["attributes", "details", "events", "split"])
def test_steps_begin_with_this_invocations_prompt(form: str) -> None:
    trace = second_invocation(form)
    trajectory = trace.trajectory()
    assert steps_of(trajectory) == [
        ("system", "You add.", "", None, None, ""),
        ("user", "and 3+3?", "", None, None, ""),
        ("assistant", "Let me see.", "", None, None, ""),
        ("tool_call", "", "add", {"a": 3}, None, ""),
        ("tool_result", "", "add", None, "no\nway", "error"),
        ("assistant", "I can't.", "", None, None, ""),
    ]
    assert [step.kind for step in trajectory.history] == ["user", "tool_call", "tool_result", "assistant"]
    assert [step.text for step in trajectory.history if step.text] == ["2+2?", "4."]
    assert (trajectory.prompt, trajectory.final_answer, trajectory.system_prompt) == (
        "and 3+3?",
        "I can't.",
        "You add.",
    )
    assert trajectory.tool_names == ("add",)
    assert trajectory.problems == ()


@pytest.mark.parametrize("form", ["events", "split"])
def test_why_a_model_stopped_is_read_from_the_answer(form: str) -> None:
    assert [call.finish_reason for call in model_calls(second_invocation(form))] == ["end_turn", "end_turn"]


def test_a_result_that_never_came_is_a_problem() -> None:
    spans = [span for span in second_invocation("events").spans if span.span_id in ("a", "m1")]
    trajectory = Trace.one(spans).trajectory()
    assert trajectory.problems == ("no_result",)


def test_spans_without_messages_report_it() -> None:
    spans = [span("a", None, "invoke_agent", 0, 9), span("m", "a", "chat", 1, 8)]
    trajectory = Trace.one(spans).trajectory()
    assert trajectory.problems == ("no_content",)
    assert trajectory.final_answer is None


def test_the_convention_changes_nothing_about_time() -> None:
    by_attributes, *others = [second_invocation(form) for form in ("attributes", "details", "events", "split")]
    for other in others:
        assert other.breakdown() == by_attributes.breakdown()


def test_parallel_agents_are_reported_in_their_order_in_time() -> None:
    def chat(id: str, agent: str, start: float, says: str) -> Span:
        choice = SpanEvent(name="gen_ai.choice", time_ns=T0, attributes={"message": json.dumps([{"text": says}])})
        return span(id, agent, "chat", start, start + 1, events=(choice,))

    spans = [
        span("r", None, "server", 0, 100),
        span("o", "r", "other", 0, 100),
        span("late", "o", "invoke_agent", 50, 60),
        span("early", "r", "invoke_agent", 10, 20),
        chat("m2", "late", 51, "second"),
        chat("m1", "early", 11, "first"),
    ]
    trajectory = Trace.one(spans).trajectory()
    assert [step.text for step in trajectory.steps] == ["first", "second"]
    assert trajectory.final_answer == "second"
