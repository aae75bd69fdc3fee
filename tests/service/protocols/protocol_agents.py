"""Agents that speak MCP, A2A and AG-UI, for the tests of protocols."""

STATEFUL_MCP = '''
import anyio
from mcp import types
from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

server = MCPServer("travel", instructions="Books trips.")
calls = []


class City(BaseModel):
    city: str


@server.tool()
async def book(ctx: Context) -> str:
    """Book a trip: ask where to, report progress, and let the client's model write a tip."""
    asked = await ctx.elicit("Where to?", City)
    if asked.action != "accept":
        return "Nothing booked."
    for step in (1, 2):
        await ctx.report_progress(step, 2, f"step {step}")
    await ctx.info(f"Booking {asked.data.city}")
    tip = await ctx.session.create_message(
        [types.SamplingMessage(role="user", content=types.TextContent(type="text", text=asked.data.city))],
        max_tokens=20,
        related_request_id=ctx.request_id,
    )
    calls.append(asked.data.city)
    return f"Booked {asked.data.city}: {tip.content.text}"


@server.tool()
async def wait(ctx: Context) -> str:
    """Wait until the client cancels."""
    await ctx.report_progress(1, 2, "waiting")
    try:
        await anyio.sleep(600)
    except anyio.get_cancelled_exc_class():
        calls.append("cancelled")
        raise
    return "never"


@server.tool()
def count() -> list[str]:
    """Return the calls of this process."""
    return calls


@server.resource("travel://cities")
def cities() -> str:
    """The cities."""
    return "Oslo, Rome"


@server.prompt()
def packing(city: str) -> str:
    """A packing list."""
    return f"Pack for {city}."


if __name__ == "__main__":
    server.run("streamable-http", host="0.0.0.0", port=PORT, streamable_http_path="PATH", stateless_http=False)
'''

STATELESS_MCP = '''
import os
from typing import Any

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("adder")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def seen(ctx: Context) -> dict[str, Any]:
    """Return the request's headers and the process."""
    return {"headers": dict(ctx.headers or {}), "pid": os.getpid()}


if __name__ == "__main__":
    server.run("streamable-http", host="0.0.0.0", stateless_http=True, json_response=True)
'''

PLAIN_A2A = """
import json
import os

import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, StreamingResponse
from starlette.routing import Route

CARD = {"name": "plain", "url": os.environ["AGENTCORE_RUNTIME_URL"], "version": "1", "protocolVersion": "0.3.0"}


async def rpc(request):
    call = await request.json()
    if call["method"] == "fail":
        return PlainTextResponse("broken", 500)
    result = {"method": call["method"], "headers": dict(request.headers)}
    answer = {"jsonrpc": "2.0", "id": call["id"], "result": result}
    if call["method"] == "message/stream":
        events = (f"data: {json.dumps(answer)}\\n\\n" for _ in range(2))
        return StreamingResponse(events, media_type="text/event-stream")
    return JSONResponse(answer)


routes = [
    Route("/", rpc, methods=["POST"]),
    Route("/.well-known/agent-card.json", lambda request: JSONResponse(CARD)),
    Route("/ping", lambda request: JSONResponse({"status": "Healthy"})),
]
uvicorn.run(Starlette(routes=routes), host="0.0.0.0", port=9000)
"""

# As the developer guide, "Deploy A2A servers in AgentCore Runtime", starts one.
STRANDS_A2A_SERVER = '''
import os

import uvicorn
from fastapi import FastAPI
from strands import Agent, tool
from strands.multiagent.a2a import A2AServer

runtime_url = os.environ.get("AGENTCORE_RUNTIME_URL", "http://127.0.0.1:9000/")


@tool
def calculator(expression: str) -> str:
    """Work out an arithmetic expression.

    Args:
        expression: Such as "2 + 2".
    """
    return str(eval(expression, {}))


agent = Agent(name="Calculator Agent", description="Performs arithmetic.", tools=[calculator], callback_handler=None)
server = A2AServer(agent=agent, http_url=runtime_url, serve_at_root=True)
app = FastAPI()


@app.get("/ping")
def ping():
    return {"status": "healthy"}


app.mount("/", server.to_fastapi_app())

if __name__ == "__main__":
    uvicorn.run(app, host="0.0.0.0", port=9000)
'''
