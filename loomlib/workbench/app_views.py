"""The tool calls of an MCP App's view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..agents import Chunk, InvocationError
from ..agents.mcp_apps import AppView, FrameChannel, tool_call_payload, tool_result_of
from .agent import Agent


def view_channel(
    agent: Agent, view: AppView, *, session_id: str, theme: str = "light", timeout_s: float = 60.0
) -> FrameChannel:
    """Return the channel of a view's frame; its tool calls go to the agent, in the view's session.

    Args:
        agent: The agent that receives the view's tool calls.
        view: The view of an answer, from `inv.protocols.views()`.
        session_id: The runtime session that the view belongs to.
        theme: The view's colours, "light" or "dark".
        timeout_s: Seconds without a byte after which a tool call fails.

    Examples:
        >>> channel = view_channel(agent, inv.protocols.views()[0], session_id=inv.session_id)
        >>> channel.receive({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "roll_dice"}})
    """

    def call_tool(name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = tool_result_of(b"")
        payload = tool_call_payload(name, arguments)
        for event in agent.stream(payload=payload, session_id=session_id, timeout_s=timeout_s):
            if isinstance(event, Chunk) and b'"mcp"' in event.data:
                answer = tool_result_of(event.data)
            elif isinstance(event, InvocationError):
                return {"error": {"code": -32603, "message": f"The agent could not be invoked ({event.failure})"}}
        return answer

    return FrameChannel(view, call_tool, theme=theme)
