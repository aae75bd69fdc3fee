"""Gateways: what a gateway adds to a call of a tool of an MCP server, beside the same call without it."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from statistics import median
from urllib.parse import urlsplit

from loomlib.aws import gateways

from .laboratory import Laboratory
from .table import Row, ms

_SERVER = """
import socket, sys
import uvicorn
from mcp.server.mcpserver import MCPServer

server = MCPServer("sums", log_level="ERROR")

@server.tool()
def add(a: int, b: int) -> int:
    return a + b

listener = socket.socket(proto=socket.IPPROTO_TCP)  # asyncio then disables Nagle's algorithm
listener.bind(("127.0.0.1", 0))
listener.listen()
print(listener.getsockname()[1], flush=True)
app = server.streamable_http_app(stateless_http=True, json_response=True)
uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
"""


def calls(laboratory: Laboratory, n: int = 300) -> Iterator[Row]:
    """One tool, called directly and through a gateway without an authorizer, in turns; one connection each."""
    with subprocess.Popen([sys.executable, "-c", _SERVER], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
            yield _row(laboratory, url, n)
        finally:
            process.terminate()


def _row(laboratory: Laboratory, url: str, n: int) -> Row:
    clients = laboratory.clients
    gateway = gateways.create_gateway(clients, "sums", authorizer="NONE", role_arn=None, searches=False)
    gateways.add_target(clients, gateway, "sums", {"mcpServer": {"endpoint": url}})
    direct, through = _Tool(url, "add"), _Tool(gateway.url, "sums___add")
    for tool in (direct, through):
        for _ in range(10):
            tool.call()
    alone: list[float] = []
    behind: list[float] = []
    for _ in range(n):
        alone.append(direct.call())
        behind.append(through.call())
    gateways.delete_gateway(clients, gateway)
    added = median(behind) - median(alone)
    return Row(
        what="call of an MCP tool through a gateway, beside the server itself",
        ours=ms(behind),
        reference=ms(alone),
        compared=f"{added:+.2f} ms",
        aim="≤ + 5 ms",
        met=added <= 5,
        n=n,
    )


class _Tool:
    """One tool of an MCP endpoint, over one connection."""

    def __init__(self, url: str, name: str) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.netloc, timeout=60)
        self._path, self._name = parts.path, name

    def call(self) -> float:
        """Call it; how long that took, in milliseconds."""
        body = json.dumps(
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": self._name, "arguments": {"a": 1, "b": 2}},
            }
        )
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        began = time.perf_counter()
        self._connection.request("POST", self._path, body, headers)
        answer = json.loads(self._connection.getresponse().read())
        elapsed_ms = 1000 * (time.perf_counter() - began)
        assert answer["result"]["content"][0]["text"] == "3", answer
        return elapsed_ms
