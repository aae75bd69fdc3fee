"""Spans of LangGraph, CrewAI and the OpenAI SDKs, recorded from real agents, are read as trajectories.

tests/data/spans: what OpenInference (langchain 0.1.80, openai 0.1.66, openai-agents 2.6.0, crewai 1.1.21), OpenLLMetry
(openai and langchain 0.62 and 0.44) and opentelemetry-instrumentation-openai-v2 2.3b0 exported, with long values cut.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trace_shapes import span

from loomlib.telemetry.cost.usage import usage_of
from loomlib.telemetry.traces import Span, Trace, Trajectory, model_calls, read_spans, tool_calls

RECORDED = Path(__file__).parents[2] / "data" / "spans"
TWO_SUMS = [("calculator", {"expression": "15 * 37"}, "555"), ("calculator", {"expression": "12 * 12"}, "144")]
ONE_SUM = TWO_SUMS[:1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    file: str
    agent: str | None
    calls: list[tuple[str, Any, str]]
    tokens: list[tuple[int, int]]
    cached: int | None = None


RECORDINGS = [
    Recording(file="langgraph_openinference", agent="calculator_agent", calls=TWO_SUMS, tokens=[(70, 36), (188, 8)]),
    Recording(file="langgraph_openinference_prebuilt", agent="LangGraph", calls=ONE_SUM, tokens=[(60, 18), (123, 4)]),
    Recording(
        file="langgraph_openllmetry", agent="calculator_agent", calls=TWO_SUMS, tokens=[(60, 12), (90, 12)], cached=16
    ),
    Recording(
        file="crewai_openinference", agent="Mathematician", calls=ONE_SUM, tokens=[(60, 12), (80, 12)], cached=16
    ),
    Recording(file="openai_agents_openinference", agent="mathematician", calls=ONE_SUM, tokens=[(60, 12), (80, 12)]),
    Recording(file="openai_openinference", agent=None, calls=TWO_SUMS, tokens=[(60, 12), (90, 12)], cached=16),
    Recording(file="openai_openllmetry", agent=None, calls=TWO_SUMS, tokens=[(60, 12), (90, 12)], cached=16),
    Recording(file="openai_openllmetry_0_44", agent=None, calls=TWO_SUMS, tokens=[(60, 12), (90, 12)], cached=16),
    Recording(file="openai_genai_log_records", agent=None, calls=TWO_SUMS, tokens=[(60, 12), (90, 12)]),
]
NESTED = [
    ("langgraph_openinference_nested", "supervisor", "mathematician"),
    ("langgraph_openllmetry_nested", "supervisor", "calculator_agent"),
    ("langgraph_openllmetry_0_44_nested", "supervisor", "calculator_agent"),
    ("openai_agents_openinference_nested", "supervisor", "mathematician"),
]


def traces(file: str) -> list[Trace]:
    batch = read_spans((RECORDED / f"{file}.json").read_bytes())
    assert not batch.problems
    return Trace.of(batch.spans, batch.log_records)


def exchanges(trajectory: Trajectory) -> list[tuple[str, Any, Any]]:
    return [(call.name, call.arguments, call.result) for call in trajectory.tool_calls]


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.file)
def test_an_agent_of_another_framework_is_a_trajectory(recording: Recording) -> None:
    trace = traces(recording.file)[0]
    trajectory = trace.trajectory()
    assert trajectory.agent_name == recording.agent
    assert trace.agent_name == recording.agent
    assert exchanges(trajectory) == recording.calls
    assert "15 * 37" in (trajectory.prompt or "")
    assert trajectory.final_answer is not None
    assert recording.calls[-1][2] in trajectory.final_answer
    assert not trajectory.problems
    kinds = [step.kind for step in trajectory.steps if step.kind != "system"]
    assert kinds == [
        "user",
        *["tool_call"] * len(recording.calls),
        *["tool_result"] * len(recording.calls),
        "assistant",
    ]


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.file)
def test_model_calls_and_tokens_of_another_framework_count_once(recording: Recording) -> None:
    trace = traces(recording.file)[0]
    calls = model_calls(trace)
    assert [(call.input_tokens, call.output_tokens) for call in calls] == recording.tokens
    assert [call.cache_read_tokens for call in calls] == [recording.cached] * len(calls)
    assert all(call.model for call in calls)
    fresh = sum(read for read, _ in recording.tokens) - (recording.cached or 0) * len(calls)
    assert sum(usage.input_tokens or 0 for usage in usage_of(trace)) == fresh  # cached tokens are part of the input


@pytest.mark.parametrize("recording", [item for item in RECORDINGS if item.agent], ids=lambda recording: recording.file)
def test_tools_of_another_framework_have_spans_and_a_part_of_the_time(recording: Recording) -> None:
    trace = traces(recording.file)[0]
    assert [(call.name, call.status) for call in tool_calls(trace)] == [("calculator", "success")] * len(
        recording.calls
    )
    breakdown = trace.breakdown()
    assert breakdown["model"].duration_ns > 0
    assert breakdown["tools"].duration_ns > 0
    assert sum(part.duration_ns for part in breakdown.parts) == breakdown.total_ns


@pytest.mark.parametrize(("file", "outer", "inner"), NESTED, ids=lambda value: value)
def test_an_agent_that_is_called_as_a_tool_shows_its_inner_calls(file: str, outer: str, inner: str) -> None:
    (trace,) = traces(file)
    trajectory = trace.trajectory()
    assert trajectory.agent_name == outer
    (tool_call,) = trajectory.tool_calls
    assert tool_call.name == "ask_mathematician"
    assert "555" in tool_call.result
    (nested,) = trajectory.agents
    assert nested.agent_name == inner
    assert nested.call_id == tool_call.call_id
    assert exchanges(nested) == ONE_SUM
    assert nested.final_answer is not None
    assert len(model_calls(trace)) == 4


def test_a_failed_tool_of_langgraph_is_one_call_with_its_error() -> None:
    (trace,) = traces("langgraph_openinference_failed_tool")
    (call,) = trace.trajectory().tool_calls
    assert (call.name, call.arguments, call.status) == ("calculator", {"expression": "15 / 0"}, "error")
    assert "division by zero" in call.result
    (run,) = tool_calls(trace)
    assert run.error == "ZeroDivisionError: division by zero"


def test_an_export_without_content_names_the_tools_and_says_what_is_missing() -> None:
    trajectory = traces("openai_genai_no_content")[0].trajectory()
    assert trajectory.tool_names == ("calculator", "calculator")
    assert trajectory.problems == ("no_content",)
    assert [call.arguments for call in trajectory.tool_calls] == [None, None]


def test_botocores_spans_beside_langgraphs_calls_are_left_out() -> None:
    """LangChain's callbacks do not make their span the current one, so botocore's has the server's as its parent."""
    (trace,) = traces("langgraph_openinference")
    (root,) = trace.roots
    again = [
        replace(
            chat,
            span_id=f"b{number:015x}",
            parent_id=root.span_id,
            kind="client",
            name=f"chat {number}",
            start_ns=chat.start_ns + 1000,
            end_ns=chat.end_ns - 1000,
            attributes={"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": ["end_turn"]},
        )
        for number, chat in enumerate(trace.of_operation("chat"))
    ]
    both = Trace.one([*trace.spans, *again])
    assert len(both.duplicates) == 2
    assert [call.finish_reason for call in model_calls(both)] == ["end_turn", "end_turn"]
    assert len(both.trajectory().tool_calls) == 2


