"""Calls over MCP, A2A and AG-UI become eval cases, and their agents are evaluated and measured with them."""

from __future__ import annotations

from whole_traces import traced

import loomlib as loom
from loomlib.evals import EvalSet
from loomlib.experiments import Silent

EMPTY = EvalSet(name="captured", cases=())


def test_an_mcp_call_becomes_a_case_and_the_handshake_does_not(bench: loom.Workbench) -> None:
    agent = bench.deploy("mcp_server", name="mcp_cases")
    with agent.protocols.mcp() as mcp:
        call = mcp.call("calculator", expression="6 * 7").raise_for_status()
        mcp.call("calculator", expression="2 + 2")
    case = call.evals.case(tags=["sums"])
    assert (case.prompt, case.expected_answer) == ('{"tool": "calculator", "arguments": {"expression": "6 * 7"}}', "42")
    assert agent.evals.capture(EMPTY, call, tags=["sums"]).cases == (case,)
    session = agent.evals.capture(EMPTY, session_id=call.session_id).cases[0]
    assert [turn.expected_answer for turn in session.turns] == ["42", "4"]
    collected = bench.evals.collect(EMPTY, "mcp_cases", by_session=False, successes=1.0).evalset
    assert sorted(case.expected_answer or "" for case in collected.cases) == ["4", "42"]
    run = agent.evaluate(collected.with_cases(session), ["exact"])
    assert list(run.rows()["exact"]) == [1, 1, 1]


def test_an_a2a_call_becomes_a_case_that_the_agent_passes(bench: loom.Workbench) -> None:
    agent = bench.deploy("a2a_agent", name="a2a_cases")
    with agent.protocols.a2a() as a2a:
        call = a2a.send("What is 15 * 37?").raise_for_status()
    traced(call)
    case = call.evals.case()
    assert case.prompt == "What is 15 * 37?"
    assert [tool.name for tool in case.expected_tools or ()] == ["calculator"]
    run = agent.evaluate(EMPTY.with_cases(case), ["exact"])
    assert list(run.rows()["exact"]) == [1]


def test_an_ag_ui_agent_that_takes_nothing_but_runs_is_evaluated_and_measured(bench: loom.Workbench) -> None:
    agent = bench.deploy("calculator_protocols", name="agui_cases", protocol="AGUI", environment={"SERVER": "AG-UI"})
    assert not agent.invoke("What is 6 * 7?").ok  # {"prompt": …} is not an input of a run
    case = loom.EvalCase(id="one", turns=(loom.evals.Turn(prompt="What is 6 * 7?", expected_answer="6 * 7 = 42."),))
    run = agent.evaluate(EMPTY.with_cases(case), ["exact"])
    assert list(run.rows()["exact"]) == [1]
    result = loom.LatencyStudy(agent, prompt="What is 6 * 7?", cold=0, warm=1, sticky=0).run(Silent())
    assert "0 failed" in repr(result)
