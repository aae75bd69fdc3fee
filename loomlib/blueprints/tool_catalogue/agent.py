"""Tool catalogue: an MCP server with all tools of `tools.json`, on AgentCore's port 8000 at /mcp.

Every tool returns its name and arguments immediately. The server is the target of gateways whose cost and tool search
are measured; a study replaces `tools.json`.
"""

import json
from pathlib import Path

import uvicorn
from mcp.server.lowlevel import Server
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool

TOOLS = {tool["name"]: tool for tool in json.loads(Path(__file__).with_name("tools.json").read_text("utf-8"))}
LISTED = ListToolsResult(tools=[Tool.model_validate(tool) for tool in TOOLS.values()])


async def list_tools(_context, _params):
    """Return all tools."""
    return LISTED


async def call_tool(_context, params):
    """Return the tool's name and arguments."""
    is_known = params.name in TOOLS
    text = json.dumps({"tool": params.name, **(params.arguments or {})}) if is_known else f"Unknown tool: {params.name}"
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=not is_known)


if __name__ == "__main__":
    server = Server("tool_catalogue", on_list_tools=list_tools, on_call_tool=call_tool)
    host = "0.0.0.0"  # noqa: S104 -- as AgentCore requires
    app = server.streamable_http_app(stateless_http=True, json_response=True, host=host)
    uvicorn.run(app, host=host, port=8000, log_level="warning")
