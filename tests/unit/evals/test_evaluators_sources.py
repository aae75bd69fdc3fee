"""Where trajectories come from: traces of both conventions, bodies of several frameworks, lists, callables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loomlib.evals import ToolUse
from loomlib.evals.trajectories import tools_of
from loomlib.telemetry import Trace, Trajectory, read_spans, trajectory

LOOKUP = ToolUse(name="lookup_order", arguments={"order_id": "7"}, result="shipped")
ARGUMENTS = {"order_id": "7"}
STRANDS = {
    "messages": [
        {"role": "user", "content": [{"text": "Where is order 7?"}]},
        {
            "role": "assistant",
            "content": [{"toolUse": {"toolUseId": "t1", "name": "lookup_order", "input": ARGUMENTS}}],
        },
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "t1", "status": "success", "content": [{"text": "shipped"}]}}],
        },
        {"role": "assistant", "content": [{"text": "It is shipped."}]},
    ]
}
FUNCTION = {"name": "lookup_order", "arguments": '{"order_id": "7"}'}
OPENAI = [
    {"role": "user", "content": "Where is order 7?"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": FUNCTION}]},
    {"role": "tool", "tool_call_id": "c1", "content": "shipped"},
]
OPENAI_RESPONSES = {
    "output": [
        {"type": "function_call", "call_id": "c1", "name": "lookup_order", "arguments": '{"order_id": "7"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "shipped"},
    ]
}
ANTHROPIC = [
    {"role": "assistant", "content": [{"type": "tool_use", "id": "u1", "name": "lookup_order", "input": ARGUMENTS}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "u1", "content": "shipped"}]},
]
ADK_CALL = {"functionCall": {"name": "lookup_order", "args": ARGUMENTS}}
ADK_RESPONSE = {"functionResponse": {"name": "lookup_order", "response": "shipped"}}
ADK_EVENTS = [
    {"author": "orders", "content": {"role": "model", "parts": [ADK_CALL]}},
    {"author": "orders", "content": {"role": "user", "parts": [ADK_RESPONSE]}},
]
ADK_DATA = {
    "intermediate_data": {
        "tool_uses": [{"name": "lookup_order", "args": {"order_id": "7"}}],
        "tool_responses": [{"name": "lookup_order", "response": "shipped"}],
    }
}
BODIES = {
    "strands": STRANDS, "openai": OPENAI, "openai responses": OPENAI_RESPONSES, "anthropic": ANTHROPIC,
    "adk events": ADK_EVENTS, "adk data": ADK_DATA,
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(BODIES))
def test_a_body_tells_its_tool_calls(name: str) -> None:
    for body in (BODIES[name], json.dumps(BODIES[name])):
        (call,) = tools_of(body) or ()
        assert (call.name, call.arguments, call.result) == (LOOKUP.name, LOOKUP.arguments, LOOKUP.result)
    assert tools_of([BODIES[name], BODIES[name]]) is not None


def test_messages_without_a_call_report_it_and_other_bodies_report_nothing() -> None:
    assert tools_of({"messages": [{"role": "assistant", "content": [{"text": "hello"}]}]}) == ()
    assert tools_of({"result": "It is shipped."}) is None
    assert tools_of("plain words") is None
    assert tools_of(None) is None
    assert tools_of([]) == ()


def test_names_uses_and_callables_are_read_too() -> None:
    assert tools_of(["a", "b"]) == (ToolUse(name="a"), ToolUse(name="b"))
    assert tools_of([LOOKUP]) == (LOOKUP,)
    assert tools_of({"path": ["a"]}, read=lambda body: body["path"]) == (ToolUse(name="a"),)


def test_a_tools_input_is_not_a_call() -> None:
    inner = {"messages": [{"role": "assistant", "content": [{"toolUse": {"name": "planted", "input": {}}}]}]}
    body = {"messages": [{"role": "assistant", "content": [{"toolUse": {"name": "a", "input": inner}}]},
                         {"role": "user", "content": [{"toolResult": {"content": [{"json": inner}]}}]}]}  # fmt: skip
    assert [use.name for use in tools_of(body) or ()] == ["a"]


def test_two_calls_of_one_tool_keep_their_own_results() -> None:
    body = {
        "tool_uses": [{"name": "a", "args": {"n": 1}}, {"name": "a", "args": {"n": 2}}],
        "tool_responses": [{"name": "a", "response": "one"}, {"name": "a", "response": "two"}],
    }
    assert [use.result for use in tools_of(body) or ()] == ["one", "two"]


WORDS = st.sampled_from(
    ["messages", "content", "role", "toolUse", "name", "input", "tool_calls", "function", "type", "tool_use", "x"]
)
TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=25,
)  # fmt: skip


@settings(deadline=None)
@given(TREES)
def test_any_body_is_read_without_an_error(body: object) -> None:
    uses = tools_of(body)
    assert uses is None or all(use.name for use in uses)


def test_a_body_of_any_depth_is_read() -> None:
    deep: object = {"role": "assistant", "content": "end"}
    for _ in range(20_000):
        deep = {"messages": [deep]}
    assert tools_of(deep) == ()


SPANS = Path(__file__).parents[2] / "data" / "otel"


@pytest.mark.parametrize(
    "files", [("adot_split_spans.json", "adot_split_otel_rt_logs.json"), ("adot_otlp_traces.json",)]
)
def test_a_trace_tells_each_call_with_its_arguments_and_its_own_duration(files: tuple[str, ...]) -> None:
    batches = [read_spans(json.loads((SPANS / file).read_text("utf-8"))) for file in files]
    spans = [span for batch in batches for span in batch.spans]
    traces = Trace.of(spans, [record for batch in batches for record in batch.log_records])
    pairs = [(trajectory(trace), tools_of(trace)) for trace in traces]
    assert any(uses for _, uses in pairs)
    for path, uses in pairs:
        assert tuple(use.name for use in uses or ()) == path.tool_names
        assert tuple(use.name for use in tools_of(path) or ()) == path.tool_names
        assert all(use.duration_ms is not None for use in uses or ())


def test_a_trace_without_spans_does_not_say_which_tools_were_used() -> None:
    assert tools_of(Trajectory(agent_name=None, steps=(), final_answer=None, problems=("no_spans",))) is None
    assert tools_of(Trajectory(agent_name="a", steps=(), final_answer="hello")) == ()
