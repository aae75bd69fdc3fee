"""Agents that return control: both sides are answered as the case says, and a missing result is a failure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import loomlib as loom
from loomlib import local
from loomlib.evals import EvalCase, EvalSet, Turn
from loomlib.evals.values.tool_use import ExpectedTool
from loomlib.imports.bedrock_agents import ImportedAgent
from loomlib.workbench.bench_bedrock_agents import BedrockAgentView

ROLE = "arn:aws:iam::123456789012:role/agents"
ANSWERED = "The order 4711 was shipped on Monday."


@dataclass(frozen=True)
class Scene:
    bench: loom.Workbench
    old: BedrockAgentView
    new: loom.Agent
    imported: ImportedAgent


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """An agent that returns its calls, and the agent that Loom generates from it."""
    folder = tmp_path_factory.mktemp("returned")
    with loom.connect(home=folder / "home") as bench:
        agents = bench.clients.client("bedrock-agent")
        agent = agents.create_agent(
            agentName="order-desk",
            foundationModel="amazon.nova-pro-v1:0",
            instruction="You help customers of a shop with their orders.",
            agentResourceRoleArn=ROLE,
        )["agent"]["agentId"]
        order = {"order": {"type": "integer", "description": "Number of the order", "required": True}}
        functions: list[dict[str, Any]] = [
            {"name": "order_status", "description": "Looks up the status of an order", "parameters": order},
            {"name": "cancel_order", "description": "Cancels an order", "parameters": order,
             "requireConfirmation": "ENABLED"},
        ]  # fmt: skip
        agents.create_agent_action_group(
            agentId=agent,
            agentVersion="DRAFT",
            actionGroupName="orders",
            actionGroupExecutor={"customControl": "RETURN_CONTROL"},
            functionSchema={"functions": functions},
        )
        agents.prepare_agent(agentId=agent)
        agents.create_agent_alias(agentId=agent, agentAliasName="live")
        old = bench.bedrock.agents.get("order-desk")
        snapshot = old.snapshot("live")
        code = snapshot.generate(folder / "order_desk")
        yield Scene(bench, old, bench.plan(code.folder).apply(), snapshot.agent)
    local.stop(folder / "home")


def asked(id: str, prompt: str, results: dict[str, Any] | None = None, **turn: Any) -> EvalCase:
    state = {} if results is None else {"returnControl": results}
    return EvalCase(id=id, turns=(Turn(prompt=prompt, **turn),), initial_state=state)


def test_returned_calls_are_answered_on_both_sides(scene: Scene) -> None:
    expected = (ExpectedTool(name="orders__order_status", arguments={"order": 4711}, result=ANSWERED),)
    cases = EvalSet(
        name="orders",
        cases=(
            asked("state", "What is the status of order 4711?", {"order_status": ANSWERED}),
            asked("expectation", "What is the status of order 4711?", expected_tools=expected),
            asked("refused", "Cancel order 4711", {"cancel_order": False}),
            asked("missing", "What is the status of order 4712?"),
        ),
    )
    parity = scene.old.parity(scene.new, cases, alias="live", imported=scene.imported)
    states = {item.pair.case.id: item for item in parity.judged}
    for id in ("state", "expectation"):
        pair = states[id].pair
        assert states[id].state == "alike", states[id].reasons
        for side in (pair.old, pair.new):
            assert "Monday" in side.text
            assert side.tools is not None
            assert [(use.name, use.arguments) for use in side.tools] == [("orders__order_status", {"order": 4711})]
            assert side.turns[0].duration_ms is not None
    refused = states["refused"].pair
    assert refused.old.tools is not None
    assert [use.name for use in refused.old.tools] == ["orders__cancel_order"]
    assert states["missing"].state == "failed"
    assert states["missing"].kinds == ("old: return_control", "new: return_control")
    assert parity.share.judged == 3, "a result that nobody gave is no answer that differs"
    assert [work for work, _ in parity.remaining() if work.startswith("no verdict (old: return_control)")]
    rows = scene.bench.context.store.invocations.list(limit=None)
    assert "return_control" in {row.failure for row in rows}


def test_features_of_the_import_are_part_of_the_page(scene: Scene) -> None:
    case = asked("state", "What is the status of order 4711?", {"order_status": ANSWERED})
    parity = scene.old.parity(scene.new, EvalSet(name="orders", cases=(case,)), alias="live", imported=scene.imported)
    assert "Approximated: action groups" in parity.sentences()[-1]
    assert any(feature.startswith("user input (approximated)") for feature, _ in parity.remaining())
