"""MCP runtimes: the media types that a request must accept, and the session that serves an `Mcp-Session-Id`.

AgentCore routes by `Mcp-Session-Id` and always returns one (developer guide, "MCP protocol contract"). A stateful
server creates its own id, in its response to `initialize`; for a stateless one the platform creates it.
"""

from __future__ import annotations

import json
import re
import uuid
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final, cast

from ..wire import RefusedError

_ACCEPTED: Final = ("application/json", "text/event-stream")
_SESSION_ID: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9-_]{32,255}")
_REMEMBERED: Final = 10_000
_NAMESPACE: Final = uuid.UUID("5a4f1d6e-3c52-4d5f-9b0c-2d4a8a1f7e61")

McpSessionKey = tuple[str, str, str]


class McpSessionIds:
    """The runtime sessions of MCP session ids, by runtime id, qualifier and MCP session id; the oldest are dropped."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[McpSessionKey, str] = OrderedDict()

    def session_of(self, runtime_id: str, qualifier: str, mcp_id: str, runtime_session_id: str | None) -> str:
        """Return the runtime session id for a request with an MCP session id.

        Args:
            runtime_id: The runtime.
            qualifier: The endpoint's name.
            mcp_id: The request's `Mcp-Session-Id`.
            runtime_session_id: The request's runtime session id. SDKs create one for each request without one, so a
                known MCP session id takes precedence.
        """
        if session_id := self._sessions.get((runtime_id, qualifier, mcp_id)):
            return session_id
        if runtime_session_id is not None:
            return runtime_session_id
        return mcp_id if _SESSION_ID.fullmatch(mcp_id) else str(uuid.uuid5(_NAMESPACE, mcp_id))

    def remember(self, runtime_id: str, qualifier: str, mcp_id: str, session_id: str) -> None:
        """Route further requests with this MCP session id to the session.

        Args:
            runtime_id: The runtime's id.
            qualifier: The endpoint.
            mcp_id: The id of the MCP session (`Mcp-Session-Id`).
            session_id: The session's id.
        """
        self._sessions[runtime_id, qualifier, mcp_id] = session_id
        self._sessions.move_to_end((runtime_id, qualifier, mcp_id))
        if len(self._sessions) > _REMEMBERED:
            self._sessions.popitem(last=False)


def check_accept(headers: Mapping[bytes, bytes]) -> None:
    """Refuse an MCP request that does not accept both JSON and an event stream (406)."""
    accepted = headers.get(b"accept", b"").decode("latin-1").lower().split(",")
    if not {kind.partition(";")[0].strip() for kind in accepted}.issuperset(_ACCEPTED):
        raise RefusedError(
            "McpRequestUnacceptableException",
            406,
            "Accept Header Error - MCP protocol requires Accept header: application/json, text/event-stream",
        )


def json_rpc_method(body: bytes) -> str:
    """Return the method of a JSON-RPC request, empty for anything else."""
    method = _request(body).get("method")
    return method if isinstance(method, str) else ""


def json_rpc_id(body: bytes) -> str | int | float | None:
    """Return the id of a JSON-RPC request, None for anything else."""
    request_id = _request(body).get("id")
    return request_id if isinstance(request_id, str | int | float) and not isinstance(request_id, bool) else None


def _request(body: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return cast("Mapping[str, Any]", document) if isinstance(document, dict) else {}
