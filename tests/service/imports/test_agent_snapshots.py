"""Agents of a local AgentCore are read through boto3, written as folders, and read again."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import loomlib as loom
from loomlib.imports.bedrock_agents.snapshot import read_snapshot
from tests.service.conftest import Aws

ROLE = "arn:aws:iam::123456789012:role/agents"
MODEL = "amazon.nova-pro-v1:0"


@pytest.fixture(scope="module")
def bench(aws: Aws) -> Iterator[loom.Workbench]:
    with loom.connect(home=str(aws.state.home)) as opened:
        yield opened


@pytest.fixture(scope="module")
def weather(aws: Aws) -> Iterator[str]:
    """The name of an agent with one function, prepared and with the alias `live`."""
    agents, name = aws.client("bedrock-agent"), f"weather-{uuid.uuid4().hex[:8]}"
    agent = agents.create_agent(
        agentName=name,
        instruction="You help travellers with questions about the weather in cities.",
        foundationModel=MODEL,
        agentResourceRoleArn=ROLE,
        tags={"team": "travel"},
    )["agent"]["agentId"]
    city: dict[str, Any] = {"city": {"type": "string", "description": "The city", "required": True}}
    agents.create_agent_action_group(
        agentId=agent,
        agentVersion="DRAFT",
        actionGroupName="travel",
        actionGroupExecutor={"customControl": "RETURN_CONTROL"},
        functionSchema={
            "functions": [{"name": "get_weather", "description": "Returns the weather in a city", "parameters": city}]
        },
    )
    agents.prepare_agent(agentId=agent)
    agents.create_agent_alias(agentId=agent, agentAliasName="live")
    yield name
    agents.delete_agent(agentId=agent, skipResourceInUseCheck=True)


def test_an_agent_becomes_a_folder_and_the_folder_the_same_agent(
    bench: loom.Workbench, weather: str, tmp_path: Path
) -> None:
    snapshot = bench.bedrock.agents.get(weather).snapshot("live")
    agent = snapshot.agent
    assert (agent.name, agent.version, agent.alias_name, agent.tags) == (weather, "1", "live", {"team": "travel"})
    assert (agent.model.identifier, agent.model.model_ids) == (MODEL, (MODEL,))
    (group,) = agent.action_groups
    assert (group.executor, [tool.name for tool in group.tools]) == ("return_control", ["travel__get_weather"])
    assert group.tools[0].input_schema["required"] == ["city"]
    folder = snapshot.write(tmp_path / "weather")
    assert read_snapshot(folder) == snapshot.value
    assert (folder / "instruction.md").read_text() == agent.instruction
    assert "return of control becomes an interrupt" in (folder / "README.md").read_text()
    assert json.loads((folder / "snapshot.json").read_text())["is_immutable"] is True
    features = snapshot.features()
    assert features.set_index("feature").loc["action_groups", "state"] == "approximated"
    assert "Snapshot of" in repr(snapshot)
    assert "return of control" in snapshot._repr_html_()
