"""MCP clients of the local AgentCore, signed with SigV4."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any
from urllib.parse import quote, urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from signed_requests import signed_headers


class SigV4(httpx2.Auth):
    """Signs each request for bedrock-agentcore."""

    requires_request_body = True

    def __init__(self, state: Any) -> None:
        self.state = state

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        target = urlsplit(str(request.url))
        path = target.path if not target.query else f"{target.path}?{target.query}"
        request.headers.update(signed_headers(self.state, request.method, path, request.content))
        yield request


McpClient = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
def mcp_client(aws: Any) -> McpClient:
    """Connects the `mcp` package's client to a runtime's address."""

    @asynccontextmanager
    async def connect(arn: str, *, headers: dict[str, str] | None = None, **options: Any) -> AsyncGenerator[Client]:
        url = f"{aws.state.url}/runtimes/{quote(arn, safe='')}/invocations?qualifier=DEFAULT"
        timeout = httpx2.Timeout(60)
        async with httpx2.AsyncClient(auth=SigV4(aws.state), headers=headers, timeout=timeout) as http:
            transport = streamable_http_client(url, http_client=http, terminate_on_close=False)
            async with Client(transport, **options) as client:
                yield client

    return connect
