"""Support desk: an agent with tools of a gateway, a knowledge base, a code interpreter, a guardrail and a memory.

It streams: a JSON string is a piece of the answer's text, an object {"tool": …} names a tool that is being used.
The payload is {"prompt": "What does the handbook say about the warranty?"}, with an optional field "actor", the user.

Environment variables name the resources that it uses; resources without a variable are left out:
    GATEWAY_URL         MCP endpoint of an AgentCore gateway with the authorizer AWS_IAM
    KNOWLEDGE_BASE_ID   knowledge base of Amazon Bedrock that it searches
    GUARDRAIL_ID        guardrail for the model and for texts of the handbook, in the version GUARDRAIL_VERSION
                        ("DRAFT" by default)
    LOOM_MEMORY_ID      AgentCore Memory that stores the conversation
"""

import asyncio
import functools
import os
from datetime import UTC, datetime

import boto3
import httpx2
from bedrock_agentcore import BedrockAgentCoreApp, BedrockAgentCoreContext
from bedrock_agentcore.memory.integrations.strands.config import AgentCoreMemoryConfig
from bedrock_agentcore.memory.integrations.strands.session_manager import AgentCoreMemorySessionManager
from bedrock_agentcore.tools.code_interpreter_client import code_session
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from mcp.client.streamable_http import streamable_http_client
from strands import Agent, tool
from strands.models import BedrockModel
from strands.tools.mcp import MCPClient

MODEL_ID = os.environ.get("MODEL_ID", "global.anthropic.claude-sonnet-4-6")
SYSTEM_PROMPT = os.environ.get(
    "SYSTEM_PROMPT",
    "You supervise the support desk of a shop. Take a question apart and give each part to the tool that is made for "
    "it: the handbook for rules and warranties, the desk's own tools for what they do, Python for calculations. Answer "
    "in a short sentence.",
)
REGION = os.environ.get("AWS_REGION", "us-east-1")
GATEWAY_URL = os.environ.get("GATEWAY_URL", "")
KNOWLEDGE_BASE_ID = os.environ.get("KNOWLEDGE_BASE_ID", "")
GUARDRAIL_ID = os.environ.get("GUARDRAIL_ID", "")
GUARDRAIL_VERSION = os.environ.get("GUARDRAIL_VERSION", "DRAFT")
MEMORY_ID = os.environ.get("LOOM_MEMORY_ID", "")
ANSWER_WITHIN_S = 120.0

app = BedrockAgentCoreApp()


class GatewaySigner(httpx2.Auth):
    """Signs requests to a gateway with the runtime's credentials."""

    requires_request_body = True

    def __init__(self) -> None:
        self.credentials = boto3.Session().get_credentials()

    def auth_flow(self, request):
        """Add the signature to a request."""
        headers = {name: request.headers[name] for name in ("content-type",) if name in request.headers}
        signed = AWSRequest(request.method, str(request.url), headers, request.content)
        SigV4Auth(self.credentials.get_frozen_credentials(), "bedrock-agentcore", REGION).add_auth(signed)
        request.headers.update(dict(signed.headers))
        yield request


@functools.cache
def gateway() -> MCPClient:
    """Connect to the gateway; the connection lasts as long as the session."""
    client = MCPClient(
        lambda: streamable_http_client(
            GATEWAY_URL, http_client=httpx2.AsyncClient(auth=GatewaySigner(), timeout=ANSWER_WITHIN_S)
        )
    )
    client.start()
    return client


def guarded(text: str) -> str:
    """Return a text after the guardrail: masked, or the guardrail's message if it blocks the text."""
    if not GUARDRAIL_ID:
        return text
    checked = boto3.client("bedrock-runtime", region_name=REGION).apply_guardrail(
        guardrailIdentifier=GUARDRAIL_ID,
        guardrailVersion=GUARDRAIL_VERSION,
        source="OUTPUT",
        content=[{"text": {"text": text}}],
    )
    return checked["outputs"][0]["text"] if checked["action"] == "GUARDRAIL_INTERVENED" else text


@tool
def search_handbook(question: str) -> str:
    """Search the shop's handbook: warranty, returns, refunds, delivery, opening hours and other rules.

    Args:
        question: The whole question, in words.
    """
    response = boto3.client("bedrock-agent-runtime", region_name=REGION).retrieve(
        knowledgeBaseId=KNOWLEDGE_BASE_ID,
        retrievalQuery={"text": question},
        retrievalConfiguration={"vectorSearchConfiguration": {"numberOfResults": 2}},
    )
    texts = [result["content"]["text"] for result in response["retrievalResults"]]
    return guarded("\n".join(texts) or "The handbook says nothing about that.")


@tool
def run_python(expression: str) -> str:
    """Run Python in a sandbox and return the value of an expression.

    Args:
        expression: A Python expression, such as "3 * 19.5".
    """
    with code_session(REGION) as code:
        answer = code.invoke("executeCode", {"language": "python", "code": f"print({expression})"})
        texts = [
            item["text"]
            for event in answer["stream"]
            for item in event.get("result", {}).get("content", [])
            if item.get("type") == "text"
        ]
    return "\n".join(texts).strip()


@functools.lru_cache(maxsize=1)
def agent_for(session_id: str, actor: str) -> Agent:
    """Create the agent of a session with the tools that the environment variables configure."""
    tools = [run_python]
    tools += [search_handbook] if KNOWLEDGE_BASE_ID else []
    tools += gateway().list_tools_sync() if GATEWAY_URL else []
    guardrail = {"guardrail_id": GUARDRAIL_ID, "guardrail_version": GUARDRAIL_VERSION} if GUARDRAIL_ID else {}
    memory = None
    if MEMORY_ID:
        config = AgentCoreMemoryConfig(memory_id=MEMORY_ID, session_id=session_id, actor_id=actor)
        memory = AgentCoreMemorySessionManager(config, region_name=REGION)
    return Agent(
        agent_id="support_desk",
        model=BedrockModel(model_id=MODEL_ID, **guardrail),
        tools=tools,
        system_prompt=SYSTEM_PROMPT,
        session_manager=memory,
        callback_handler=None,  # the default handler prints the answer to the log
    )


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
        raise ValueError('the payload needs a "prompt", such as {"prompt": "Run Python for 2 ** 64."}')
    agent = await asyncio.to_thread(agent_for, context.session_id, str(payload.get("actor") or "user"))

    announced = set()
    async for event in agent.stream_async(prompt):
        if "data" in event:
            yield event["data"]
        elif (use := event.get("current_tool_use")) and use["toolUseId"] not in announced:
            announced.add(use["toolUseId"])
            yield {"tool": use["name"]}


if __name__ == "__main__":
    app.run()
