"""Agents that fail: killed, raising, cut off. The invocation says so, keeps what came, and the next call works."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from fault_lab import FaultLab, wait_until

import loomlib as loom
from loomlib.latency import LatencyStudy, Silent

PROTOCOL_AGENTS = Path(__file__).parents[1] / "workbench"


def test_an_agent_killed_in_mid_stream_leaves_a_failed_invocation_with_its_text(lab: FaultLab, agent: loom.Agent):
    session = "killed-in-mid-stream-" + "k" * 20
    texts: list[str] = []
    events = agent.stream("?", payload={"words": 1000, "pause_s": 0.02}, session_id=session)
    for event in events:
        if isinstance(event, loom.Chunk):
            texts.append(event.text)
            if len(texts) == 5:
                first = lab.pid_of(session)
                os.kill(first, signal.SIGKILL)
    assert isinstance(event, loom.InvocationError)
    assert event.failure == "transport"
    stored = agent.history.last(session_id=session)
    assert (stored.status, stored.failure) == ("error", "transport")
    assert stored.text == "".join(texts)
    assert stored.text.startswith("word0 word1 word2 word3 word4 ")
    assert len(texts) < 1000
    again = agent.invoke("once more", session_id=session)
    assert "once more" in again.text, again.error
    assert lab.pid_of(session) not in (0, first)


def test_an_agent_killed_before_its_first_byte_is_the_agents_own_failure(lab: FaultLab, agent: loom.Agent):
    session = "killed-before-it-answers-" + "k" * 20
    calls = len(lab.calls())
    events = agent.stream("?", payload={"pause_s": 600}, session_id=session)
    for event in events:
        if isinstance(event, loom.SessionStart):
            wait_until(lambda: len(lab.calls()) > calls, "the call")
            os.kill(lab.pid_of(session), signal.SIGKILL)
    assert isinstance(event, loom.InvocationError)
    assert event.failure == "agent_error"
    assert "SIGKILL" in event.message
    assert "Agent invoked - Start time" in event.message, "the last log lines belong to the message"
    assert agent.invoke("again", session_id=session).ok


def test_an_error_event_inside_a_200_is_a_failure_of_the_agent(agent: loom.Agent):
    inv = agent.invoke("?", payload={"words": 3, "fail": "mid-stream"})
    assert (inv.status, inv.failure) == ("error", "agent_error")
    assert "the yarn broke" in (inv.error or "")
    assert inv.text.startswith("word0 word1 word2 ")
    assert inv.record.ttft_ms is not None
    assert agent.history.last(session_id=inv.session_id).failure == "agent_error"
    assert agent.invoke("?", session_id=inv.session_id).ok, "the process lives on"


def test_error_events_inside_a_200_are_counted_in_a_study_and_are_in_no_percentile(
    lab: FaultLab, bench: loom.Workbench
):
    agent = lab.deploy(bench, FAIL="mid-stream", WORDS="2")
    result = LatencyStudy(agent, cold=1, warm=1, sticky=2, find_starts=False).run(Silent())
    assert result.failed == 4
    for scenario in result.estimates().scenarios:
        assert scenario.n == 0
        assert set(scenario.failures) == {"agent_error"}
        assert scenario.p50.value is None


@pytest.mark.parametrize("how", ["no end", "too long"])
def test_a_stream_that_the_agents_server_cuts_is_no_complete_answer(lab: FaultLab, bench: loom.Workbench, how: str):
    agent = lab.deploy(bench, "raw.py")
    inv = agent.invoke(how)
    assert (inv.status, inv.failure) == ("error", "transport")
    assert inv.text == "all that "
    assert agent.history.last(session_id=inv.session_id).text == "all that "


def test_a_limit_that_interrupts_a_stream_is_named_in_invocations_and_studies(build: Callable[..., FaultLab]):
    """HTTP has no place for an error once a response has begun; AWS's clients see an interrupted stream."""
    lab = build(limits="answer=2k")
    bench = lab.open()
    agent = lab.deploy(bench, WORDS="5000")
    inv = agent.invoke("?")
    assert (inv.status, inv.failure) == ("error", "resource_limit")
    assert "Resource limit reached: answer (2,048 bytes)" in (inv.error or "")
    assert inv.text.startswith("word0 word1 ")
    assert agent.history.last().failure == "resource_limit"
    result = LatencyStudy(agent, cold=1, warm=0, sticky=0, find_starts=False).run(Silent())
    failures = [scenario.failures for scenario in result.estimates().scenarios if scenario.failures]
    assert [set(failure) for failure in failures] == [{"resource_limit"}]


def test_a_limit_that_interrupts_an_answer_of_mcp_or_a2a_is_named_as_one_of_http(build: Callable[..., FaultLab]):
    bench = build(limits="answer=20k").open()
    warehouse = bench.deploy(
        PROTOCOL_AGENTS / "mcp_test_server.py", name="warehouse", environment={"MCP_PORT": "8000"}, protocol="MCP"
    )
    planner = bench.deploy(PROTOCOL_AGENTS / "a2a_test_agent.py", name="planner", protocol="A2A")
    with warehouse.protocols.mcp(on_sample=lambda _request: "w" * 60_000) as mcp:
        calls = [mcp.call("summarize", text="A long book.")]
    with planner.protocols.a2a() as a2a:
        calls += [a2a.send("w" * 60_000), a2a.stream("w" * 60_000).result()]
    for call in calls:
        assert (call.status, call.failure) == ("error", "resource_limit"), call.error
        assert "Resource limit reached: answer (20,480 bytes)" in (call.error or "")
    assert warehouse.history.last().failure == planner.history.last().failure == "resource_limit"
