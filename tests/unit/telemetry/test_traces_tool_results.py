"""A tool's result is read from where it is recorded: its span, the next message to the model, or the cycle's span."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from trace_shapes import T0, span

from loomlib.telemetry.traces import Span, SpanEvent, ToolExchange, Trace, Trajectory

Block = dict[str, Any]
Said = tuple[str, list[Block]]


def call(id: str, name: str = "add", **arguments: Any) -> Block:
    return {"toolUse": {"toolUseId": id, "name": name, "input": arguments}}


def result(id: str, text: str, status: str = "success") -> Block:
    return {"toolResult": {"toolUseId": id, "status": status, "content": [{"text": text}]}}


CONVERSATION: list[Said] = [
    ("user", [{"text": "2+2 and 3+3?"}]),
    ("assistant", [{"text": "Both."}, call("t1", a=2), call("t2", a=3)]),
    ("user", [result("t1", "4"), result("t2", "too hard", "error")]),
    ("assistant", [call("t3", a=4)]),
    ("user", [result("t3", "6")]),
    ("assistant", [{"text": "4 and 6."}]),
]


def part(block: Block) -> Block:
    if use := block.get("toolUse"):
        return {"type": "tool_call", "name": use["name"], "id": use["toolUseId"], "arguments": use["input"]}
    if tool_result := block.get("toolResult"):
        return {"type": "tool_call_response", "id": tool_result["toolUseId"], "response": tool_result["content"]}
    return {"type": "text", "content": block["text"]}


def parts(messages: list[Said]) -> str:
    return json.dumps([{"role": role, "parts": [part(block) for block in blocks]} for role, blocks in messages])


def event(name: str, **attributes: Any) -> SpanEvent:
    return SpanEvent(name=name, time_ns=T0, attributes=attributes)


def said_events(messages: list[Said], answer: Said | None, form: str) -> tuple[SpanEvent, ...]:
    """Return the events in which Strands records a model's input and its answer."""
    if form == "latest":
        details = "gen_ai.client.inference.operation.details"
        output = (event(details, **{"gen_ai.output.messages": parts([answer])}),) if answer else ()
        return (event(details, **{"gen_ai.input.messages": parts(messages)}), *output)
    inputs = (
        event(f"gen_ai.{'tool' if 'toolResult' in blocks[0] else role}.message", content=json.dumps(blocks))
        for role, blocks in messages
    )
    output = (event("gen_ai.choice", message=json.dumps(answer[1])),) if answer else ()
    return (*inputs, *output)


def cycle_end(answer: Said, results: Said, form: str) -> SpanEvent:
    """The event with which Strands ends a cycle that ran tools."""
    if form == "latest":
        details = "gen_ai.client.inference.operation.details"
        return event(details, **{"gen_ai.input.messages": parts([results])})
    return event("gen_ai.choice", **{"message": json.dumps(answer[1]), "tool.result": json.dumps(results[1])})


def tool(id: str, call_id: str, start: float, attributes: Mapping[str, Any] | None = None, **more: Any) -> Span:
    tool_attributes = {"gen_ai.tool.name": "add", "gen_ai.tool.call.id": call_id, **(attributes or {})}
    return span(id, "a", "execute_tool", start, start + 5, attributes=tool_attributes, **more)


def request(form: str, *tools: Span, until: int = 6) -> Trace:
    """An agent whose chats were given the conversation's first 1, 3 and 5 messages, with these tools' spans."""
    chats = [
        span(
            f"m{count}",
            "a",
            "chat",
            count * 20,
            count * 20 + 9,
            events=said_events(messages[:count], messages[count], form),
        )
        for messages in (CONVERSATION,)
        for count in range(1, until, 2)
    ]
    return Trace.one([span("a", None, "invoke_agent", 0, 200), *chats, *tools])


def answers(trajectory: Trajectory) -> list[tuple[str, Any, str]]:
    return [(call.call_id, call.result, call.status) for call in trajectory.tool_calls]


