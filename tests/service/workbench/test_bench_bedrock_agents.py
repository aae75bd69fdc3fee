"""`bench.bedrock.agents`: a Bedrock agent is asked as a notebook does, and calls that it returns are answered."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

import loomlib as loom
from loomlib.errors import RequestRejectedError, ResourceNotFoundError
from tests.service.conftest import Aws

INSTRUCTION = "You help travellers with questions about the weather in cities."


@pytest.fixture(scope="module")
def bench(aws: Aws) -> Iterator[loom.Workbench]:
    with loom.connect(home=str(aws.state.home)) as opened:
        yield opened


@pytest.fixture(scope="module")
def name(aws: Aws) -> Iterator[str]:
    """An agent that returns control for the weather, and asks before it books."""
    agents, name = aws.client("bedrock-agent"), f"travel-{uuid.uuid4().hex[:8]}"
    role = "arn:aws:iam::123456789012:role/agents"
    agent = agents.create_agent(
        agentName=name, instruction=INSTRUCTION, foundationModel="amazon.nova-pro-v1:0", agentResourceRoleArn=role
    )["agent"]["agentId"]
    city = {"city": {"type": "string", "description": "The city", "required": True}}
    functions: list[dict[str, Any]] = [
        {"name": "get_weather", "description": "Returns the weather in a city", "parameters": city},
        {"name": "book_hotel", "description": "Books a hotel", "parameters": city, "requireConfirmation": "ENABLED"},
    ]
    agents.create_agent_action_group(
        agentId=agent,
        agentVersion="DRAFT",
        actionGroupName="travel",
        actionGroupExecutor={"customControl": "RETURN_CONTROL"},
        functionSchema={"functions": functions},
    )
    agents.prepare_agent(agentId=agent)
    agents.create_agent_alias(agentId=agent, agentAliasName="live")
    yield name
    agents.delete_agent(agentId=agent, skipResourceInUseCheck=True)


def test_an_agent_is_asked_and_its_calls_are_answered(bench: loom.Workbench, name: str) -> None:
    agent = bench.bedrock.agents.get(name)
    assert repr(agent).startswith(f"Bedrock agent {name} (prepared), ")
    table = bench.bedrock.agents.table()
    row = table[table["name"] == name].iloc[0]
    assert (row["status"], row["latest_version"], row["id"]) == ("PREPARED", "1", agent.value.id)
    response = agent.ask("What is the weather in Paris?", alias="live")
    request = response.requests[0]
    assert (response.text, request.name, dict(request.arguments), request.needs) == (
        "", "get_weather", {"city": "Paris"}, "result",
    )  # fmt: skip
    assert "get_weather(city='Paris') needs result" in repr(response)
    assert "Return of control" in response._repr_html_()
    reply = response.answer({"get_weather": "In Paris it is 21 degrees."})
    assert "21 degrees" in reply.text
    assert reply.session_id == response.session_id
    steps = reply.steps
    assert steps["kind"].tolist() == ["action", "model", "answer"]
    assert steps.loc[steps["kind"] == "model", "input_tokens"].iloc[0] > 0
    assert reply.citations.empty
    assert "local AgentCore" in reply._repr_html_()
    with pytest.raises(RequestRejectedError, match="is not waiting for results"):
        reply.answer("x")


def test_a_call_that_needs_a_confirmation_is_denied(bench: loom.Workbench, name: str) -> None:
    response = bench.bedrock.agents.get(name).ask("Book a hotel in Paris")
    assert [(item.name, item.needs) for item in response.requests] == [("book_hotel", "both")]
    with pytest.raises(RequestRejectedError, match="result of book_hotel is missing"):
        response.answer()
    reply = response.answer(confirm=False)
    assert reply.requests == ()
    assert "denied" in reply.steps["output"].iloc[0]


def test_wrong_input_is_refused_with_advice(bench: loom.Workbench, name: str) -> None:
    agent = bench.bedrock.agents.get(name)
    configuration = agent.configuration()
    assert configuration["agent"]["instruction"] == INSTRUCTION
    assert [group["actionGroupName"] for group in configuration["actionGroups"]] == ["travel"]
    assert agent.configuration("1")["agent"]["version"] == "1"
    with pytest.raises(ResourceNotFoundError, match=r"bench\.bedrock\.agents\.table"):
        bench.bedrock.agents.get("none")
    with pytest.raises(ResourceNotFoundError, match="one of AgentTestAlias, live"):
        agent.ask("hello", alias="other")
