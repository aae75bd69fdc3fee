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
    if found := block.get("toolResult"):
        return {"type": "tool_call_response", "id": found["toolUseId"], "response": found["content"]}
    return {"type": "text", "content": block["text"]}


def parts(messages: list[Said]) -> str:
    return json.dumps([{"role": role, "parts": [part(each) for each in blocks]} for role, blocks in messages])


def event(name: str, **attributes: Any) -> SpanEvent:
    return SpanEvent(name=name, time_ns=T0, attributes=attributes)


def said_events(given: list[Said], answer: Said | None, form: str) -> tuple[SpanEvent, ...]:
    """The events with which Strands tells what a model was given and what it answered."""
    if form == "latest":
        details = "gen_ai.client.inference.operation.details"
        output = (event(details, **{"gen_ai.output.messages": parts([answer])}),) if answer else ()
        return (event(details, **{"gen_ai.input.messages": parts(given)}), *output)
    inputs = (
        event(f"gen_ai.{'tool' if 'toolResult' in blocks[0] else role}.message", content=json.dumps(blocks))
        for role, blocks in given
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
    named = {"gen_ai.tool.name": "add", "gen_ai.tool.call.id": call_id, **(attributes or {})}
    return span(id, "a", "execute_tool", start, start + 5, attributes=named, **more)


def request(form: str, *tools: Span, until: int = 6) -> Trace:
    """An agent whose chats were given the conversation's first 1, 3 and 5 messages, with these tools' spans."""
    chats = [
        span(f"m{given}", "a", "chat", given * 20, given * 20 + 9, events=said_events(said[:given], said[given], form))
        for said in (CONVERSATION,)
        for given in range(1, until, 2)
    ]
    return Trace.one([span("a", None, "invoke_agent", 0, 200), *chats, *tools])


def answers(found: Trajectory) -> list[tuple[str, Any, str]]:
    return [(each.call_id, each.result, each.status) for each in found.tool_calls]


@pytest.mark.parametrize("form", ["legacy", "latest"])
def test_a_result_that_only_the_next_message_holds_is_taken(form: str) -> None:
    found = request(form).trajectory()
    said = ("success", "error", "success") if form == "legacy" else ("", "", "")
    assert answers(found) == [("t1", "4", said[0]), ("t2", "too hard", said[1]), ("t3", "6", said[2])]
    kinds = [step.kind for step in found.steps]
    calls = [*(["tool_call"] * 2), *(["tool_result"] * 2), "tool_call", "tool_result"]
    assert kinds == ["user", "assistant", *calls, "assistant"]
    assert (found.prompt, found.final_answer, found.problems) == ("2+2 and 3+3?", "4 and 6.", ())


@pytest.mark.parametrize("form", ["legacy", "latest"])
def test_a_tools_span_without_content_gives_the_status_and_the_next_message_the_result(form: str) -> None:
    tools = [
        tool("x1", "t1", 30, {"gen_ai.tool.status": "success"}),
        tool("x2", "t2", 30, {"gen_ai.tool.status": "error"}, status="error", status_message="too hard"),
        tool("x3", "t3", 70, {"gen_ai.tool.status": "success"}),
    ]
    found = request(form, *tools).trajectory()
    assert answers(found) == [("t1", "4", "success"), ("t2", "too hard", "error"), ("t3", "6", "success")]
    assert [each.span_id for each in found.tool_calls] == ["x1", "x2", "x3"]


@pytest.mark.parametrize("form", ["legacy", "latest"])
def test_results_after_which_no_model_was_called_are_on_the_cycles_span(form: str) -> None:
    chat = span("m", "c", "chat", 1, 9, events=said_events(CONVERSATION[:1], CONVERSATION[1], form))
    end = cycle_end(CONVERSATION[1], CONVERSATION[2], form)
    cycle = span("c", "a", "cycle", 0, 40, events=(*said_events(CONVERSATION[:1], None, form), end))
    stated = {"gen_ai.output.messages": parts([("assistant", [{"text": "Both.\n"}])])}
    found = Trace.one([span("a", None, "invoke_agent", 0, 50, attributes=stated), cycle, chat]).trajectory()
    assert [(id, said) for id, said, _ in answers(found)] == [("t1", "4"), ("t2", "too hard")]
    assert [step.kind for step in found.steps][-4:] == ["tool_call", "tool_call", "tool_result", "tool_result"]
    assert found.final_answer == "Both."
    assert found.problems == ()


@pytest.mark.parametrize("form", ["legacy", "latest"])
def test_where_model_calls_carry_no_messages_their_cycles_do(form: str) -> None:
    def cycle(id: str, given: int, start: float) -> Span:
        events = said_events(CONVERSATION[:given], None, form)
        if given < 5:
            events = (*events, cycle_end(CONVERSATION[given], CONVERSATION[given + 1], form))
        return span(id, "a", "cycle", start, start + 19, events=events)

    cycles = [cycle(f"c{given}", given, given * 20.0) for given in (1, 3, 5)]
    chats = [span(f"m{given}", f"c{given}", "chat", given * 20 + 1, given * 20 + 9) for given in (1, 3, 5)]
    answer = event("gen_ai.choice", message="4 and 6.\n")
    found = Trace.one([span("a", None, "invoke_agent", 0, 200, events=(answer,)), *cycles, *chats]).trajectory()
    assert [(id, said) for id, said, _ in answers(found)] == [("t1", "4"), ("t2", "too hard"), ("t3", "6")]
    kinds = [step.kind for step in found.steps if step.kind.startswith("tool")]
    assert kinds == [*(["tool_call"] * 2), *(["tool_result"] * 2), "tool_call", "tool_result"]
    assert found.final_answer == "4 and 6.\n"
    assert found.problems == ()


def test_an_answer_that_only_the_agents_span_holds_is_the_last_step() -> None:
    """Structured output: the model's last words are a call of a tool, and the agent answers with what it was given."""
    chat = span("m", "a", "chat", 1, 9, events=said_events(CONVERSATION[:1], CONVERSATION[1], "legacy"))
    agent = span("a", None, "invoke_agent", 0, 50, events=(event("gen_ai.choice", message='{"sum": 4}'),))
    found = Trace.one([agent, chat]).trajectory()
    assert found.final_answer == '{"sum": 4}'
    assert (found.steps[-1].kind, found.steps[-1].text) == ("assistant", '{"sum": 4}')


def test_words_before_a_tool_call_are_no_final_answer() -> None:
    last = span("m3", "a", "chat", 60, 70, status="error")
    found = Trace.one([*request("legacy", until=2).spans, last]).trajectory()
    assert found.final_answer is None
    assert found.problems == ("no_result", "failed")


def test_the_models_reasoning_and_a_prompts_picture_are_no_words() -> None:
    said: list[Said] = [
        ("user", [{"text": "What is it?"}, {"image": {"format": "png"}}, {"text": "Be brief."}]),
        ("assistant", [{"reasoningContent": {"reasoningText": {"text": "A cat, I think."}}}, {"text": "A cat."}]),
    ]
    chat = span("m", "a", "chat", 1, 9, events=said_events(said[:1], said[1], "legacy"))
    found = Trace.one([span("a", None, "invoke_agent", 0, 50), chat]).trajectory()
    assert (found.prompt, found.final_answer) == ("What is it?\nBe brief.", "A cat.")
    assert found.messages == (
        {"role": "user", "content": "What is it?\nBe brief."},
        {"role": "assistant", "content": "A cat."},
    )
    assert "A cat, I think." in found.steps[-2].text


def test_a_tools_only_argument_is_not_taken_for_words() -> None:
    """The older convention has a tool's arguments as the content of a message, `{"text": "…"}` too."""
    events = (
        event("gen_ai.tool.message", content='{"text": "7"}'),
        event("gen_ai.choice", message='[{"text": "shipped"}]'),
    )
    found = Trace.one([span("a", None, "invoke_agent", 0, 50), tool("x", "t1", 10, events=events)]).trajectory()
    assert found.tool_calls == (
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
    found = Trace.one([tool("x", "t1", 10, status="error", events=(failed,))]).trajectory()
    (only,) = found.tool_calls
    assert (only.is_failed, only.result) == (True, "KeyError: 'b'")


def test_content_that_a_policy_holds_back_is_missing_and_not_quoted() -> None:
    hidden = {"gen_ai.tool.call.arguments": "[REDACTED]", "gen_ai.tool.call.result": "[REDACTED]"}
    events = (event("gen_ai.user.message", content="[REDACTED]"), event("gen_ai.choice", message="[REDACTED]"))
    spans = [span("a", None, "invoke_agent", 0, 50), span("m", "a", "chat", 1, 9, events=events)]
    found = Trace.one([*spans, tool("x", "t1", 10, hidden)]).trajectory()
    assert "REDACTED" not in json.dumps(found.as_dict())
    assert [(each.name, each.arguments, each.result) for each in found.tool_calls] == [("add", None, None)]
    assert found.problems == ("no_content",)


def test_calls_without_ids_are_reported_once_and_paired_in_their_order() -> None:
    def nameless(messages: list[Said]) -> list[Said]:
        text = json.dumps(messages)
        for id in ("t1", "t2", "t3"):
            text = text.replace(f'"{id}"', '""')
        return [(role, blocks) for role, blocks in json.loads(text)]

    said = nameless(CONVERSATION)
    chats = [
        span(
            f"m{given}",
            "a",
            "chat",
            given * 20,
            given * 20 + 9,
            events=said_events(said[:given], said[given], "legacy"),
        )
        for given in (1, 3, 5)
    ]
    found = Trace.one([span("a", None, "invoke_agent", 0, 200), *chats]).trajectory()
    assert [(each.arguments, each.result) for each in found.tool_calls] == [
        ({"a": 2}, "4"),
        ({"a": 3}, "too hard"),
        ({"a": 4}, "6"),
    ]
    assert len(found.steps) == 9


def test_an_agent_that_ran_as_a_tool_names_the_call() -> None:
    inner = span("ia", "x1", "invoke_agent", 31, 34)
    chat = span(
        "im", "ia", "chat", 32, 33, events=said_events([("user", [{"text": "sub?"}])], CONVERSATION[5], "latest")
    )
    found = Trace.one([*request("latest", tool("x1", "t1", 30)).spans, inner, chat]).trajectory()
    (below,) = found.agents
    assert (below.call_id, below.prompt, below.final_answer) == ("t1", "sub?", "4 and 6.")


def test_what_was_cut_off_from_its_agent_is_reported_in_it() -> None:
    """The spans between are missing: of a cycle, and of the tool in which another agent ran."""
    inner = span("ia", "missing", "invoke_agent", 31, 34)
    said = said_events([("user", [{"text": "sub?"}])], ("assistant", [{"text": "5."}]), "legacy")
    chat = span("im", "missing too", "chat", 32, 33, events=said)
    outer = [replace(each, parent_id="gone") if each.span_id[0] == "m" else each for each in request("legacy").spans]
    found = Trace.one([*outer, inner, chat]).trajectory()
    assert (found.span_id, found.prompt, found.final_answer) == ("a", "2+2 and 3+3?", "4 and 6.")
    assert answers(found)[2] == ("t3", "6", "success")
    (below,) = found.agents
    assert (below.span_id, below.prompt, below.final_answer, below.call_id) == ("ia", "sub?", "5.", "")


@pytest.mark.parametrize("form", ["legacy", "latest"])
def test_a_trajectory_survives_json(form: str) -> None:
    found = request(form, tool("x1", "t1", 30)).trajectory()
    assert Trajectory.from_dict(json.loads(json.dumps(found.as_dict()))) == found
    assert [each["role"] for each in found.messages] == [
        *("user", "assistant", "tool", "tool", "assistant", "tool", "assistant"),
    ]
    assert found.messages[1]["tool_calls"] == [
        {"id": "t1", "name": "add", "arguments": {"a": 2}},
        {"id": "t2", "name": "add", "arguments": {"a": 3}},
    ]
    assert found.messages[1]["content"] == "Both."


def test_what_json_cannot_hold_becomes_text() -> None:
    named = {"gen_ai.tool.call.arguments": b"\xff\x00", "gen_ai.tool.call.result": {1: b"x"}}
    found = Trace.one([tool("x", "t1", 10, named)]).trajectory()
    again = Trajectory.from_dict(json.loads(json.dumps(found.as_dict())))
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
