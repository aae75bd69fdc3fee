"""Open clients of MCP, A2A and WebSocket servers: agents, gateways, and servers by URL or command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from ..agents import AgentEntry, new_session_id
from ..agents.entry import ServerEntry
from ..agents.protocols.a2a_session import A2aSession
from ..agents.protocols.channels import Channel
from ..agents.protocols.http_channel import HttpChannel, read_json
from ..agents.protocols.mcp_session import McpSession
from ..agents.protocols.mcp_values import Callbacks
from ..agents.protocols.running import Running
from ..agents.protocols.servers import server_entry
from ..agents.protocols.socket_session import SocketSession
from ..agents.protocols.stdio_channel import StdioChannel
from ..aws.bearer import Bearer, check_bearer, token_of
from ..aws.engine import shared_engine
from ..aws.signing import SignedRequest, plain_request, sign_get, sign_request
from ..errors import AwsError, NotSupportedError, ProtocolError, TransportError
from .a2a_client import A2aClient
from .agent_sessions import agent_a2a, agent_mcp, check_protocol, stop_agent_session
from .context import Context
from .mcp_client import McpClient
from .session_target import SessionTarget
from .socket_client import SocketClient

_CARD: Final = "/.well-known/agent-card.json"


def open_agent_mcp(
    context: Context,
    entry: AgentEntry,
    qualifier: str,
    callbacks: Callbacks,
    *,
    session_id: str | None = None,
    timeout_s: float | None = None,
    bearer: Bearer | None = None,
) -> McpClient:
    """Open an MCP session with an agent whose protocol is MCP.

    Args:
        context: The workbench's resources.
        entry: The agent's entry in the catalog.
        qualifier: The endpoint that is called.
        callbacks: Answers to the server's requests and notifications.
        session_id: The runtime session; a new one by default, which ends with the client.
        timeout_s: Timeout of each call in seconds.
        bearer: A token sent instead of a signature, or a function that returns it.

    Raises:
        ProtocolError: The agent speaks another protocol.
    """
    check_protocol(entry, "MCP")
    if isinstance(bearer, str):
        check_bearer(bearer)

    def make(session: str | None, own: Callbacks) -> McpSession:
        return agent_mcp(context, entry, qualifier, bearer, session or new_session_id(), own)

    end = partial(stop_agent_session, context, entry, qualifier, bearer)
    return McpClient(make, callbacks, context, session_id=session_id, stop_session=end, timeout_s=timeout_s)


def check_is_stateless(context: Context, entry: AgentEntry, qualifier: str, *, bearer: Bearer | None = None) -> None:
    """Raise an error if an MCP agent does not answer requests without a handshake.

    Its tools are requested once. The header `Mcp-Session-Id` shows nothing: AgentCore adds it to every response.

    Args:
        context: The workbench's resources.
        entry: The agent's entry in the catalog.
        qualifier: The endpoint that is called.
        bearer: A token sent instead of a signature, or a function that returns it.

    Raises:
        NotSupportedError: It requires a handshake first.
        LoomError: It cannot be reached.
    """
    session_id = new_session_id()
    session = agent_mcp(context, entry, qualifier, bearer, session_id, Callbacks())

    async def list_tools() -> None:
        await session.connect()
        try:
            await session.request("tools/list")
        finally:
            await session.close()

    try:
        Running(shared_engine(), lambda _run: list_tools()).result()
    except TransportError:
        raise
    except (ProtocolError, AwsError) as error:
        raise NotSupportedError(
            f"This MCP server does not answer requests without a handshake ({error}), so a call is several requests; "
            "the load engine supports only calls of one request",
            on=entry.name,
            try_="a stateless server (stateless_http=True), as AgentCore recommends",
        ) from error
    finally:
        stop_agent_session(context, entry, qualifier, bearer, session_id)


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

    Args:
        context: The workbench's resources.
        server: A URL, or a command as a list of the program and its arguments.
        callbacks: Answers to the server's requests and notifications.
        headers: Header fields of each request, for a URL.
        environment: Environment variables of the process, for a command.
        folder: Working folder of the process, for a command.
        timeout_s: Timeout of each call in seconds.

    Raises:
        ValueError: `server` is neither a URL nor a command.
        ProtocolError: There is no MCP server.
    """
    if isinstance(server, str) and not server.startswith(("http://", "https://")):
        raise ValueError(f'server must be a URL or a command list such as ["python", "server.py"], not {server!r}')
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


def open_gateway_mcp(
    context: Context,
    url: str,
    region: str,
    callbacks: Callbacks,
    *,
    signed: bool,
    bearer: Bearer | None = None,
    timeout_s: float | None = None,
) -> McpClient:
    """Open an MCP session with a gateway.

    Args:
        context: The workbench's resources.
        url: The gateway's address.
        region: Its region.
        callbacks: Answers to the gateway's requests and notifications.
        signed: Whether requests are signed.
        bearer: A token sent instead of a signature, or a function that returns it.
        timeout_s: Timeout of each call in seconds.
    """
    if isinstance(bearer, str):
        check_bearer(bearer)

    def make(session: str | None, own: Callbacks) -> McpSession:
        return gateway_session(context, url, region, own, session or new_session_id(), signed=signed, bearer=bearer)

    return McpClient(make, callbacks, context, timeout_s=timeout_s)


