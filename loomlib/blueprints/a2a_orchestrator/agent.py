"""A2A orchestrator: an agent that finds A2A agents by their cards and delegates questions to them.

It streams: a JSON string is a piece of the answer's text, an object {"tool": …} names the tool of the called agent.
The payload is {"prompt": "Calculate 15 * 37 + 42."}. The environment variable A2A_AGENTS names the agents: ARNs of
runtimes that speak A2A, separated by commas.
"""

import asyncio
import os
from datetime import UTC, datetime
from urllib.parse import quote

# Otherwise a trace has dozens of spans of the SDK's queues.
os.environ["OTEL_INSTRUMENTATION_A2A_SDK_ENABLED"] = os.environ.get("OTEL_INSTRUMENTATION_A2A_SDK_ENABLED", "false")

import boto3
import httpx
from a2a.client import A2ACardResolver, ClientConfig
from a2a.types import AgentCard
from bedrock_agentcore import BedrockAgentCoreApp, BedrockAgentCoreContext
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from strands import Agent, tool
from strands.agent.a2a_agent import A2AAgent
from strands.models import BedrockModel

MODEL_ID = os.environ.get("MODEL_ID", "global.anthropic.claude-sonnet-4-6")
SYSTEM_PROMPT = os.environ.get(
    "SYSTEM_PROMPT", "You delegate. Ask the agent whose tool fits the question, and pass its answer on."
)
ANSWER_WITHIN_S = 300.0
SESSION_HEADER = "X-Amzn-Bedrock-AgentCore-Runtime-Session-Id"

app = BedrockAgentCoreApp()
agents: dict[str | None, Agent] = {}
starting = asyncio.Lock()


class SigV4(httpx.Auth):
    """Signs requests to AgentCore with the runtime's credentials."""

    requires_request_body = True

    def __init__(self) -> None:
        session = boto3.Session()
        self.credentials, self.region = session.get_credentials(), session.region_name

    def auth_flow(self, request):
        """Add the signature to a request."""
        headers = {name: request.headers[name] for name in ("content-type",) if name in request.headers}
        signed = AWSRequest(request.method, str(request.url), headers, request.content)
        SigV4Auth(self.credentials.get_frozen_credentials(), "bedrock-agentcore", self.region).add_auth(signed)
        request.headers.update(dict(signed.headers))
        yield request


def a2a_agents() -> list[str]:
    """Return the ARNs of the agents to delegate to."""
    arns = [arn.strip() for arn in os.environ.get("A2A_AGENTS", "").split(",") if arn.strip()]
    if not arns:
        raise ValueError("A2A_AGENTS is not set: it needs the ARNs of the agents to delegate to, separated by commas")
    return arns


def delegate(card: AgentCard, remote: A2AAgent):
    """Return a tool that calls a remote agent; its description is taken from the agent's card."""
    skills = " ".join(skill.description for skill in card.skills)

    @tool(name=f"ask_{card.name}".replace("-", "_").replace(" ", "_"), description=f"{card.description} {skills}")
    async def ask(question: str) -> str:
        """Ask the agent.

        Args:
            question: The whole question, in words.
        """
        result = await remote.invoke_async(question)
        return "".join(block.get("text", "") for block in result.message["content"])

    return ask


async def agent_for(session_id: str | None) -> Agent:
    """Return the agent of a session, with a tool for each agent in A2A_AGENTS."""
    async with starting:
        if session_id in agents:
            return agents[session_id]
        endpoint = boto3.client("bedrock-agentcore").meta.endpoint_url
        # Sessions of the remote agents get the same id, so that their conversations last as long as this session.
        headers = {SESSION_HEADER: session_id} if session_id else {}
        client = httpx.AsyncClient(auth=SigV4(), headers=headers, timeout=ANSWER_WITHIN_S)
        tools = []
        for arn in a2a_agents():
            address = f"{endpoint}/runtimes/{quote(arn, safe='')}/invocations/"
            card = await A2ACardResolver(client, address).get_agent_card()
            print(f"Found the agent {card.name} {card.version}", flush=True)
            tools.append(delegate(card, A2AAgent(address, client_config=ClientConfig(httpx_client=client))))
        agents[session_id] = Agent(
            model=BedrockModel(model_id=MODEL_ID), tools=tools, system_prompt=SYSTEM_PROMPT, callback_handler=None
        )
        return agents[session_id]


@app.entrypoint
async def invoke(payload, context):
    """Stream the answer to {"prompt": …}."""
    started = datetime.now(UTC).isoformat(timespec="microseconds")
    request_id = BedrockAgentCoreContext.get_request_id()
    print(
        f"Agent invoked - Start time: {started}, Session ID: {context.session_id}, Request ID: {request_id}", flush=True
    )

    prompt = payload.get("prompt")
    if not prompt:
        raise ValueError('the payload needs a "prompt", such as {"prompt": "Calculate 15 * 37 + 42."}')

    agent, announced = await agent_for(context.session_id), set()
    async for event in agent.stream_async(prompt):
        if "data" in event:
            yield event["data"]
        elif (use := event.get("current_tool_use")) and use["toolUseId"] not in announced:
            announced.add(use["toolUseId"])
            yield {"tool": use["name"]}


if __name__ == "__main__":
    app.run()
