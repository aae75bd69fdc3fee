"""Invoking an agent: streaming or not, from synchronous code or from a running event loop."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Self, Unpack

from loomlib.aws.connection import Clients
from loomlib.aws.engine import Engine, shared_engine

from .entry import AgentEntry
from .exchange import Exchange
from .invocation_writer import InvocationWriter
from .record import InvocationRecord
from .requests import InvokeOptions, make_request
from .streams import AsyncEventStream, EventStream, wait_for, wait_for_async

if TYPE_CHECKING:
    from loomlib.store import Store


class Invoker:
    """Sends invocations of any agent of a connection; one is enough for a process, and threads may share it.

    The request is stored before it is sent (an error at this point, such as `StoreFullError`, is raised), the response
    as it arrives, the outcome at the end. A failed invocation is a record with the status "error", not an exception;
    only invalid arguments raise (`RequestRejectedError`, `ValueError`). Nothing is ever sent twice.

    Args:
        store: The database.
        clients: The AWS clients of a connection.
        engine: The event loop to run on; the process's own by default.
        read_timeout_s: The limit for each wait for the next bytes, in seconds; `timeout_s` limits an invocation as a
            whole.

    Attributes:
        writer: Stores invocations; sessions of other protocols use it too.
    """

    def __init__(
        self, store: Store, clients: Clients, engine: Engine | None = None, *, read_timeout_s: float = 900.0
    ) -> None:
        self._clients, self._engine, self._read_timeout_s = clients, engine, read_timeout_s
        self.writer = InvocationWriter(store)
        self._exchange_type: type[Exchange] = Exchange

    def agui_over_websocket(self) -> Self:
        """Return an invoker whose invocations are AG-UI runs over a WebSocket; the payload is the run's input."""
        from .protocols.agui_exchange import AguiSocketExchange

        invoker = copy(self)
        invoker._exchange_type = AguiSocketExchange
        return invoker

    def stream(self, agent: AgentEntry, prompt: str | None = None, **options: Unpack[InvokeOptions]) -> EventStream:
        """Invoke an agent and return its events: `SessionStart`, `Chunk`s, `SessionEnd` or `InvocationError`.

        Args:
            agent: The agent.
            prompt: The prompt.
            **options: Those of `make_request`.
        """
        return EventStream(self._exchange(agent, prompt, options))

    def astream(
        self, agent: AgentEntry, prompt: str | None = None, **options: Unpack[InvokeOptions]
    ) -> AsyncEventStream:
        """Do what `stream` does, for `async for`; call it inside a running event loop.

        Args:
            agent: The agent.
            prompt: The prompt.
            **options: Those of `make_request`.
        """
        return AsyncEventStream(self._exchange(agent, prompt, options))

    def invoke(
        self, agent: AgentEntry, prompt: str | None = None, **options: Unpack[InvokeOptions]
    ) -> InvocationRecord:
        """Invoke an agent and return the record; inside a running event loop it blocks the loop (see `ainvoke`).

        Args:
            agent: The agent.
            prompt: The prompt.
            **options: Those of `make_request`.
        """
        return wait_for(self._exchange(agent, prompt, options))

    async def ainvoke(
        self, agent: AgentEntry, prompt: str | None = None, **options: Unpack[InvokeOptions]
    ) -> InvocationRecord:
        """Do what `invoke` does, without blocking the running event loop.

        Args:
            agent: The agent.
            prompt: The prompt.
            **options: Those of `make_request`.
        """
        return await wait_for_async(self._exchange(agent, prompt, options))

    def close(self) -> None:
        """Wait until everything is stored; the shared engine stays open."""
        self.writer.close()

    def _exchange(self, agent: AgentEntry, prompt: str | None, options: InvokeOptions) -> Exchange:
        return self._exchange_type(
            make_request(agent, prompt, **options),
            clients=self._clients,
            engine=self._engine or shared_engine(),
            writer=self.writer,
            read_timeout_s=self._read_timeout_s,
        )