@pytest.mark.parametrize("form", ["legacy", "latest"])
def test_a_result_that_only_the_next_message_holds_is_taken(form: str) -> None:
    trajectory = request(form).trajectory()
    statuses = ("success", "error", "success") if form == "legacy" else ("", "", "")
    assert answers(trajectory) == [("t1", "4", statuses[0]), ("t2", "too hard", statuses[1]), ("t3", "6", statuses[2])]
    kinds = [step.kind for step in trajectory.steps]
    calls = [*(["tool_call"] * 2), *(["tool_result"] * 2), "tool_call", "tool_result"]
    assert kinds == ["user", "assistant", *calls, "assistant"]
    assert (trajectory.prompt, trajectory.final_answer, trajectory.problems) == ("2+2 and 3+3?", "4 and 6.", ())


@pytest.mark.parametrize("form", ["legacy", "latest"])
def test_a_tools_span_without_content_gives_the_status_and_the_next_message_the_result(form: str) -> None:
    tools = [
        tool("x1", "t1", 30, {"gen_ai.tool.status": "success"}),
        tool("x2", "t2", 30, {"gen_ai.tool.status": "error"}, status="error", status_message="too hard"),
        tool("x3", "t3", 70, {"gen_ai.tool.status": "success"}),
    ]
    trajectory = request(form, *tools).trajectory()
    assert answers(trajectory) == [("t1", "4", "success"), ("t2", "too hard", "error"), ("t3", "6", "success")]
    assert [call.span_id for call in trajectory.tool_calls] == ["x1", "x2", "x3"]


@pytest.mark.parametrize("form", ["legacy", "latest"])
def test_results_after_which_no_model_was_called_are_on_the_cycles_span(form: str) -> None:
    chat = span("m", "c", "chat", 1, 9, events=said_events(CONVERSATION[:1], CONVERSATION[1], form))
    end = cycle_end(CONVERSATION[1], CONVERSATION[2], form)
    cycle = span("c", "a", "cycle", 0, 40, events=(*said_events(CONVERSATION[:1], None, form), end))
    stated = {"gen_ai.output.messages": parts([("assistant", [{"text": "Both.\n"}])])}
    trajectory = Trace.one([span("a", None, "invoke_agent", 0, 50, attributes=stated), cycle, chat]).trajectory()
    assert [(id, text) for id, text, _ in answers(trajectory)] == [("t1", "4"), ("t2", "too hard")]
    assert [step.kind for step in trajectory.steps][-4:] == ["tool_call", "tool_call", "tool_result", "tool_result"]
    assert trajectory.final_answer == "Both."
    assert trajectory.problems == ()


@pytest.mark.parametrize("form", ["legacy", "latest"])
def test_where_model_calls_carry_no_messages_their_cycles_do(form: str) -> None:
    def cycle(id: str, count: int, start: float) -> Span:
        events = said_events(CONVERSATION[:count], None, form)
        if count < 5:
            events = (*events, cycle_end(CONVERSATION[count], CONVERSATION[count + 1], form))
        return span(id, "a", "cycle", start, start + 19, events=events)

    cycles = [cycle(f"c{count}", count, count * 20.0) for count in (1, 3, 5)]
    chats = [span(f"m{count}", f"c{count}", "chat", count * 20 + 1, count * 20 + 9) for count in (1, 3, 5)]
    answer = event("gen_ai.choice", message="4 and 6.\n")
    trajectory = Trace.one([span("a", None, "invoke_agent", 0, 200, events=(answer,)), *cycles, *chats]).trajectory()
    assert [(id, text) for id, text, _ in answers(trajectory)] == [("t1", "4"), ("t2", "too hard"), ("t3", "6")]
    kinds = [step.kind for step in trajectory.steps if step.kind.startswith("tool")]
    assert kinds == [*(["tool_call"] * 2), *(["tool_result"] * 2), "tool_call", "tool_result"]
    assert trajectory.final_answer == "4 and 6.\n"
    assert trajectory.problems == ()


