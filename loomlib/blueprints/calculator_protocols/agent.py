"""Calculator in four protocols: one agent, and the server that the environment variable SERVER names.

| SERVER | protocol of the deployment | interface |
|---|---|---|
| HTTP (default) | HTTP | {"prompt": …}: pieces of the text as events; with "stream": false one JSON string; also /ws |
| MCP, MCP stateful | MCP | the tool `ask` with the argument `prompt` |
| A2A | A2A | message/send and message/stream |
| AG-UI | AGUI | RunAgentInput: AG-UI's events, as server-sent events and at /ws |

Every request gets a new agent without a conversation, so that all protocols send the same request to the model.
"""

import functools
import json
import os
import uuid
from datetime import UTC, datetime

# Otherwise a trace has dozens of spans of the SDK's queues.
os.environ["OTEL_INSTRUMENTATION_A2A_SDK_ENABLED"] = os.environ.get("OTEL_INSTRUMENTATION_A2A_SDK_ENABLED", "false")

from arithmetic import calculated
from bedrock_agentcore import BedrockAgentCoreApp, BedrockAgentCoreContext
from strands import Agent, tool
from strands.models import BedrockModel

SERVER = os.environ.get("SERVER", "HTTP")
MODEL_ID = os.environ.get("MODEL_ID", "global.anthropic.claude-sonnet-4-6")
SYSTEM_PROMPT = os.environ.get(
    "SYSTEM_PROMPT",
    "You are a calculator. Work out every sum with the calculator tool. Answer in a short sentence.",
)

app = BedrockAgentCoreApp()


@tool
def calculator(expression: str) -> str:
    """Work out an arithmetic expression exactly.

    Args:
        expression: Numbers, + - * / // % ** and brackets, such as "15 * 37 + 42".
    """
    return calculated(expression)


@functools.cache
def model() -> BedrockModel:
    """Return the model; its client is created with the first request and shared by all."""
    return BedrockModel(model_id=MODEL_ID)


def new_agent(_context_id: str = "") -> Agent:
    """Return an agent without earlier messages."""
    return Agent(model=model(), tools=[calculator], system_prompt=SYSTEM_PROMPT, callback_handler=None)


async def pieces(prompt: str):
    """Iterate over the answer's text as the model streams it."""
    async for event in new_agent().stream_async(prompt):
        if "data" in event:
            yield event["data"]


async def agui_events(payload: dict):
    """Iterate over AG-UI's events of one run, as JSON values."""
    from ag_ui.core import (
        RunAgentInput,
        RunFinishedEvent,
        RunFinishedSuccessOutcome,
        RunStartedEvent,
        TextMessageContentEvent,
        TextMessageEndEvent,
        TextMessageStartEvent,
        ToolCallArgsEvent,
        ToolCallEndEvent,
        ToolCallResultEvent,
        ToolCallStartEvent,
    )

    run = RunAgentInput.model_validate(payload)

    async def events():
        yield RunStartedEvent(thread_id=run.thread_id, run_id=run.run_id)
        message_id = call_id = ""
        async for event in new_agent().stream_async(run.messages[-1].content):
            block = event.get("event", {})
            if use := block.get("contentBlockStart", {}).get("start", {}).get("toolUse"):
                call_id = use["toolUseId"]
                yield ToolCallStartEvent(tool_call_id=call_id, tool_call_name=use["name"])
            delta = block.get("contentBlockDelta", {}).get("delta", {})
            if "toolUse" in delta:
                yield ToolCallArgsEvent(tool_call_id=call_id, delta=delta["toolUse"]["input"])
            if delta.get("text"):
                if not message_id:
                    message_id = uuid.uuid4().hex
                    yield TextMessageStartEvent(message_id=message_id, role="assistant")
                yield TextMessageContentEvent(message_id=message_id, delta=delta["text"])
            if "contentBlockStop" in block:
                if call_id:
                    yield ToolCallEndEvent(tool_call_id=call_id)
                if message_id:
                    yield TextMessageEndEvent(message_id=message_id)
                message_id = call_id = ""
            for content in (event.get("message") or {}).get("content", []):
                if result := content.get("toolResult"):
                    text = "".join(part.get("text", "") for part in result["content"])
                    yield ToolCallResultEvent(
                        message_id=uuid.uuid4().hex, tool_call_id=result["toolUseId"], content=text
                    )
        yield RunFinishedEvent(thread_id=run.thread_id, run_id=run.run_id, outcome=RunFinishedSuccessOutcome())

    async for event in events():
        yield json.loads(event.model_dump_json(by_alias=True, exclude_none=True))


@app.entrypoint
async def invoke(payload, context):
    """Answer as HTTP or AG-UI: a stream of events, or with "stream": false the whole text."""
    started = datetime.now(UTC).isoformat(timespec="microseconds")
    request_id = BedrockAgentCoreContext.get_request_id()
    print(
        f"Agent invoked - Start time: {started}, Session ID: {context.session_id}, Request ID: {request_id}", flush=True
    )
    if SERVER == "AG-UI":
        return agui_events(payload)
    if not payload.get("prompt"):
        raise ValueError('the payload needs a "prompt", such as {"prompt": "What is 15 * 37?"}')
    if payload.get("stream", True):
        return pieces(payload["prompt"])
    return "".join([piece async for piece in pieces(payload["prompt"])])


@app.websocket
async def talk(websocket, context):
    """Answer each message of a WebSocket: AG-UI's events, or pieces of text as JSON strings, then {"done": true}."""
    await websocket.accept()
    async for message in websocket.iter_text():
        payload = json.loads(message)
        if SERVER == "AG-UI":
            async for event in agui_events(payload):
                await websocket.send_text(json.dumps(event))
            continue
        async for piece in pieces(payload["prompt"]):
            await websocket.send_text(json.dumps(piece))
        await websocket.send_text('{"done": true}')


def serve_mcp() -> None:
    """Serve the agent as an MCP tool, with or without sessions."""
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("calculator", instructions="An agent that works out arithmetic and answers in a sentence.")

    @server.tool(structured_output=False)
    async def ask(prompt: str) -> str:
        """Ask the calculator agent."""
        return "".join([piece async for piece in pieces(prompt)])

    stateless = SERVER != "MCP stateful"
    server.run("streamable-http", host="0.0.0.0", port=8000, stateless_http=stateless)  # noqa: S104 -- as AgentCore requires


def serve_a2a() -> None:
    """Serve the agent over A2A."""
    from a2a.types import AgentCapabilities, AgentCard, AgentSkill
    from bedrock_agentcore.runtime import serve_a2a
    from strands.multiagent.a2a.executor import StrandsA2AExecutor

    description = "Works out arithmetic exactly and answers in a sentence."
    card = AgentCard(
        name="calculator",
        description=description,
        url="http://localhost:9000/",  # serve_a2a replaces it with the runtime's address
        version="1.0.0",
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text"],
        default_output_modes=["text"],
        skills=[AgentSkill(id="calculator", name="Calculator", description=description, tags=["arithmetic"])],
    )
    serve_a2a(StrandsA2AExecutor(agent_factory=new_agent, enable_a2a_compliant_streaming=True), card)


if __name__ == "__main__":
    {"MCP": serve_mcp, "MCP stateful": serve_mcp, "A2A": serve_a2a}.get(SERVER, app.run)()
