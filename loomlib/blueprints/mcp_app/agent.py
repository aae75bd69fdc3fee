"""MCP App: an agent with the tools of an MCP server, one of which has a view (MCP Apps).

The server is a separate process (server.py). When a tool with a view has run, the stream contains the view as an object
{"mcp_app": {"resourceUri", "mimeType", "html", "tool", "toolCallId", "arguments", "result", "tools"}}; JSON strings are
pieces of the answer's text. The payload is {"prompt": "Roll 3 dice."}. A call from the view arrives as the payload
{"mcp": {"method": "tools/call", "params": {"name": …, "arguments": {…}}}} in the same session, and is answered by
{"mcp": {"result": {…}}}, or {"mcp": {"error": {…}}}.
"""

import asyncio
import functools
import os
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path

from bedrock_agentcore import BedrockAgentCoreApp, BedrockAgentCoreContext
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client
from strands import Agent
from strands.models import BedrockModel
from strands.tools.mcp import MCPClient

MODEL_ID = os.environ.get("MODEL_ID", "global.anthropic.claude-sonnet-4-6")
SYSTEM_PROMPT = os.environ.get("SYSTEM_PROMPT", "You throw dice. Use the tools. Answer in a short sentence.")
SERVER = StdioServerParameters(command=sys.executable, args=[str(Path(__file__).with_name("server.py"))])
MIME_TYPE = "text/html;profile=mcp-app"

app = BedrockAgentCoreApp()


@functools.cache
def server() -> MCPClient:
    """Return the connection to the MCP server, which runs as long as this process."""
    client = MCPClient(lambda: stdio_client(SERVER))
    client.start()
    return client


@functools.cache
def tools() -> list:
    """Return the server's tools."""
    return list(server().list_tools_sync())


def ui(tool) -> dict:
    """Return the metadata of a tool's view: `resourceUri`, and `visibility` (who may call the tool)."""
    return (getattr(tool.mcp_tool, "meta", None) or {}).get("ui") or {}


def visible_to(audience: str) -> list:
    """Return the tools that an audience may call: "model", or "app" (the view)."""
    return [tool for tool in tools() if audience in ui(tool).get("visibility", ["model", "app"])]


@functools.cache
def page(uri: str) -> str:
    """Return the HTML of a view."""
    return "".join(getattr(content, "text", "") for content in server().read_resource_sync(uri).contents)


@functools.cache
def agent_for(session_id: str | None) -> Agent:
    """Return the agent of a session: it remembers the conversation until the session ends."""
    return Agent(
        model=BedrockModel(model_id=MODEL_ID),
        tools=visible_to("model"),
        system_prompt=SYSTEM_PROMPT,
        callback_handler=None,
    )


def as_mcp(result: dict) -> dict:
    """Return a tool's result as MCP's CallToolResult."""
    content = [{"type": "text", "text": block["text"]} for block in result.get("content", []) if "text" in block]
    converted = {"content": content, "isError": result.get("status") == "error"}
    if result.get("structuredContent") is not None:
        converted["structuredContent"] = result["structuredContent"]
    return converted


def view_of(use: dict, result: dict) -> dict | None:
    """Return the view for a tool's result; None for a tool without a view."""
    uri = next((ui(tool).get("resourceUri") for tool in tools() if tool.tool_name == use["name"]), None)
    if uri is None or result.get("status") == "error":
        return None
    return {
        "mcp_app": {
            "resourceUri": uri,
            "mimeType": MIME_TYPE,
            "html": page(uri),
            "tool": use["name"],
            "toolCallId": use["toolUseId"],
            "arguments": use["input"],
            "result": as_mcp(result),
            "tools": [tool.tool_name for tool in visible_to("app")],
        }
    }


def call(request: dict) -> dict:
    """Run a tool call from the view; the tool must be visible to the view."""
    params = request.get("params") or {}
    name = params.get("name")
    if request.get("method") != "tools/call" or name not in {tool.tool_name for tool in visible_to("app")}:
        return {"mcp": {"error": {"code": -32601, "message": "a view can only call tools that are visible to it"}}}
    result = server().call_tool_sync(uuid.uuid4().hex, name, params.get("arguments") or {})
    return {"mcp": {"result": as_mcp(result)}}


@app.entrypoint
async def invoke(payload, context):
    """Stream the answer to {"prompt": …}, or run a view's call in {"mcp": …}."""
    started = datetime.now(UTC).isoformat(timespec="microseconds")
    request_id = BedrockAgentCoreContext.get_request_id()
    print(
        f"Agent invoked - Start time: {started}, Session ID: {context.session_id}, Request ID: {request_id}", flush=True
    )

    if "mcp" in payload:
        yield await asyncio.to_thread(call, payload["mcp"])
        return
    if not payload.get("prompt"):
        raise ValueError('the payload needs a "prompt", such as {"prompt": "Roll 3 dice."}')
    agent = await asyncio.to_thread(agent_for, context.session_id)
    uses = {}
    async for event in agent.stream_async(payload["prompt"]):
        if "data" in event:
            yield event["data"]
        for block in (event.get("message") or {}).get("content", []):
            if "toolUse" in block:
                use = uses[block["toolUse"]["toolUseId"]] = block["toolUse"]
                yield {"tool": use["name"], "id": use["toolUseId"], "arguments": use["input"], "state": "running"}
            elif "toolResult" in block and (use := uses.get(block["toolResult"]["toolUseId"])):
                result = block["toolResult"]
                text = "".join(str(content.get("text", "")) for content in result["content"])
                state = "failed" if result["status"] == "error" else "done"
                yield {"tool": use["name"], "id": use["toolUseId"], "result": text, "state": state}
                if view := await asyncio.to_thread(view_of, use, result):
                    yield view


if __name__ == "__main__":
    app.run()
