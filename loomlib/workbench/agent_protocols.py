"""Clients of the protocols that an agent speaks: MCP, A2A, AG-UI and WebSockets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from ..agents import AgentEntry
from ..agents.protocols import CallbackOptions, Callbacks
from ..aws.bearer import Bearer
from .a2a_client import A2aClient
from .agent_sessions import check_protocol
from .agui_client import AguiClient, AguiTransport
from .context import Context
from .mcp_client import McpClient
from .protocol_sessions import open_agent_a2a, open_agent_mcp, open_websocket
from .socket_client import SocketClient

if TYPE_CHECKING:
    from .agent_messages import AgentMessages


class AgentProtocols:
    """Clients that speak an agent's protocol, and its message format; `agent.protocols`.

    Args:
        context: The workbench's resources.
        entry: The agent.
        qualifier: The endpoint to invoke.
        bearer: The token that is sent instead of a signature, or a function that returns it.
        changed: Called with the catalog entry after the message format has changed.
    """

    def __init__(
        self,
        context: Context,
        entry: AgentEntry,
        qualifier: str,
        bearer: Bearer | None,
        changed: Callable[[AgentEntry], None],
    ) -> None:
        self._context, self._entry, self._qualifier, self._bearer = context, entry, qualifier, bearer
        self._changed = changed

    @property
    def messages(self) -> AgentMessages:
        """The format of its requests and answers: read it, set it, or find it by a probe."""
        from .agent_messages import AgentMessages

        return AgentMessages(self._context, self._entry, self._qualifier, self._bearer, self._changed)

    def mcp(
        self,
        *,
        session_id: str | None = None,
        timeout_s: float | None = None,
        bearer: str | None = None,
        **callbacks: Unpack[CallbackOptions],
    ) -> McpClient:
        """Open an MCP session with this agent: tools, resources, prompts and calls.

            with agent.protocols.mcp() as mcp:
                mcp.call("add", a=1, b=2).value

        Args:
            session_id: The runtime session; a new one by default, which ends with the client.
            timeout_s: Timeout of each call in seconds.
            bearer: A token that the runtime's authorizer accepts, sent instead of a signature.
            **callbacks: `on_progress`, `on_log`, `on_elicit`, `on_sample` and `roots`, as in
                `loomlib.agents.protocols.Callbacks`.

        Raises:
            ProtocolError: The agent speaks another protocol, or does not open a session.
        """
        options = Callbacks(**callbacks)
        return open_agent_mcp(
            self._context,
            self._entry,
            self._qualifier,
            options,
            session_id=session_id,
            timeout_s=timeout_s,
            bearer=bearer or self._bearer,
        )

    def a2a(
        self, *, session_id: str | None = None, timeout_s: float | None = None, bearer: str | None = None
    ) -> A2aClient:
        """Open an A2A client of this agent: card, messages, streams, tasks and artifacts.

            with agent.protocols.a2a() as a2a:
                a2a.send("Plan a trip to Oslo").artifacts

        Args:
            session_id: The runtime session; a new one by default, which ends with the client.
            timeout_s: Timeout of each request in seconds.
            bearer: A token that the runtime's authorizer accepts, sent instead of a signature.

        Raises:
            ProtocolError: The agent speaks another protocol.
        """
        return open_agent_a2a(
            self._context,
            self._entry,
            self._qualifier,
            session_id=session_id,
            timeout_s=timeout_s,
            bearer=bearer or self._bearer,
        )

    def agui(
        self,
        *,
        session_id: str | None = None,
        state: Any = None,
        tools: Sequence[Mapping[str, Any]] = (),
        transport: AguiTransport = "sse",
        bearer: str | None = None,
    ) -> AguiClient:
        """Start an AG-UI conversation: runs with their events, shared state, tools and questions.

            agui = agent.protocols.agui()
            agui.run("Add 2 lamps to the cart.").text, agui.state

        Args:
            session_id: The runtime session; a new one by default.
            state: The initial shared state.
            tools: The tools that the client offers, in AG-UI's form.
            transport: "sse" for server-sent events, "websocket" for a WebSocket that each run opens. Events, times and
                stored invocations are the same.
            bearer: A token that the runtime's authorizer accepts, sent instead of a signature.

        Raises:
            ProtocolError: The agent speaks MCP or A2A.
        """
        check_protocol(self._entry, "AGUI", "HTTP")
        return AguiClient(
            self._context,
            self._entry,
            self._qualifier,
            session_id=session_id,
            state=state,
            tools=tools,
            bearer=bearer or self._bearer,
            transport=transport,
        )

    def websocket(self, *, session_id: str | None = None, bearer: str | None = None) -> SocketClient:
        """Open a WebSocket to this agent.

            with agent.protocols.websocket() as ws:
                ws.send({"prompt": "What is 2+2?"})
                ws.receive().text

        Args:
            session_id: The runtime session; a new one by default.
            bearer: A token that the runtime's authorizer accepts, sent instead of a signature.

        Raises:
            ProtocolError: The agent speaks MCP or A2A, which do not use WebSockets.
            AwsError: The WebSocket was refused.
        """
        token = bearer or self._bearer
        return open_websocket(self._context, self._entry, self._qualifier, session_id=session_id, bearer=token)
