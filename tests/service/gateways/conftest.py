"""Gateways with targets on this machine: an HTTP API, and an MCP server of the MCP SDK."""

from __future__ import annotations

import io
import json
import socket
import threading
import uuid
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import uvicorn
from http_servers import HttpServer, http_server
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from waiting import wait_until

ROLE = "arn:aws:iam::123456789012:role/loom"
OPENAPI = {
    "openapi": "3.0.1",
    "info": {"title": "Stock", "version": "1"},
    "paths": {
        "/items/{item_id}": {
            "parameters": [{"name": "item_id", "in": "path", "required": True, "schema": {"type": "string"}}],
            "get": {
                "operationId": "readItem",
                "summary": "Reads one item of the stock",
                "parameters": [{"name": "fields", "in": "query", "schema": {"$ref": "#/components/schemas/Fields"}}],
            },
        },
        "/items": {
            "post": {
                "operationId": "addItem",
                "description": "Adds an item to the stock",
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Item"}}},
                },
            }
        },
        "/flood": {"get": {"operationId": "flood"}},
    },
    "components": {
        "schemas": {
            "Fields": {"type": "array", "items": {"type": "string"}},
            "Item": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Item"}},
                },
                "required": ["name"],
            },
        }
    },
}


class Gateway:
    """One gateway, and JSON-RPC requests to it."""

    def __init__(self, aws: Any, described: dict[str, Any]) -> None:
        self.aws, self.id, self.url = aws, described["gatewayId"], described["gatewayUrl"]

    @property
    def base(self) -> str:
        """The address below which HTTP targets are."""
        return self.url.removesuffix("/mcp")

    def add(self, name: str, mcp: dict[str, Any], **more: Any) -> dict[str, Any]:
        """Add a target and return it once it is READY or has failed."""
        return self._add(name, {"mcp": mcp}, more)

    def add_server(self, name: str, url: str, *, passthrough: dict[str, Any] | None = None, **more: Any) -> Any:
        """Add an HTTP server as a target and return it once it is READY or has failed."""
        settings = {"endpoint": url, "protocolType": "CUSTOM", **(passthrough or {})}
        return self._add(name, {"http": {"passthrough": settings}}, more)

    def add_runtime(self, name: str, arn: str, **more: Any) -> Any:
        """Add an agent as a target and return it once it is READY or has failed."""
        options = {"credentialProviderConfigurations": [{"credentialProviderType": "GATEWAY_IAM_ROLE"}], **more}
        return self._add(name, {"http": {"agentcoreRuntime": {"arn": arn}}}, options)

    def _add(self, name: str, configuration: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
        target = self.aws.control.create_gateway_target(
            gatewayIdentifier=self.id, name=name, targetConfiguration=configuration, **more
        )
        return self.settled(target["targetId"])

    def settled(self, target_id: str) -> dict[str, Any]:
        def settled() -> dict[str, Any] | None:
            description = self.aws.control.get_gateway_target(gatewayIdentifier=self.id, targetId=target_id)
            return None if description["status"] in ("CREATING", "UPDATING", "SYNCHRONIZING") else description

        target = wait_until(settled, what=f"the end of CREATING of {target_id}")
        assert target is not None
        return target


@pytest.fixture
def make_gateway(aws: Any) -> Any:
    def make(authorizer: str = "NONE", **more: Any) -> Gateway:
        name = f"tools-{uuid.uuid4().hex[:8]}"
        return Gateway(
            aws, aws.control.create_gateway(**{"name": name, "roleArn": ROLE, "authorizerType": authorizer, **more})
        )

    return make


@pytest.fixture
def make_function(aws: Any) -> Callable[[str], str]:
    """Makes a Lambda function whose handler is `handle` of some code; returns its ARN."""

    def make(code: str) -> str:
        name = f"fn-{uuid.uuid4().hex[:8]}"
        trust = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
        document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
        role = aws.client("iam").create_role(RoleName=name, AssumeRolePolicyDocument=document)["Role"]["Arn"]
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("app.py", code)
        function = aws.client("lambda").create_function(
            FunctionName=name,
            Runtime="python3.12",
            Role=role,
            Handler="app.handle",
            Code={"ZipFile": packed.getvalue()},
            Timeout=60,
        )
        return function["FunctionArn"]

    return make


class _Stock(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/flood":
            self._answer(200, b"x" * 7_000_000)
            return
        content = {
            "path": parts.path,
            "query": parse_qs(parts.query),
            "key": self.headers.get("X-Api-Key"),
            "trace": self.headers.get("traceparent"),
        }
        self._answer(404 if parts.path.endswith("none") else 200, json.dumps(content).encode())

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(200, json.dumps({"added": json.loads(content), "who": self.headers.get("Authorization")}).encode())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="package")
def stock() -> Iterator[str]:
    """The address of an HTTP API."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Stock) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture
def openapi(stock: str) -> str:
    """An OpenAPI document of `stock`."""
    return json.dumps({**OPENAPI, "servers": [{"url": stock}]})


class McpOnThisMachine:
    """An MCP server of the SDK whose tools may change."""

    def __init__(self, url: str, server: MCPServer, stop: Callable[[], None]) -> None:
        self.url, self.server, self.stop = url, server, stop


@pytest.fixture
def mcp_server() -> Iterator[McpOnThisMachine]:
    """An MCP server with the tool `add`."""
    server = MCPServer("sums")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Adds two integers."""
        return a + b

    @server.tool()
    def fail() -> str:
        """Always fails."""
        raise ToolError("no luck")

    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        served = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="warning", lifespan="on"))
        thread = threading.Thread(target=served.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        wait_until(lambda: served.started, what="the MCP server")

        def stop() -> None:
            served.should_exit = True
            thread.join()
            listener.close()

        yield McpOnThisMachine(f"http://127.0.0.1:{port}/mcp", server, stop)
        stop()


@pytest.fixture(scope="package")
def http_api() -> Iterator[HttpServer]:
    """An HTTP server that answers what it was asked."""
    with http_server() as server:
        yield server