def gateway_session(
    context: Context,
    url: str,
    region: str,
    callbacks: Callbacks,
    session_id: str,
    *,
    signed: bool,
    bearer: Bearer | None = None,
) -> McpSession:
    """Return an unopened MCP session with a gateway.

    Args:
        context: The workbench's resources.
        url: The gateway's address.
        region: Its region.
        callbacks: Answers to the gateway's requests and notifications.
        session_id: The id under which its calls are stored.
        signed: Whether requests are signed.
        bearer: A token sent instead of a signature, or a function that returns it.
    """
    entry = server_entry(context.store, url)

    def request(method: str, body: bytes, headers: Mapping[str, str]) -> SignedRequest:
        if signed or bearer is not None:
            return sign_request(context.clients, url, region, method, body, headers, bearer=token_of(bearer))
        return plain_request(url, {}, method, body, headers)

    return McpSession(
        HttpChannel(shared_engine(), request, name=entry.name, read_timeout_s=context.settings.read_timeout_s),
        entry=entry,
        writer=context.invoker.writer,
        callbacks=callbacks,
        session_id=session_id,
        labels=context.labels,
    )


def open_agent_a2a(
    context: Context,
    entry: AgentEntry,
    qualifier: str,
    *,
    session_id: str | None = None,
    timeout_s: float | None = None,
    bearer: Bearer | None = None,
) -> A2aClient:
    """Open a client of an agent whose protocol is A2A.

    Args:
        context: The workbench's resources.
        entry: The agent's entry in the catalog.
        qualifier: The endpoint that is called.
        session_id: The runtime session; a new one by default, which ends with the client.
        timeout_s: Timeout of each request in seconds.
        bearer: A token sent instead of a signature, or a function that returns it.

    Raises:
        ProtocolError: The agent speaks another protocol.
    """
    check_protocol(entry, "A2A")
    if isinstance(bearer, str):
        check_bearer(bearer)

    def card(id: str) -> Mapping[str, Any]:
        request = sign_get(
            context.clients,
            f"invocations{_CARD}",
            arn=str(entry.arn),
            region=entry.region,
            qualifier=qualifier,
            session_id=id,
            headers={"Accept": "application/json"},
            bearer=token_of(bearer),
        )
        return shared_engine().submit(read_json(request, what="GetAgentCard", on=entry.name)).result()

    end = partial(stop_agent_session, context, entry, qualifier, bearer)
    return A2aClient(
        partial(agent_a2a, context, entry, qualifier, bearer),
        card,
        session_id or new_session_id(),
        context,
        end_session=end if session_id is None else None,
        stop_session=end,
        timeout_s=timeout_s,
    )


def open_server_a2a(
    context: Context, url: str, *, headers: Mapping[str, str] | None = None, timeout_s: float | None = None
) -> A2aClient:
    """Open a client of an A2A agent by its URL.

    Args:
        context: The workbench's resources.
        url: The agent's address; its card is read from the well-known path below it.
        headers: Header fields of each request.
        timeout_s: Timeout of each request in seconds.

    Raises:
        ValueError: `url` is not an HTTP address.
    """
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"url must be the agent's address, such as http://127.0.0.1:9000/, not {url!r}")
    entry = server_entry(context.store, url)

    def make(id: str) -> A2aSession:
        channel = _channel(context, url, entry, headers=headers, environment=None, folder=None, has_stream=False)
        return A2aSession(channel, entry=entry, writer=context.invoker.writer, session_id=id)

    def card(_id: str) -> Mapping[str, Any]:
        address = f"{url.rstrip('/')}{_CARD}"
        request = plain_request(address, headers or {}, "GET", b"", {"Accept": "application/json"})
        return shared_engine().submit(read_json(request, what="GET", on=address)).result()

    return A2aClient(make, card, new_session_id(), context, timeout_s=timeout_s)


def open_websocket(
    context: Context,
    entry: AgentEntry,
    qualifier: str,
    *,
    session_id: str | None = None,
    bearer: Bearer | None = None,
) -> SocketClient:
    """Open a WebSocket to an agent.

    Args:
        context: The workbench's resources.
        entry: The agent's entry in the catalog.
        qualifier: The endpoint that is called.
        session_id: The runtime session; a new one by default.
        bearer: A token sent instead of a signature, or a function that returns it.

    Raises:
        ProtocolError: The agent's protocol does not use WebSockets.
    """
    check_protocol(entry, "HTTP", "AGUI")
    if isinstance(bearer, str):
        check_bearer(bearer)
    session = SocketSession(
        shared_engine(),
        context.clients,
        entry=entry,
        writer=context.invoker.writer,
        session_id=session_id or new_session_id(),
        qualifier=qualifier,
        labels=context.labels,
        bearer=token_of(bearer),
    )
    return SocketClient(shared_engine(), session, context)


def session_target(
    context: Context, entry: AgentEntry, qualifier: str, *, bearer: Bearer | None = None
) -> SessionTarget:
    """Return an MCP or A2A agent as the target of an evaluation or a latency study.

    Args:
        context: The workbench's resources.
        entry: The agent's entry in the catalog; it speaks MCP or A2A.
        qualifier: The endpoint that is called.
        bearer: A token sent instead of a signature, or a function that returns it.
    """

    def mcp(id: str) -> McpSession:
        return agent_mcp(context, entry, qualifier, bearer, id, Callbacks())

    make = mcp if entry.protocol == "MCP" else partial(agent_a2a, context, entry, qualifier, bearer)
    end = partial(stop_agent_session, context, entry, qualifier, bearer)
    return SessionTarget(make, entry, context, qualifier=qualifier, end_session=end)


def _channel(
    context: Context,
    server: str | Sequence[str],
    entry: ServerEntry,
    *,
    headers: Mapping[str, str] | None,
    environment: Mapping[str, str] | None,
    folder: str | Path | None,
    has_stream: bool = True,
) -> Channel:
    if not isinstance(server, str):
        return StdioChannel(server, environment=environment, folder=folder, name=entry.name)
    return HttpChannel(
        shared_engine(),
        partial(plain_request, server, headers or {}),
        name=entry.name,
        read_timeout_s=context.settings.read_timeout_s,
        has_stream=has_stream,
    )
