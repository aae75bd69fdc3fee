"""Causes planted in a running Strands agent: each is named first by `inv.trace().findings()`, and calm calls by none.

Network and a slow client cannot be had on loopback; they are planted in `tests/unit/telemetry/diagnosis`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from waiting import wait_until
from whole_traces import traced

import loomlib as loom
from loomlib import local
from loomlib.telemetry.cost import RuntimeUse, cost_of

pytestmark = pytest.mark.slow
AGENT = Path(__file__).parent / "planned"
LATEST = {"OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental"}


def look(seconds: float = 0.05, characters: int = 20, what: str = "loom") -> tuple[str, dict[str, Any]]:
    return "look", {"what": what, "seconds": seconds, "characters": characters}


def search(seconds: float = 0.05) -> tuple[str, dict[str, Any]]:
    return "search", {"what": "loom", "seconds": seconds}


END = {"model_s": 0.4, "read": 1300}
CALM = {"turns": [{"model_s": 0.5, "tools": [look(0.12), search(0.2)]}, END], "memory": 1}
PLANS: dict[str, dict[str, Any]] = {
    "too_many_cycles": {"turns": [{"model_s": 0.3, "tools": [look(what=f"{turn}")]} for turn in range(6)] + [END]},
    "token_growth": {
        "turns": [
            {
                "model_s": 0.3 + 0.4 * turn,
                "read": 1500 + 2000 * turn,
                "tools": [look(what=f"{turn}")] if turn < 4 else [],
            }
            for turn in range(5)
        ]
    },
    "slow_tool": {"turns": [{"model_s": 0.4, "tools": [look(1.6), search()]}, END]},
    "serial_tools": {"turns": [{"model_s": 0.4, "tools": [look(0.4), search(0.4), look(0.35)]}, END], "serial": True},
    "oversized_result": {
        "turns": [{"model_s": 0.3, "tools": [look(characters=48_000)]}, {"model_s": 1.9, "read": 13_400}]
    },
    "throttling_retries": {"turns": [{"model_s": 0.4, "tools": [look()]}, END], "refusals": 1},
    "slow_first_token": {"turns": [{"model_s": 3.6, "first_s": 3.5}]},
    "large_prompt": {"turns": [{"model_s": 0.9, "read": 40_000, "tools": [look()]}, {"model_s": 0.9, "read": 40_100}]},
    "chatty_memory": {"turns": [{"model_s": 0.5}], "memory": 16},
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[loom.Workbench]:
    home = tmp_path_factory.mktemp("causes") / "home"
    with loom.connect(home=home) as opened:
        yield opened
    local.stop(home)


@pytest.fixture(scope="module", params=["legacy", "latest"])
def agent(bench: loom.Workbench, request: pytest.FixtureRequest) -> loom.Agent:
    environment = {"COLD_S": "1.2"} | (LATEST if request.param == "latest" else {})
    # On V1, where each session boots: on V2 the planted start is over before the first session.
    return bench.deploy(AGENT, name=f"planned_{request.param}", environment=environment, platform_version="V1")


@pytest.fixture(scope="module")
def warm(agent: loom.Agent) -> loom.Invocation:
    """A first call in a session of its own: the others follow in it."""
    return traced(agent.invoke("", payload={"plan": CALM}).raise_for_status())


def test_a_cold_start_is_named_first(warm: loom.Invocation) -> None:
    findings = warm.trace().findings()
    assert findings.first is not None
    assert findings.first.rule == "cold_start", findings.table()
    assert findings.problems == ()


@pytest.mark.parametrize("cause", PLANS)
def test_a_cause_planted_in_a_running_agent_is_named_first(
    agent: loom.Agent, warm: loom.Invocation, cause: str
) -> None:
    inv = agent.invoke("", payload={"plan": PLANS[cause]}, session_id=warm.record.session_id).raise_for_status()
    findings = traced(inv).trace().findings()
    assert findings.first is not None
    assert findings.first.rule == cause, findings.table()
    assert findings.problems == ()


def test_calm_calls_are_left_in_peace_and_have_a_price(agent: loom.Agent, warm: loom.Invocation) -> None:
    def calm_call() -> loom.Invocation | None:
        """A call, unless its agent had to wait for a CPU: a finding would then be right."""
        inv = agent.invoke("", payload={"plan": CALM}, session_id=warm.record.session_id).raise_for_status()
        return inv if json.loads(inv.text)["waited_ms"] < 200 else None

    for _ in range(3):
        inv = wait_until(calm_call, what="a call with less than 200 ms of waiting for a CPU")
        assert inv is not None
        view = traced(inv).trace()
        assert view.findings().findings == ()
    assert inv.duration_ms is not None
    use = RuntimeUse.during(inv.duration_ms / 1000, active_vcpus=1.0, memory_gb=0.2)
    cost = cost_of(view.trace, runtime=use, is_simulated=True)
    assert cost.total.state == "known"
    assert cost.total.is_estimate
    assert (cost.tokens("input"), cost.tokens("output")) == (2500, 80)
