"""Bodies of the requests to agents that speak JSON-RPC: a message of A2A, a tool call of MCP. Each is one request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .bodies import LoadBody


@dataclass(frozen=True, slots=True, kw_only=True)
class A2aMessageBodies:
    """`message/send` with a prompt; each call has its own id, which does not change when a step is continued.

    Attributes:
        prompt: The message's text.
    """

    prompt: str

    def body(self, call: int, turn: int, session_id: str) -> LoadBody:
        """Return the body of a call.

        Args:
            call: Its number, from which the ids are derived.
            turn: Without effect.
            session_id: The session, from which the message's id is derived.
        """
        message = {
            "kind": "message",
            "role": "user",
            "messageId": f"{session_id}-{turn}-{call}",
            "parts": [{"kind": "text", "text": self.prompt}],
        }
        return LoadBody(content=_request(call, "message/send", {"message": message}))


@dataclass(frozen=True, slots=True, kw_only=True)
class McpToolCallBodies:
    """`tools/call` without a handshake, as stateless servers accept it.

    Attributes:
        tool: The tool.
        arguments: Its arguments.
    """

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def body(self, call: int, turn: int, session_id: str) -> LoadBody:
        """Return the body of a call.

        Args:
            call: Its number, from which the request's id is derived.
            turn: Without effect.
            session_id: Without effect.
        """
        params = {"name": self.tool, "arguments": dict(self.arguments)}
        return LoadBody(content=_request(call, "tools/call", params))


def _request(call: int, method: str, params: Mapping[str, Any]) -> bytes:
    message = {"jsonrpc": "2.0", "id": call + 1, "method": method, "params": params}
    return json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass")
