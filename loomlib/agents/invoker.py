"""Invoking an agent: streaming or not, from plain code or from a running event loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .entry import AgentEntry
from .exchange import Exchange
from .invocation_writer import InvocationWriter
from .record import InvocationRecord
from .requests import make_request
from .streams import AsyncEventStream, EventStream, wait_for, wait_for_async

if TYPE_CHECKING:
    from loomlib.aws.connection import Clients
    from loomlib.aws.engine import Engine
    from loomlib.store import Store


class Invoker:
    """Sends invocations of any agent of a connection; one is enough for a process, and threads may share it.

    The request is stored before it is sent (`StoreFullError` and its kin are raised then), the response as it arrives,
    the outcome at the end. A failed invocation is a record with the status "error", not an exception; only invalid
    arguments raise (`RequestRejectedError`, `ValueError`). Nothing is ever sent twice.

    Args:
        store: The database.
        clients: The connection.
        engine: The event loop to run on; the process's own by default.
        read_timeout_s: The limit for each wait for the next bytes, in seconds; `timeout_s` limits an invocation as a
            whole.
    """

    def __init__(
        self, store: Store, clients: Clients, engine: Engine | None = None, *, read_timeout_s: float = 900.0
    ) -> None:
        self._clients, self._engine, self._read_timeout_s = clients, engine, read_timeout_s
        self._writer = InvocationWriter(store)

    def stream(
        self,
        agent: AgentEntry,
        prompt: str | None = None,
        *,
        payload: Mapping[str, Any] | bytes | None = None,
        session_id: str | None = None,
        qualifier: str = "DEFAULT",
        timeout_s: float | None = None,
        labels: Sequence[str] = (),
        headers: Mapping[str, str] | None = None,
    ) -> EventStream:
        """Invoke an agent and return its events: `SessionStart`, `Chunk`s, `SessionEnd` or `InvocationError`.

        Args:
            agent: The agent.
            prompt: The prompt.
            payload: The payload, in place of or beside the prompt.
            session_id: The runtime session; a new one by default.
            qualifier: The endpoint.
            timeout_s: The limit from sending to the end of the response, in seconds.
            labels: Labels to store with the invocation.
            headers: Headers to send.
        """
        return EventStream(
            self._exchange(agent, prompt, payload, session_id, qualifier, timeout_s, labels, headers),
        )

    def astream(
        self,
        agent: AgentEntry,
        prompt: str | None = None,
        *,
        payload: Mapping[str, Any] | bytes | None = None,
        session_id: str | None = None,
        qualifier: str = "DEFAULT",
        timeout_s: float | None = None,
        labels: Sequence[str] = (),
        headers: Mapping[str, str] | None = None,
    ) -> AsyncEventStream:
        """Invoke an agent and return its events for `async for`; call it inside a running event loop.

        Args:
            agent: The agent.
            prompt: The prompt.
            payload: The payload, in place of or beside the prompt.
            session_id: The runtime session; a new one by default.
            qualifier: The endpoint.
            timeout_s: The limit from sending to the end of the response, in seconds.
            labels: Labels to store with the invocation.
            headers: Headers to send.
        """
        return AsyncEventStream(
            self._exchange(agent, prompt, payload, session_id, qualifier, timeout_s, labels, headers),
        )

    def invoke(
        self,
        agent: AgentEntry,
        prompt: str | None = None,
        *,
        payload: Mapping[str, Any] | bytes | None = None,
        session_id: str | None = None,
        qualifier: str = "DEFAULT",
        timeout_s: float | None = None,
        labels: Sequence[str] = (),
        headers: Mapping[str, str] | None = None,
    ) -> InvocationRecord:
        """Invoke an agent and return the record; inside a running event loop it blocks the loop (see `ainvoke`).

        Args:
            agent: The agent.
            prompt: The prompt.
            payload: The payload, in place of or beside the prompt.
            session_id: The runtime session; a new one by default.
            qualifier: The endpoint.
            timeout_s: The limit from sending to the end of the response, in seconds.
            labels: Labels to store with the invocation.
            headers: Headers to send.
        """
        return wait_for(self._exchange(agent, prompt, payload, session_id, qualifier, timeout_s, labels, headers))

    async def ainvoke(
        self,
        agent: AgentEntry,
        prompt: str | None = None,
        *,
        payload: Mapping[str, Any] | bytes | None = None,
        session_id: str | None = None,
        qualifier: str = "DEFAULT",
        timeout_s: float | None = None,
        labels: Sequence[str] = (),
        headers: Mapping[str, str] | None = None,
    ) -> InvocationRecord:
        """Invoke an agent and return the record, without blocking the running event loop.

        Args:
            agent: The agent.
            prompt: The prompt.
            payload: The payload, in place of or beside the prompt.
            session_id: The runtime session; a new one by default.
            qualifier: The endpoint.
            timeout_s: The limit from sending to the end of the response, in seconds.
            labels: Labels to store with the invocation.
            headers: Headers to send.
        """
        return await wait_for_async(
            self._exchange(agent, prompt, payload, session_id, qualifier, timeout_s, labels, headers)
        )

    def close(self) -> None:
        """Wait until everything is stored; the shared engine stays open."""
        self._writer.close()

    def _exchange(
        self,
        agent: AgentEntry,
        prompt: str | None,
        payload: Mapping[str, Any] | bytes | None,
        session_id: str | None,
        qualifier: str,
        timeout_s: float | None,
        labels: Sequence[str],
        headers: Mapping[str, str] | None,
    ) -> Exchange:
        from loomlib.aws.engine import shared_engine

        request = make_request(
            agent,
            prompt,
            payload=payload,
            session_id=session_id,
            qualifier=qualifier,
            timeout_s=timeout_s,
            labels=labels,
            headers=headers,
        )
        return Exchange(
            request,
            clients=self._clients,
            engine=self._engine or shared_engine(),
            writer=self._writer,
            read_timeout_s=self._read_timeout_s,
        )
