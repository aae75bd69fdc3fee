"""The load engine and agents that speak MCP and A2A: right requests, and errors inside answers with the status 200."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import loomlib as loom
from loomlib import local
from loomlib.errors import InvalidArgumentsError, NotSupportedError
from loomlib.experiments import Silent
from loomlib.latency.load.arrivals import ConstantArrivals
from loomlib.latency.load.calls import LoadCall
from loomlib.latency.load.engine import LoadEngine
from loomlib.latency.load.plans import plan_load
from loomlib.latency.load.sessions import WarmSessions

QUESTION = "What is 15 * 37, add 42?"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[loom.Workbench]:
    home = tmp_path_factory.mktemp("load_protocols") / ".loom"
    try:
        with loom.connect(home=home) as bench:
            yield bench
    finally:
        local.stop(home)


@pytest.fixture(scope="module")
def tools(bench: loom.Workbench) -> loom.Agent:
    """A stateless MCP server."""
    return bench.deploy("calculator_protocols", name="tools", protocol="MCP", environment={"SERVER": "MCP"})


def calls_of(agent: loom.Agent, prompt: str, folder: Path, *, calls: int = 5) -> list[LoadCall]:
    """Make a few calls in one session."""
    target = agent.targets.load_target()
    plan = plan_load(
        ConstantArrivals(rate_per_s=10),
        target.bodies(prompt),
        seconds=calls / 10,
        run="r1",
        seed=0,
        sessions=WarmSessions(sessions=1),
    )
    engine = LoadEngine(target.target(), processes=1, folder=folder, timeout_s=60)
    engine.run(plan.before, step="before")
    run = engine.run(plan.calls, step="step")
    return [run.calls[index] for index in plan.measured]


def test_a_stateless_mcp_server_is_called_by_its_tool_and_its_errors_count_as_failures(
    tools: loom.Agent, tmp_path: Path
) -> None:
    prompt = json.dumps({"tool": "ask", "arguments": {"prompt": QUESTION}})
    calls = calls_of(tools, prompt, tmp_path / "answered")
    assert [(call.state, call.failure) for call in calls] == [("complete", None)] * 5
    assert all(call.ttft_ms is not None and call.duration_ms is not None for call in calls)
    assert all(call.bytes_received > 20 for call in calls)
    wrong = json.dumps({"tool": "ask", "arguments": {"question": QUESTION}})
    failed = calls_of(tools, wrong, tmp_path / "failed", calls=2)
    assert {(call.state, call.status) for call in failed} == {("failed", 200)}
    assert all(
        call.failure in ("agent_error", "rejected") and "prompt" in (call.error_message or "") for call in failed
    )
    with pytest.raises(InvalidArgumentsError, match="does not name a tool"):
        tools.targets.load_target().bodies(QUESTION)


def test_an_a2a_agent_is_load_tested_like_any_other(bench: loom.Workbench) -> None:
    agent = bench.deploy("a2a_agent")
    study = loom.LoadStudy(agent, slo="p90 duration < 30 s", loads=(6,), seconds=1.5, sessions=1, prompt=QUESTION)
    (step,) = study.run(Silent()).by_load
    assert step.figures is not None
    assert step.figures.n >= 3
    assert not step.figures.failures
    assert step.figures.ttft[0.5].estimate.n == step.figures.n


def test_an_mcp_server_that_wants_a_handshake_is_refused_by_one_error_that_names_why(bench: loom.Workbench) -> None:
    stateful = bench.deploy(
        "calculator_protocols", name="stateful", protocol="MCP", environment={"SERVER": "MCP stateful"}
    )
    with pytest.raises(NotSupportedError, match="does not answer requests without a handshake") as raised:
        stateful.targets.load_target().target()
    assert "stateless_http=True" in str(raised.value)
