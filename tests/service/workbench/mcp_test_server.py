"""An MCP server for tests, made with the MCP SDK: over stdio, or over HTTP where MCP_PORT or MCP_SOCKET is set."""

from __future__ import annotations

import os
import socket
import sys
import warnings

import anyio
import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.shared.message import ServerMessageMetadata
from mcp.types import (
    EmptyResult,
    ListRootsRequest,
    ListRootsResult,
    NotificationParams,
    SamplingMessage,
    SetLevelRequestParams,
    TextContent,
    ToolListChangedNotification,
)
from pydantic import BaseModel

warnings.filterwarnings("ignore")

server = MCPServer("warehouse", instructions="Ask for stock before you order.", version="1.2", log_level="ERROR")
_cancelled: list[str] = []
_seen: list[str] = []


async def set_level(_context: object, params: SetLevelRequestParams) -> EmptyResult:
    _seen.append(params.level)
    return EmptyResult()


async def note_roots(_context: object, _params: NotificationParams | None) -> None:
    _seen.append("roots")


# MCPServer has no public way to these two of the protocol's messages.
server._lowlevel_server.add_request_handler("logging/setLevel", SetLevelRequestParams, set_level)
server._lowlevel_server.add_notification_handler("notifications/roots/list_changed", NotificationParams, note_roots)


class Address(BaseModel):
    """An address."""

    street: str
    floor: int


@server.tool()
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def fail(reason: str) -> str:
    """Fail with a reason."""
    raise ValueError(reason)


@server.tool()
async def count(steps: int, ctx: Context) -> str:
    """Count with progress and log lines."""
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps, f"step {step}")
    await ctx.info("counted")
    return f"counted to {steps}"


@server.tool()
async def deliver(item: str, ctx: Context) -> str:
    """Ask where to deliver an item."""
    answer = await ctx.elicit(f"Where to with the {item}?", Address)
    if answer.action != "accept":
        return f"{answer.action}: not delivered"
    return f"{item} to {answer.data.street}, floor {answer.data.floor}"


@server.tool()
async def summarize(text: str, ctx: Context) -> str:
    """Summarize a text with the client's model."""
    answer = await ctx.session.create_message(
        [SamplingMessage(role="user", content=TextContent(type="text", text=f"Summarize: {text}"))],
        max_tokens=50,
        related_request_id=ctx.request_id,
    )
    return f"The client's model answered: {answer.content.text}"


@server.tool()
async def folders(ctx: Context) -> list[str]:
    """List the client's roots."""
    return [str(root.uri) for root in (await ctx.session.list_roots()).roots]


@server.tool()
async def folders_of_the_caller(ctx: Context) -> list[str]:
    """List the client's roots, asked in the response to this call."""
    metadata = ServerMessageMetadata(related_request_id=ctx.request_id)
    answer = await ctx.session.send_request(ListRootsRequest(), ListRootsResult, metadata=metadata)
    return [str(root.uri) for root in answer.roots]


@server.tool()
def seen() -> list[str]:
    """List the levels of log lines that the client set, and that its roots changed."""
    return _seen


@server.tool()
async def learn(name: str, ctx: Context) -> str:
    """Offer one more tool."""
    server.add_tool(lambda: name, name=name, description="Say the name.", structured_output=False)
    await ctx.session.send_notification(ToolListChangedNotification(), related_request_id=ctx.request_id)
    return "learned"


@server.tool()
async def wait_for_cancellation(ctx: Context) -> str:
    """Report progress once, then wait until the request is cancelled."""
    try:
        await ctx.report_progress(1)
        await anyio.sleep_forever()
    finally:
        _cancelled.append("cancelled")
    return "never"


@server.tool()
def cancellations() -> int:
    """Count the cancelled calls of `wait_for_cancellation`."""
    return len(_cancelled)


@server.tool()
def die(code: int) -> str:
    """End the server's process."""
    print("out of memory", file=sys.stderr, flush=True)
    os._exit(code)


@server.resource("stock://lamps", mime_type="text/plain")
def lamps() -> str:
    """How many lamps there are."""
    return "12 lamps"


@server.resource("stock://{item}/price")
def price(item: str) -> str:
    """The price of an item."""
    return f"{item}: 5"


@server.prompt()
def order(item: str) -> str:
    """Order an item."""
    return f"Please order one {item}."


if __name__ == "__main__":
    if descriptor := os.environ.get("MCP_SOCKET"):
        uvicorn.Server(uvicorn.Config(server.streamable_http_app())).run([socket.socket(fileno=int(descriptor))])
    elif port := os.environ.get("MCP_PORT"):
        server.run("streamable-http", host="127.0.0.1", port=int(port))
    else:
        server.run("stdio")