def test_an_answer_that_only_the_agents_span_holds_is_the_last_step() -> None:
    """Structured output: the model's last words are a call of a tool, and the agent answers with what it was given."""
    chat = span("m", "a", "chat", 1, 9, events=said_events(CONVERSATION[:1], CONVERSATION[1], "legacy"))
    agent = span("a", None, "invoke_agent", 0, 50, events=(event("gen_ai.choice", message='{"sum": 4}'),))
    trajectory = Trace.one([agent, chat]).trajectory()
    assert trajectory.final_answer == '{"sum": 4}'
    assert (trajectory.steps[-1].kind, trajectory.steps[-1].text) == ("assistant", '{"sum": 4}')


def test_words_before_a_tool_call_are_no_final_answer() -> None:
    last = span("m3", "a", "chat", 60, 70, status="error")
    trajectory = Trace.one([*request("legacy", until=2).spans, last]).trajectory()
    assert trajectory.final_answer is None
    assert trajectory.problems == ("no_result", "failed")


def test_the_models_reasoning_and_a_prompts_picture_are_no_words() -> None:
    messages: list[Said] = [
        ("user", [{"text": "What is it?"}, {"image": {"format": "png"}}, {"text": "Be brief."}]),
        ("assistant", [{"reasoningContent": {"reasoningText": {"text": "A cat, I think."}}}, {"text": "A cat."}]),
    ]
    chat = span("m", "a", "chat", 1, 9, events=said_events(messages[:1], messages[1], "legacy"))
    trajectory = Trace.one([span("a", None, "invoke_agent", 0, 50), chat]).trajectory()
    assert (trajectory.prompt, trajectory.final_answer) == ("What is it?\nBe brief.", "A cat.")
    assert trajectory.messages == (
        {"role": "user", "content": "What is it?\nBe brief."},
        {"role": "assistant", "content": "A cat."},
    )
    assert "A cat, I think." in trajectory.steps[-2].text


def test_a_tools_only_argument_is_not_taken_for_words() -> None:
    """The older convention has a tool's arguments as the content of a message, `{"text": "…"}` too."""
    events = (
        event("gen_ai.tool.message", content='{"text": "7"}'),
        event("gen_ai.choice", message='[{"text": "shipped"}]'),
    )
    trajectory = Trace.one([span("a", None, "invoke_agent", 0, 50), tool("x", "t1", 10, events=events)]).trajectory()
    assert trajectory.tool_calls == (
        ToolExchange(
            name="add",
            call_id="t1",
            arguments={"text": "7"},
            result="shipped",
            is_answered=True,
            span_id="x",
        ),
    )


def test_a_failed_tool_without_a_result_gives_the_reason() -> None:
    failed = event("exception", **{"exception.type": "KeyError", "exception.message": "'b'"})
    trajectory = Trace.one([tool("x", "t1", 10, status="error", events=(failed,))]).trajectory()
    (call,) = trajectory.tool_calls
    assert (call.is_failed, call.result) == (True, "KeyError: 'b'")


def test_content_that_a_policy_holds_back_is_missing_and_not_quoted() -> None:
    hidden = {"gen_ai.tool.call.arguments": "[REDACTED]", "gen_ai.tool.call.result": "[REDACTED]"}
    events = (event("gen_ai.user.message", content="[REDACTED]"), event("gen_ai.choice", message="[REDACTED]"))
    spans = [span("a", None, "invoke_agent", 0, 50), span("m", "a", "chat", 1, 9, events=events)]
    trajectory = Trace.one([*spans, tool("x", "t1", 10, hidden)]).trajectory()
    assert "REDACTED" not in json.dumps(trajectory.as_dict())
    assert [(call.name, call.arguments, call.result) for call in trajectory.tool_calls] == [("add", None, None)]
    assert trajectory.problems == ("no_content",)


def test_calls_without_ids_are_reported_once_and_paired_in_their_order() -> None:
    def nameless(messages: list[Said]) -> list[Said]:
        text = json.dumps(messages)
        for id in ("t1", "t2", "t3"):
            text = text.replace(f'"{id}"', '""')
        return [(role, blocks) for role, blocks in json.loads(text)]

    conversation = nameless(CONVERSATION)
    chats = [
        span(
            f"m{count}",
            "a",
            "chat",
            count * 20,
            count * 20 + 9,
            events=said_events(conversation[:count], conversation[count], "legacy"),
        )
        for count in (1, 3, 5)
    ]
    trajectory = Trace.one([span("a", None, "invoke_agent", 0, 200), *chats]).trajectory()
    assert [(call.arguments, call.result) for call in trajectory.tool_calls] == [
        ({"a": 2}, "4"),
        ({"a": 3}, "too hard"),
        ({"a": 4}, "6"),
    ]
    assert len(trajectory.steps) == 9


