"""An MCP server for tests, made with the MCP SDK: over stdio, or over HTTP where MCP_PORT is set."""

from __future__ import annotations

import os
import sys
import warnings

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import SamplingMessage, TextContent
from pydantic import BaseModel

warnings.filterwarnings("ignore")

server = MCPServer("warehouse", instructions="Ask for stock before you order.", version="1.2", log_level="ERROR")
_cancelled: list[str] = []


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
    if port := os.environ.get("MCP_PORT"):
        server.run("streamable-http", host="127.0.0.1", port=int(port))
    else:
        server.run("stdio")
