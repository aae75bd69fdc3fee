"""Planted delays against the buckets of `inv.trace()`, by the agent's own clock: many sessions, both conventions.

Only what no load can change is held here: what adds up, what lies inside of what, in which order
(`python -m tests.benchmarks truth` holds how close the buckets are to the truth on a quiet machine).
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator

import pytest
from bracketed import CLOCKS_NS, check_brackets
from planted import AGENT, CONVENTIONS, Comparison, compare
from waiting import PATIENCE_S

import loomlib as loom
from loomlib import local

SESSIONS = {"latest": 20, "legacy": 5}  # the benchmark has twenty of both


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[loom.Workbench]:
    home = tmp_path_factory.mktemp("truth") / "home"
    with loom.connect(home=home) as opened:
        yield opened
    local.stop(home)


def deploy(bench: loom.Workbench, name: str, *, platform: str = "V1", **environment: str) -> loom.Agent:
    """The agent on V1, where its planted start belongs to each session's first call, unless another is named."""
    return bench.deploy(AGENT, name=name, environment=environment, platform_version=platform)


async def at_once(agent: loom.Agent, sessions: list[str | None]) -> list[loom.Invocation]:
    calls = [agent.ainvoke("Weave.", session_id=session) for session in sessions]
    return [inv.raise_for_status() for inv in await asyncio.gather(*calls)]


def compared(agent: loom.Agent, calls: list[loom.Invocation]) -> list[Comparison]:
    deadline_s = time.monotonic() + PATIENCE_S
    views = {view.invocation_id: view for view in agent.telemetry.traces(last=len(calls))}
    while any(view.state != "found" for view in views.values()) and time.monotonic() < deadline_s:
        views = {view.invocation_id: view for view in agent.telemetry.traces(last=len(calls))}
    for inv in calls:
        assert views[inv.record.id].state == "found"
        assert views[inv.record.id].trace.trace_id == inv.record.trace_id
        breakdown = views[inv.record.id].breakdown()
        assert inv.duration_ms is not None
        assert sum(part.duration_ns for part in breakdown.parts) == breakdown.total_ns == round(inv.duration_ms * 1e6)
        assert min(part.duration_ns for part in breakdown.parts) >= 0
        assert breakdown["unknown"].duration_ns == 0
        check_brackets(inv, views[inv.record.id])
    return [compare(inv, views[inv.record.id]) for inv in calls]


def follows(agent: loom.Agent, convention: str) -> bool:
    (chat, *_) = agent.telemetry.traces(last=1)[0].trace.of_operation("chat")
    return (
        ("gen_ai.provider.name" in chat.attributes) == (convention == "latest") != ("gen_ai.system" in chat.attributes)
    )


@pytest.mark.slow
@pytest.mark.parametrize("convention", CONVENTIONS)
def test_planted_delays_are_found_in_many_sessions_at_once(bench: loom.Workbench, convention: str) -> None:
    agent = deploy(bench, f"timed_{convention}", **CONVENTIONS[convention])

    first = asyncio.run(at_once(agent, [None] * SESSIONS[convention]))
    cold = compared(agent, first)
    assert all(comparison.is_cold for comparison in cold)
    assert all(comparison.traced["cold_start"] >= comparison.slept_ms >= 300 for comparison in cold)

    warm = compared(agent, asyncio.run(at_once(agent, [inv.session_id for inv in first])))
    assert not any(comparison.is_cold for comparison in warm)
    assert follows(agent, convention)
    for comparison in [*cold, *warm]:
        assert comparison.traced["model"] >= 400 - CLOCKS_NS / 1e6
        assert comparison.traced["tools"] >= 200 - CLOCKS_NS / 1e6
        assert comparison.traced["memory"] >= 50 - CLOCKS_NS / 1e6


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_a_cold_start_ends_where_the_agent_states_that_it_began(bench: loom.Workbench, convention: str) -> None:
    agent = deploy(bench, f"alone_{convention}", **CONVENTIONS[convention])
    calls = [agent.invoke("Weave.").raise_for_status() for _ in range(2)]
    # By its brackets: after the agent was ready to serve, before it began to answer.
    comparisons = compared(agent, calls)
    assert all(comparison.is_cold for comparison in comparisons)
    assert all(
        comparison.traced["cold_start"] <= comparison.truth["cold_start"] + CLOCKS_NS / 1e6
        for comparison in comparisons
    )


def test_tools_that_worked_at_once_are_one_stretch_of_time(bench: loom.Workbench) -> None:
    agent = deploy(bench, "both_tools")
    inv = agent.invoke("Weave.").raise_for_status()
    (comparison,) = compared(agent, [inv])
    view = inv.trace()
    calls = view.tool_calls()
    assert sorted(calls["tool"]) == ["look", "search"]
    assert comparison.traced["tools"] < sum(calls["duration_ms"])
    assert comparison.traced["tools"] >= max(calls["duration_ms"])


def test_the_cold_start_of_a_restored_session_has_none_of_the_agents_start(bench: loom.Workbench) -> None:
    agent = deploy(bench, "restored", platform="V2")
    cold = [agent.invoke("Weave.").raise_for_status() for _ in range(2)]
    for comparison, inv in zip(compared(agent, cold), cold, strict=True):
        assert comparison.is_cold
        assert comparison.slept_ms >= 300  # in the snapshot's process, before the call
        assert json.loads(inv.text)["slept"] == json.loads(cold[0].text)["slept"]