def test_an_agent_that_ran_as_a_tool_names_the_call() -> None:
    inner = span("ia", "x1", "invoke_agent", 31, 34)
    chat = span(
        "im", "ia", "chat", 32, 33, events=said_events([("user", [{"text": "sub?"}])], CONVERSATION[5], "latest")
    )
    trajectory = Trace.one([*request("latest", tool("x1", "t1", 30)).spans, inner, chat]).trajectory()
    (nested,) = trajectory.agents
    assert (nested.call_id, nested.prompt, nested.final_answer) == ("t1", "sub?", "4 and 6.")


def test_what_was_cut_off_from_its_agent_is_reported_in_it() -> None:
    """The spans between are missing: of a cycle, and of the tool in which another agent ran."""
    inner = span("ia", "missing", "invoke_agent", 31, 34)
    events = said_events([("user", [{"text": "sub?"}])], ("assistant", [{"text": "5."}]), "legacy")
    chat = span("im", "missing too", "chat", 32, 33, events=events)
    outer = [replace(span, parent_id="gone") if span.span_id[0] == "m" else span for span in request("legacy").spans]
    trajectory = Trace.one([*outer, inner, chat]).trajectory()
    assert (trajectory.span_id, trajectory.prompt, trajectory.final_answer) == ("a", "2+2 and 3+3?", "4 and 6.")
    assert answers(trajectory)[2] == ("t3", "6", "success")
    (nested,) = trajectory.agents
    assert (nested.span_id, nested.prompt, nested.final_answer, nested.call_id) == ("ia", "sub?", "5.", "")


@pytest.mark.parametrize("form", ["legacy", "latest"])
def test_a_trajectory_survives_json(form: str) -> None:
    trajectory = request(form, tool("x1", "t1", 30)).trajectory()
    assert Trajectory.from_dict(json.loads(json.dumps(trajectory.as_dict()))) == trajectory
    assert [message["role"] for message in trajectory.messages] == [
        *("user", "assistant", "tool", "tool", "assistant", "tool", "assistant"),
    ]
    assert trajectory.messages[1]["tool_calls"] == [
        {"id": "t1", "name": "add", "arguments": {"a": 2}},
        {"id": "t2", "name": "add", "arguments": {"a": 3}},
    ]
    assert trajectory.messages[1]["content"] == "Both."


def test_what_json_cannot_hold_becomes_text() -> None:
    attributes = {"gen_ai.tool.call.arguments": b"\xff\x00", "gen_ai.tool.call.result": {1: b"x"}}
    trajectory = Trace.one([tool("x", "t1", 10, attributes)]).trajectory()
    again = Trajectory.from_dict(json.loads(json.dumps(trajectory.as_dict())))
    assert again.tool_calls[0].arguments == "\ufffd\x00"
    assert again.tool_calls[0].result == {"1": "x"}


@pytest.mark.parametrize("wrong", [{}, {"steps": 3}, {"steps": [3]}, {"steps": [{"text": "of nobody"}]}])
def test_what_is_no_trajectory_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="trajectory"):
        Trajectory.from_dict(wrong)


def test_cut_values_are_a_problem_of_the_trajectory() -> None:
    chat = span("m", "a", "chat", 1, 9, events=said_events(CONVERSATION[:1], CONVERSATION[5], "legacy"))
    cut = span("m", "a", "chat", 1, 9, events=chat.events, marks=frozenset({"values_cut"}))
    agent = span("a", None, "invoke_agent", 0, 50)
    assert Trace.one([agent, chat]).trajectory().problems == ()
    assert Trace.one([agent, cut]).trajectory().problems == ("values_cut",)
