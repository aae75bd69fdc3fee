"""Bedrock agents of a file of tests, and the Lambda function that they call."""

from __future__ import annotations

import io
import json
import uuid
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from agent_turns import INSTRUCTION, MODEL, ROLE

from tests.service.conftest import Aws

HANDLER = """
import json

def handle(event, context):
    if "city" in event["sessionAttributes"] and event["sessionAttributes"]["city"] == "raise":
        raise ValueError("no such city")
    if event["sessionAttributes"].get("city") == "odd":
        return {"weather": "sunny"}
    values = {item["name"]: item["value"] for item in event["parameters"]}
    response = {"actionGroup": event["actionGroup"]}
    if "function" in event:
        state = {"responseState": event["sessionAttributes"]["state"]} if "state" in event["sessionAttributes"] else {}
        text = f"In {values.get('city')} it is sunny with 21 degrees."
        answer = {**state, "responseBody": {"TEXT": {"body": text}}}
        response |= {"function": event["function"], "functionResponse": answer}
    else:
        body = json.dumps({"status": "shipped", "event": event})
        response |= {"apiPath": event["apiPath"], "httpMethod": event["httpMethod"], "httpStatusCode": 200,
                     "responseBody": {"application/json": {"body": body}}}
    attributes = {**event["sessionAttributes"], "seen": "yes"}
    return {"messageVersion": "1.0", "response": response, "sessionAttributes": attributes}
"""


@pytest.fixture(scope="module")
def function(aws: Aws) -> str:
    """The ARN of a function that answers action groups, and returns their event as a session attribute."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("main.py", HANDLER)
    trust = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "sts:AssumeRole"}]}
    name = f"actions-{uuid.uuid4().hex[:8]}"
    aws.client("iam").create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(trust))
    return aws.client("lambda").create_function(
        FunctionName=name,
        Runtime="python3.13",
        Role=f"arn:aws:iam::123456789012:role/{name}",
        Handler="main.handle",
        Code={"ZipFile": packed.getvalue()},
        Timeout=30,
    )["FunctionArn"]


@pytest.fixture(scope="module")
def create(aws: Aws) -> Iterator[Callable[..., str]]:
    """Creates agents and returns their ids."""
    agents, made = aws.client("bedrock-agent"), list[str]()

    def make(*groups: dict[str, Any], prepare: bool = True, **more: Any) -> str:
        given = {"instruction": INSTRUCTION, "foundationModel": MODEL, "agentResourceRoleArn": ROLE, **more}
        agent = agents.create_agent(agentName=f"agent-{uuid.uuid4().hex[:8]}", **given)["agent"]
        made.append(agent["agentId"])
        for group in groups:
            agents.create_agent_action_group(agentId=agent["agentId"], agentVersion="DRAFT", **group)
        if prepare:
            agents.prepare_agent(agentId=agent["agentId"])
        return agent["agentId"]

    yield make
    for agent in made:
        agents.delete_agent(agentId=agent, skipResourceInUseCheck=True)
