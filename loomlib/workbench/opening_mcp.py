"""Opening MCP clients: of an agent through InvokeAgentRuntime, and of any server by its URL or command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..agents import AgentEntry, new_session_id
from ..agents.protocols.channels import Channel
from ..agents.protocols.http_channel import HttpChannel
from ..agents.protocols.mcp_session import McpSession
from ..agents.protocols.mcp_values import Callbacks
from ..agents.protocols.servers import server_entry
from ..agents.protocols.stdio_channel import StdioChannel
from ..aws.runtimes import stop_session
from ..errors import ProtocolError
from .context import Context
from .mcp_client import McpClient

if TYPE_CHECKING:
    from ..agents.entry import ServerEntry
    from ..aws.signing import SignedRequest


def open_agent_mcp(
    context: Context,
    entry: AgentEntry,
    qualifier: str,
    callbacks: Callbacks,
    *,
    session_id: str | None = None,
    timeout_s: float | None = None,
) -> McpClient:
    """Open an MCP session with an agent whose protocol is MCP.

    Raises:
        ProtocolError: The agent speaks another protocol.
    """
    if entry.protocol != "MCP":
        raise ProtocolError(
            f"The agent is no MCP server; its protocol is {entry.protocol}",
            on=entry.name,
            try_='agent.invoke("…"), or bench.mcp(…) for a server outside AgentCore',
        )

    def make(session: str | None, own: Callbacks) -> McpSession:
        id = session or new_session_id()
        return McpSession(
            agent_channel(context, entry, qualifier, id),
            entry=entry,
            writer=context.invoker.writer,
            callbacks=own,
            session_id=id,
            qualifier=qualifier,
            labels=context.labels,
        )

    def end(id: str) -> bool:
        return stop_session(context.clients, str(entry.arn), id, qualifier=qualifier, region=entry.region)

    return McpClient(make, callbacks, context, session_id=session_id, end_session=end, timeout_s=timeout_s)


def open_server_mcp(
    context: Context,
    server: str | Sequence[str],
    callbacks: Callbacks,
    *,
    headers: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    folder: str | Path | None = None,
    timeout_s: float | None = None,
) -> McpClient:
    """Open an MCP session with a server by its URL (streamable HTTP) or its command (stdio).

    Raises:
        ValueError: `server` is neither.
        ProtocolError: There is no MCP server.
    """
    if isinstance(server, str) and not server.startswith(("http://", "https://")):
        raise ValueError(f'server is a URL, or a command as a list such as ["python", "server.py"], not {server!r}')
    if not server:
        raise ValueError('the command is empty; give the program and its arguments, as in ["python", "server.py"]')
    entry = server_entry(context.store, server)

    def make(session: str | None, own: Callbacks) -> McpSession:
        return McpSession(
            _channel(context, server, entry, headers=headers, environment=environment, folder=folder),
            entry=entry,
            writer=context.invoker.writer,
            callbacks=own,
            session_id=session or new_session_id(),
        )

    return McpClient(make, callbacks, context, timeout_s=timeout_s)


def agent_channel(context: Context, entry: AgentEntry, qualifier: str, session_id: str) -> HttpChannel:
    """Return a channel whose messages are signed calls of InvokeAgentRuntime."""
    from ..aws.engine import shared_engine
    from ..aws.signing import sign_invocation

    def request(method: str, body: bytes, headers: Mapping[str, str]) -> SignedRequest:
        del method  # InvokeAgentRuntime knows POST only
        return sign_invocation(
            context.clients,
            arn=str(entry.arn),
            region=entry.region,
            qualifier=qualifier,
            session_id=session_id,
            body=body,
            headers=headers,
        )

    return HttpChannel(
        shared_engine(),
        request,
        name=f"{entry.name}, endpoint {qualifier}",
        what="InvokeAgentRuntime",
        read_timeout_s=context.settings.read_timeout_s,
    )


def _channel(
    context: Context,
    server: str | Sequence[str],
    entry: ServerEntry,
    *,
    headers: Mapping[str, str] | None,
    environment: Mapping[str, str] | None,
    folder: str | Path | None,
) -> Channel:
    from ..aws.engine import shared_engine
    from ..aws.signing import plain_request

    if not isinstance(server, str):
        return StdioChannel(server, environment=environment, folder=folder, name=entry.name)
    return HttpChannel(
        shared_engine(),
        partial(plain_request, server, headers or {}),
        name=entry.name,
        read_timeout_s=context.settings.read_timeout_s,
        has_stream=True,
    )
