"""An agent that is written with LangGraph runs on the local AgentCore, and its spans are a trajectory."""

from __future__ import annotations

from pathlib import Path

import pytest
from langgraph_test_agent import LANGGRAPH_AGENT
from whole_traces import traced

import loomlib as loom
from loomlib.evals import EvalSet
from loomlib.evals.values.tool_use import ExpectedTool
from loomlib.telemetry.traces import model_calls, tool_calls

PROMPT = 'Ask the mathematician "Multiply 15 by 37."'


@pytest.fixture(scope="module")
def supervisor(bench: loom.Workbench, tmp_path_factory: pytest.TempPathFactory) -> loom.Agent:
    folder = tmp_path_factory.mktemp("supervisor")
    Path(folder, "agent.py").write_text(LANGGRAPH_AGENT)
    return bench.deploy(folder, name="langgraph_supervisor")


def test_nested_agents_of_langgraph_show_their_inner_calls(supervisor: loom.Agent) -> None:
    invocation = supervisor.invoke(PROMPT).raise_for_status()
    assert "555" in invocation.text
    trace = traced(invocation).trace().trace
    trajectory = trace.trajectory()
    assert trajectory.agent_name == "supervisor"
    assert trajectory.tool_names == ("ask_mathematician",)
    (below,) = trajectory.agents
    assert below.agent_name == "mathematician"
    assert [(call.name, call.arguments, call.result) for call in below.tool_calls] == [
        ("multiply", {"a": 15, "b": 37}, "555")
    ]
    # boto3's own spans repeat the four model calls, and are left out.
    calls = model_calls(trace)
    assert len(calls) == 4
    assert all(call.input_tokens and call.output_tokens for call in calls)
    assert len(tool_calls(trace)) == 2
    assert "orphan" not in trace.marks


def test_an_agent_of_langgraph_is_evaluated_by_its_trajectory(supervisor: loom.Agent) -> None:
    def case(id: str, tool: str) -> loom.EvalCase:
        expected = (ExpectedTool(name=tool),)
        return loom.EvalCase(id=id, turns=(loom.evals.Turn(prompt=PROMPT, expected_tools=expected),))

    evalset = EvalSet(name="langgraph", cases=(case("right", "ask_mathematician"), case("wrong", "ask_poet")))
    run = supervisor.evaluate(evalset, ["trajectory"])
    assert [score == 1 for score in run.rows()["trajectory"]] == [True, False]
