"""MCP servers as targets, over Streamable HTTP (MCP specification 2025-06-18, "Transports")."""

from __future__ import annotations

import itertools
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, cast

from .requests import TargetAnswer, TargetClient
from .tools import GatewayTool, TargetError, ToolResult

VERSION: Final = "2025-06-18"
_SESSION: Final = "mcp-session-id"
_ACCEPT: Final = "application/json, text/event-stream"
_MOST_TOOLS: Final = 1_000
_MOST_PAGES: Final = 200
_MOST_SESSIONS: Final = 1_000
_LIST_TIMEOUT_S: Final = 30.0
_SHOWN_CHARACTERS: Final = 500

Credentials = Callable[[str, bytes], Awaitable[Mapping[str, str]]]
"""Returns the headers that authorize a POST of a body to a URL."""


class McpServers:
    """Clients of MCP servers; a session with a server is opened on first use and shared by later calls of its owner.

    Args:
        client: Sends requests.
    """

    def __init__(self, client: TargetClient) -> None:
        self._client = client
        self._sessions: OrderedDict[str, str] = OrderedDict()
        self._ids = itertools.count(1)

    async def tools(self, url: str, credentials: Credentials) -> list[GatewayTool]:
        """Return all tools of a server, in a separate session.

        Args:
            url: The server's address.
            credentials: Authorizes requests.

        Raises:
            TargetError: The server did not answer as an MCP server.
        """
        session = await self._open(url, credentials, _LIST_TIMEOUT_S)
        tools: list[GatewayTool] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            parameters = {"cursor": cursor} if cursor else {}
            result = await self._ask(url, credentials, session, "tools/list", parameters, _LIST_TIMEOUT_S)
            listed: Any = result.get("tools")
            if not isinstance(listed, list):
                raise TargetError(f"{url} did not list its tools: its response has no list named tools")
            tools.extend(_tool(url, item) for item in cast("list[Any]", listed))
            if len(tools) > _MOST_TOOLS:
                raise TargetError(f"{url} has more than {_MOST_TOOLS:,} tools")
            former, cursor = cursor, result.get("nextCursor")
            if not cursor or cursor == former:
                return tools
        raise TargetError(f"{url} lists its tools in more than {_MOST_PAGES:,} pages")

    async def call(
        self,
        url: str,
        credentials: Credentials,
        name: str,
        arguments: Mapping[str, Any],
        timeout_s: float,
        *,
        owner: str,
    ) -> ToolResult:
        """Call a tool; a session that the server has ended is reopened once.

        Args:
            url: The server's address.
            credentials: Authorizes requests.
            name: The tool's name at the server.
            arguments: Its arguments.
            timeout_s: How long the call may take.
            owner: Whose session the call uses: the server may keep state in it, so it is never shared.

        Raises:
            TargetError: The server did not answer as an MCP server.
        """
        key = f"{owner} {url}"
        parameters = {"name": name, "arguments": dict(arguments)}
        session = self._sessions.get(key)
        if session is not None:
            try:
                return _result(url, await self._ask(url, credentials, session, "tools/call", parameters, timeout_s))
            except _SessionEndedError:
                self._sessions.pop(key, None)
        session = await self._open(url, credentials, timeout_s)
        self._sessions[key] = session
        if len(self._sessions) > _MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return _result(url, await self._ask(url, credentials, session, "tools/call", parameters, timeout_s))

    async def _open(self, url: str, credentials: Credentials, timeout_s: float) -> str:
        """Open a session and return its id; "" for a server without sessions."""
        parameters = {
            "protocolVersion": VERSION,
            "capabilities": {},
            "clientInfo": {"name": "agentcore-gateway", "version": "1.0.0"},
        }
        number = next(self._ids)
        body = {"jsonrpc": "2.0", "id": number, "method": "initialize", "params": parameters}
        answer = await self._send(url, credentials, "", body, timeout_s)
        _rpc_result(url, answer, number)
        session = answer.headers.get(_SESSION, "")
        await self._send(
            url, credentials, session, {"jsonrpc": "2.0", "method": "notifications/initialized"}, timeout_s
        )
        return session

    async def _ask(
        self,
        url: str,
        credentials: Credentials,
        session: str,
        method: str,
        parameters: Mapping[str, Any],
        timeout_s: float,
    ) -> dict[str, Any]:
        number = next(self._ids)
        body = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
        return _rpc_result(url, await self._send(url, credentials, session, body, timeout_s), number)

    async def _send(
        self, url: str, credentials: Credentials, session: str, message: Mapping[str, Any], timeout_s: float
    ) -> TargetAnswer:
        body = json.dumps(message).encode()
        headers = {"content-type": "application/json", "accept": _ACCEPT, "mcp-protocol-version": VERSION}
        if session:
            headers[_SESSION] = session
        headers |= await credentials(url, body)
        answer = await self._client.request("POST", url, headers=headers, body=body, timeout_s=timeout_s)
        if answer.status == 404 and session:
            raise _SessionEndedError(f"{url} ended the session")
        if not 200 <= answer.status < 300:
            raise TargetError(f"{url} answered {answer.status}: {answer.text[:_SHOWN_CHARACTERS]}")
        return answer


class _SessionEndedError(TargetError):
    """The server has ended the session."""


def _rpc_result(url: str, answer: TargetAnswer, number: int) -> dict[str, Any]:
    """Return the result of a JSON-RPC request from its response, which is JSON or an event stream."""
    if answer.headers.get("content-type", "").startswith("text/event-stream"):
        lines = answer.body.splitlines()  # those of a text also end at U+2028 and others, which JSON may contain
        parts = [line.removeprefix(b"data:").decode("utf-8", "replace") for line in lines if line.startswith(b"data:")]
    else:
        parts = [answer.text]
    for part in parts:
        try:
            message = json.loads(part)
        except (ValueError, RecursionError):
            continue
        if not isinstance(message, dict):
            continue
        document = cast("dict[str, Any]", message)
        if document.get("id") != number:
            continue
        if isinstance(error := document.get("error"), dict):
            raise TargetError(f"{url} returned the error {cast('dict[str, Any]', error).get('message')}")
        if isinstance(result := document.get("result"), dict):
            return cast("dict[str, Any]", result)
    raise TargetError(f"{url} did not respond as an MCP server")


def _tool(url: str, item: Any) -> GatewayTool:
    entry = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
    name, schema = entry.get("name"), entry.get("inputSchema")
    if not isinstance(name, str) or not name or not isinstance(schema, dict):
        raise TargetError(f"{url} listed a tool without a name or an inputSchema")
    output: Any = entry.get("outputSchema")
    return GatewayTool(
        name=name,
        description=str(entry.get("description") or ""),
        input_schema=cast("dict[str, Any]", schema),
        output_schema=cast("dict[str, Any]", output) if isinstance(output, dict) else None,
        request={"kind": "mcp", "url": url},
    )


def _result(url: str, result: Mapping[str, Any]) -> ToolResult:
    content: Any = result.get("content")
    if not isinstance(content, list):
        raise TargetError(f"{url} returned a tool result without content")
    structured: Any = result.get("structuredContent")
    return ToolResult(
        content=cast("list[dict[str, Any]]", content),
        structured=cast("dict[str, Any]", structured) if isinstance(structured, dict) else None,
        is_error=result.get("isError") is True,
    )
