"""Bedrock agents of a file of tests, with the Lambda functions and the knowledge base that they use."""

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
def create_function(aws: Aws) -> Callable[..., str]:
    """Creates Lambda functions of code with `handle(event, context)`, and returns their ARNs."""

    def make(code: str) -> str:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("main.py", code)
        statement = {"Effect": "Allow", "Principal": "*", "Action": "sts:AssumeRole"}
        trust = {"Version": "2012-10-17", "Statement": [statement]}
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

    return make


@pytest.fixture(scope="module")
def function(create_function: Callable[..., str]) -> str:
    """The ARN of a function that answers action groups, and returns their event as a session attribute."""
    return create_function(HANDLER)


@pytest.fixture(scope="module")
def create(aws: Aws) -> Iterator[Callable[..., str]]:
    """Creates agents and returns their ids."""
    agents, agent_ids = aws.client("bedrock-agent"), list[str]()

    def make(*groups: dict[str, Any], prepare: bool = True, name: str = "agent", **more: Any) -> str:
        arguments = {"instruction": INSTRUCTION, "foundationModel": MODEL, "agentResourceRoleArn": ROLE, **more}
        agent = agents.create_agent(agentName=f"{name}-{uuid.uuid4().hex[:8]}", **arguments)["agent"]
        agent_ids.append(agent["agentId"])
        for group in groups:
            agents.create_agent_action_group(agentId=agent["agentId"], agentVersion="DRAFT", **group)
        if prepare:
            agents.prepare_agent(agentId=agent["agentId"])
        return agent["agentId"]

    yield make
    for agent in agent_ids:
        agents.delete_agent(agentId=agent, skipResourceInUseCheck=True)


@pytest.fixture(scope="module")
def base(aws: Aws) -> Iterator[str]:
    """The id of a knowledge base with the shop's rules."""
    agents = aws.client("bedrock-agent")
    embedding = {"embeddingModelArn": "arn:aws:bedrock:us-east-1::foundation-model/amazon.titan-embed-text-v2:0"}
    base = agents.create_knowledge_base(
        name=f"rules-{uuid.uuid4().hex[:8]}",
        roleArn=ROLE,
        knowledgeBaseConfiguration={"type": "VECTOR", "vectorKnowledgeBaseConfiguration": embedding},
    )["knowledgeBase"]["knowledgeBaseId"]
    source = agents.create_data_source(knowledgeBaseId=base, name="rules", dataSourceConfiguration={"type": "CUSTOM"})[
        "dataSource"
    ]["dataSourceId"]
    texts = {"returns": "Parcels can be returned within 30 days.", "warranty": "A kettle has a warranty of 24 months."}
    documents = [
        {
            "content": {
                "dataSourceType": "CUSTOM",
                "custom": {
                    "customDocumentIdentifier": {"id": name},
                    "sourceType": "IN_LINE",
                    "inlineContent": {"type": "TEXT", "textContent": {"data": text}},
                },
            }
        }
        for name, text in texts.items()
    ]
    agents.ingest_knowledge_base_documents(knowledgeBaseId=base, dataSourceId=source, documents=documents)
    yield base
    agents.delete_knowledge_base(knowledgeBaseId=base)
