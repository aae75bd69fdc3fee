"""MCP and A2A sessions with agents: their messages are calls of InvokeAgentRuntime."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from ..agents import AgentEntry
from ..agents.interruptions import interruption
from ..agents.protocols.a2a_session import A2aSession
from ..agents.protocols.http_channel import HttpChannel
from ..agents.protocols.mcp_session import McpSession
from ..agents.protocols.mcp_values import Callbacks
from ..aws.bearer import Bearer, token_of
from ..aws.engine import shared_engine
from ..aws.runtimes import stop_session
from ..aws.signing import SignedRequest, sign_invocation
from ..errors import ProtocolError
from .context import Context


def agent_mcp(
    context: Context, entry: AgentEntry, qualifier: str, bearer: Bearer | None, session_id: str, callbacks: Callbacks
) -> McpSession:
    """Return an unopened MCP session with an agent.

    Args:
        context: The workbench's resources.
        entry: The agent's entry in the catalog.
        qualifier: The endpoint that is called.
        bearer: A token sent instead of a signature, or a function that returns it.
        session_id: The runtime session.
        callbacks: Answers to the server's requests and notifications.
    """
    return McpSession(
        agent_channel(context, entry, qualifier, session_id, bearer),
        entry=entry,
        writer=context.invoker.writer,
        callbacks=callbacks,
        session_id=session_id,
        qualifier=qualifier,
        labels=context.labels,
    )


def agent_a2a(
    context: Context, entry: AgentEntry, qualifier: str, bearer: Bearer | None, session_id: str
) -> A2aSession:
    """Return an unopened A2A session with an agent.

    Args:
        context: The workbench's resources.
        entry: The agent's entry in the catalog.
        qualifier: The endpoint that is called.
        bearer: A token sent instead of a signature, or a function that returns it.
        session_id: The runtime session.
    """
    return A2aSession(
        agent_channel(context, entry, qualifier, session_id, bearer),
        entry=entry,
        writer=context.invoker.writer,
        session_id=session_id,
        qualifier=qualifier,
        labels=context.labels,
    )


def check_protocol(entry: AgentEntry, *protocols: str) -> None:
    """Raise a `ProtocolError` unless the agent speaks one of `protocols`."""
    if entry.protocol in protocols:
        return
    name = entry.protocol
    way = f"agent.protocols.{name.lower()}()" if name in ("MCP", "A2A", "AGUI") else 'agent.invoke("…")'
    raise ProtocolError(
        f"The agent's protocol is {entry.protocol}, not {' or '.join(protocols)}",
        on=entry.name,
        try_=f'{way}, or bench.deploy(…, protocol="{protocols[0]}") for a server of that protocol',
    )


def stop_agent_session(
    context: Context, entry: AgentEntry, qualifier: str, bearer: Bearer | None, session_id: str
) -> bool:
    """End a runtime session of an agent; return False if it had already ended."""
    return stop_session(
        context.clients, str(entry.arn), session_id, qualifier=qualifier, region=entry.region, bearer=token_of(bearer)
    )


def agent_channel(
    context: Context, entry: AgentEntry, qualifier: str, session_id: str, bearer: Bearer | None = None
) -> HttpChannel:
    """Return a channel whose messages are calls of InvokeAgentRuntime, signed or with a token.

    Args:
        context: The workbench's resources.
        entry: The agent's entry in the catalog.
        qualifier: The endpoint that is called.
        session_id: The runtime session of all messages.
        bearer: A token sent instead of a signature, or a function that returns it.
    """

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
            bearer=token_of(bearer),
        )

    return HttpChannel(
        shared_engine(),
        request,
        name=f"{entry.name}, endpoint {qualifier}",
        what="InvokeAgentRuntime",
        read_timeout_s=context.settings.read_timeout_s,
        explain=partial(interruption, clients=context.clients, agent=entry, session_id=session_id, qualifier=qualifier),
    )