def test_a_spans_own_attributes_stay_as_they_were_recorded() -> None:
    (trace,) = traces("langgraph_openinference")
    recorded = {
        item["context"]["span_id"][2:]: item["attributes"] for item in json.loads(_text("langgraph_openinference"))
    }
    assert {item.span_id: dict(item.attributes) for item in trace.spans} == recorded
    assert trace.of_operation("chat")[0].facts["gen_ai.usage.input_tokens"] == 70


def test_a_graph_is_an_agent_though_a_node_is_called_agent() -> None:
    (trace,) = traces("langgraph_openinference_prebuilt")
    assert [item.name for item in trace.of_operation("invoke_agent")] == ["LangGraph"]


def test_calls_of_one_tool_are_matched_to_its_spans_by_their_arguments() -> None:
    def tool(id: str, start: float, value: str, output: str) -> Span:
        attributes = {
            "openinference.span.kind": "TOOL",
            "tool.name": "add",
            "input.value": value,
            "output.value": output,
        }
        return span(id, "a", "other", start, start + 5, attributes=attributes)

    call_attributes = {
        f"llm.output_messages.0.message.tool_calls.{number}.tool_call.{name}": value
        for number, (id, arguments) in enumerate([("one", '{"a": 1, "b": 1}'), ("two", '{"a": 2, "b": 2}')])
        for name, value in (("id", id), ("function.name", "add"), ("function.arguments", arguments))
    }
    chat = span("m", "a", "other", 0, 9, attributes={"openinference.span.kind": "LLM", **call_attributes})
    agent = span("a", None, "invoke_agent", 0, 50)
    tools = [tool("x", 10, '{"a": 2, "b": 2}', "4"), tool("y", 12, '{"a": 1, "b": 1}', "2")]
    trajectory = Trace.one([agent, chat, *tools]).trajectory()
    assert [(call.call_id, call.result) for call in trajectory.tool_calls] == [("one", "2"), ("two", "4")]


