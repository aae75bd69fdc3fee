"""Health checks of agents: whether an agent is healthy, and whether it is busy in the background.

Agents answer GET /ping, except MCP servers: they do not have this path, and AgentCore sends them the protocol's own
ping.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from ..contract import RuntimeVersion
from .connections import Connections
from .wire import NotHttpError

PATH = "/ping"
_BODY_LIMIT_BYTES = 65_536
# The parent is not sampled, so that a server that traces its requests records no health checks.
_MCP_PING: Final = (
    b'{"jsonrpc":"2.0","id":"ping","method":"ping","params":{"_meta":'
    b'{"traceparent":"00-00000000000000000000000000000001-0000000000000001-00"}}}'
)
_MCP_HEADERS: Final = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
    # A stateful server does not know this session and answers 404; without a session id it would open another session.
    "mcp-session-id": "health",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """An agent's response to a ping; `changed_at` is the Unix time of the last status change, 0 when unknown."""

    status: int
    is_busy: bool = False
    changed_at: float = 0.0
    probe: str = f"GET {PATH}"
    is_mcp: bool = False

    @property
    def is_healthy(self) -> bool:
        """Whether the response was a success; for an MCP server, whether it was not a server error."""
        return self.status < 500 if self.is_mcp else 200 <= self.status < 300


async def ask_health(connections: Connections, runtime: RuntimeVersion) -> Health:
    """Ping the agent, without a timeout. Raise `ConnectionClosedError` or `NotHttpError`."""
    if runtime.protocol == "MCP":
        request = f"POST {runtime.path} (ping)"
        headers = _MCP_HEADERS | {"host": f"127.0.0.1:{runtime.port}"}
        status, _ = await _ask(connections, request, "POST", runtime.path, headers, _MCP_PING)
        return Health(status=status, probe=request, is_mcp=True)
    status, body = await _ask(connections, f"GET {PATH}", "GET", PATH, {"host": f"127.0.0.1:{runtime.port}"}, b"")
    try:
        document = json.loads(body)
        return Health(
            status=status,
            is_busy=document.get("status") == "HealthyBusy",
            changed_at=float(document.get("time_of_last_update", 0)),
        )
    except (ValueError, TypeError, AttributeError, RecursionError, OverflowError):
        return Health(status=status)  # not the SDK's server: only the HTTP status is known


async def _ask(
    connections: Connections, request: str, method: str, path: str, headers: dict[str, str], body: bytes
) -> tuple[int, bytes]:
    connection = await connections.take()
    try:
        head = await connection.ask(method, path, headers, body)
        answer = b""
        while (chunk := await connection.next_chunk()) is not None:
            answer += chunk
            if len(answer) > _BODY_LIMIT_BYTES:
                connection.close()
                raise NotHttpError(f"{request} answered more than {_BODY_LIMIT_BYTES:,} bytes")
    finally:
        connections.give_back(connection)
    return head.status, answer
