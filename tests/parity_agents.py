"""A Bedrock agent with a Lambda function, and hand-written successors on AgentCore that call the same function."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import loomlib as loom
from loomlib import local
from loomlib.workbench.bench_bedrock_agents import BedrockAgentView

ROLE = "arn:aws:iam::123456789012:role/agents"
MODEL = "amazon.nova-pro-v1:0"
INSTRUCTION = "You answer questions about the weather in cities. Answer in a short sentence."
CITIES = (
    "Paris", "Rome", "Oslo", "Lima", "Cairo", "Delhi", "Tokyo", "Quito", "Sofia", "Dakar", "Hanoi", "Miami",
)  # fmt: skip
PROMPTS = tuple(f"What is the weather in {city}?" for city in CITIES)

FUNCTION = """
DEGREES = {"Paris": 21, "Rome": 27, "Oslo": 9, "Lima": 18, "Cairo": 33, "Delhi": 36, "Tokyo": 24, "Quito": 14}

def lambda_handler(event, context):
    values = {item["name"]: item["value"] for item in event["parameters"]}
    if values["city"] == "Nowhere":
        raise ValueError("there is no such city")
    text = f"{values['city']}: sunny, {DEGREES.get(values['city'], 20)} degrees"
    answer = {"responseBody": {"TEXT": {"body": text}}}
    response = {"actionGroup": event["actionGroup"], "function": event["function"], "functionResponse": answer}
    return {"messageVersion": "1.0", "response": response}
"""

SUCCESSOR = '''
import functools
import json
import os
from datetime import UTC, datetime

import boto3
from bedrock_agentcore import BedrockAgentCoreApp
from strands import Agent, tool
from strands.models import BedrockModel

app = BedrockAgentCoreApp()


@tool
def get_weather(city: str) -> str:
    """Returns the weather in a city

    Args:
        city: The city
    """
    city = os.environ.get("ALWAYS") or city
    value = [{"name": "city", "type": "string", "value": city}]
    event = {"messageVersion": "1.0", "actionGroup": "weather", "function": "get_weather", "parameters": value}
    answer = boto3.client("lambda").invoke(FunctionName=os.environ["FUNCTION"], Payload=json.dumps(event))
    return json.load(answer["Payload"])["response"]["functionResponse"]["responseBody"]["TEXT"]["body"]


@functools.cache
def agent_for(session_id):
    prompt = "You answer questions about the weather in cities. Answer in a short sentence."
    model = BedrockModel(model_id="amazon.nova-pro-v1:0")
    return Agent(model=model, tools=[get_weather], system_prompt=prompt, callback_handler=None)


@app.entrypoint
async def invoke(payload, context):
    print(f"Agent invoked - Start time: {datetime.now(UTC).isoformat()}, Session ID: {context.session_id}", flush=True)
    prompt = payload["prompt"]
    if os.environ.get("ASKS_FOR"):
        prompt = prompt.replace(os.environ["ASKS_FOR"], "Quito")
    async for event in agent_for(context.session_id).stream_async(prompt):
        if "data" in event:
            yield event["data"]


if __name__ == "__main__":
    app.run()
'''

CITY = {"city": {"type": "string", "description": "The city", "required": True}}


@dataclass(frozen=True)
class WeatherScene:
    """A Bedrock agent, a successor that behaves alike, and one that asks for another city than Rome."""

    bench: loom.Workbench
    old: BedrockAgentView
    new: loom.Agent
    wrong: loom.Agent


@contextlib.contextmanager
def weather_scene(folder: Path) -> Iterator[WeatherScene]:
    """Start a local AgentCore in `folder` with the agent and its successors."""
    with loom.connect(home=folder / "home") as bench:
        function = make_weather_agent(bench, "weather", folder)
        new = deploy_successor(bench, "weather_new", folder, function)
        wrong = deploy_successor(bench, "weather_wrong", folder, function, ASKS_FOR="Rome")
        yield WeatherScene(bench, bench.bedrock.agents.get("weather"), new, wrong)
    local.stop(folder / "home")


def make_weather_agent(bench: loom.Workbench, name: str, folder: Path) -> str:
    """Make the Bedrock agent `name` with the alias "live", and return its function's ARN."""
    file = folder / "weather_function.py"
    file.write_text(FUNCTION)
    arn = bench.tools.functions.create(f"{name}_weather", file).value.arn
    agents = bench.clients.client("bedrock-agent")
    agent = agents.create_agent(
        agentName=name, foundationModel=MODEL, instruction=INSTRUCTION, agentResourceRoleArn=ROLE
    )["agent"]["agentId"]
    agents.create_agent_action_group(
        agentId=agent,
        agentVersion="DRAFT",
        actionGroupName="weather",
        actionGroupExecutor={"lambda": arn},
        functionSchema={
            "functions": [{"name": "get_weather", "description": "Returns the weather in a city", "parameters": CITY}]
        },
    )
    agents.prepare_agent(agentId=agent)
    agents.create_agent_alias(agentId=agent, agentAliasName="live")
    return str(arn)


def deploy_successor(bench: loom.Workbench, name: str, folder: Path, function: str, **variables: str) -> loom.Agent:
    """Deploy a successor; `ASKS_FOR` is a city for which it asks for another one."""
    _allow_all(bench)
    place = folder / name
    place.mkdir()
    (place / "agent.py").write_text(SUCCESSOR)
    return bench.deploy(place, name=name, environment={"FUNCTION": function, **variables})


def _allow_all(bench: loom.Workbench) -> None:
    """Make the local runtimes' role, which may call functions as well; without one it has AgentCore's defaults."""
    iam = bench.clients.client("iam")
    trust = {"Effect": "Allow", "Principal": {"Service": "*"}, "Action": "sts:AssumeRole"}
    permissions = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    documents = [json.dumps({"Version": "2012-10-17", "Statement": [statement]}) for statement in (trust, permissions)]
    with contextlib.suppress(iam.exceptions.EntityAlreadyExistsException):
        iam.create_role(RoleName="loom-local", AssumeRolePolicyDocument=documents[0])
    iam.put_role_policy(RoleName="loom-local", PolicyName="all", PolicyDocument=documents[1])