def test_parts_of_a_message_that_are_not_text_are_named_by_their_kind() -> None:
    contents = {
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.contents.0.message_content.type": "text",
        "llm.input_messages.0.message.contents.0.message_content.text": "What is this?",
        "llm.input_messages.0.message.contents.1.message_content.type": "image",
        "llm.output_messages.0.message.content": "A cat.",
    }
    chat = span("m", None, "other", 0, 9, attributes={"openinference.span.kind": "LLM", **contents})
    trajectory = Trace.one([chat]).trajectory()
    assert [(step.kind, step.text, step.name) for step in trajectory.steps] == [
        ("user", "What is this?", ""),
        ("user", "", "image"),
        ("assistant", "A cat.", ""),
    ]


def test_a_number_of_thousands_of_digits_in_an_attributes_name_does_not_stop_the_reading() -> None:
    attributes = {"openinference.span.kind": "LLM", f"llm.input_messages.{'1' * 4_301}.message.content": "Hello"}
    assert len(Trace.one([span("m", None, "other", 0, 9, attributes=attributes)]).spans) == 1


PIECES = ("llm", "input_messages", "0", "1", "message", "role", "content", "tool_calls", "gen_ai", "prompt", "metadata")
NAMES = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=12).map(".".join),
    st.sampled_from(["llm.token_count.prompt", "input.value", "output.value", "tool.name", "metadata", "agent.name"]),
)
VALUES = st.one_of(
    st.text(max_size=20), st.integers(), st.none(), st.lists(st.text(max_size=3), max_size=3),
    st.sampled_from(['{"type": "tool", "data": 3}', '{"langgraph_node": ["x"]}', '{"output": null, "kwargs": 1}']),
)  # fmt: skip


@given(
    st.lists(
        st.tuples(st.sampled_from(["LLM", "TOOL", "AGENT", "CHAIN", "?"]), st.dictionaries(NAMES, VALUES)), max_size=5
    ),
    st.sampled_from(["openinference.span.kind", "traceloop.span.kind", "llm.request.type"]),
)
def test_no_attribute_of_another_convention_stops_the_reading(
    drawn: list[tuple[str, dict[str, Any]]], kind: str
) -> None:
    spans = [
        span(
            f"{number:016x}",
            f"{number - 1:016x}" if number else None,
            "other",
            number,
            20,
            attributes={**more, kind: role},
        )
        for number, (role, more) in enumerate(drawn)
    ]
    trace = Trace.one(spans)
    assert len(trace.spans) + len(trace.duplicates) == len(spans)
    trace.trajectory()
    trace.breakdown()
    trace.table()
    usage_of(trace)


def _text(file: str) -> str:
    return (RECORDED / f"{file}.json").read_text()
