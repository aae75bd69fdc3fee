"""An MCP server in a runtime, and the MCP SDK's client at AWS's address: sessions, elicitation, sampling, progress."""

import asyncio

import httpx2
from deployed import address, deploy, signing
from mcp import Client, types
from mcp.client.streamable_http import streamable_http_client

SERVER = '''
from mcp import types
from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

server = MCPServer("garden")
planted = []


class Plant(BaseModel):
    name: str


@server.tool()
async def plant(beds: int, ctx: Context) -> str:
    """Ask what to plant, and plant it bed by bed."""
    asked = await ctx.elicit("What shall I plant?", Plant)
    if asked.action != "accept":
        return "Nothing was planted."
    for bed in range(beds):
        await ctx.report_progress(bed + 1, beds)
    question = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=asked.data.name))
    advice = await ctx.session.create_message([question], max_tokens=50, related_request_id=ctx.request_id)
    planted.append(asked.data.name)
    return f"{', '.join(planted)} in {beds} beds: {advice.content.text}"


@server.resource("garden://planted")
def all_planted() -> str:
    return ", ".join(planted)


if __name__ == "__main__":
    server.run("streamable-http", host="0.0.0.0", port=8000)
'''


async def elicited(context, params):
    return types.ElicitResult(action="accept", content={"name": "beans"})


async def sampled(context, params):
    answer = types.TextContent(type="text", text=f"water the {params.messages[0].content.text}")
    return types.CreateMessageResult(role="assistant", content=answer, model="own")


async def main(arn):
    beds = []

    async def progressed(progress, total, message):
        beds.append(f"{progress:g}/{total:g}")

    async with httpx2.AsyncClient(auth=signing(httpx2.Auth), timeout=240) as http:
        transport = streamable_http_client(address(arn) + "?qualifier=DEFAULT", http_client=http)
        async with Client(transport, mode="legacy", elicitation_callback=elicited, sampling_callback=sampled) as client:
            print([tool.name for tool in (await client.list_tools()).tools])
            for count in (2, 1):
                result = await client.call_tool("plant", {"beds": count}, progress_callback=progressed)
                print(result.content[0].text)
            print((await client.read_resource("garden://planted")).contents[0].text)
    print(beds)


asyncio.run(main(deploy("garden", SERVER, "MCP")))
