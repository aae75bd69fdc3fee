"""Ask an agent: streaming or at once, from plain code or from a running event loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .calls import make_call
from .entry import AgentEntry
from .exchange import Exchange
from .ledger import Ledger
from .record import InvocationRecord
from .streams import AsyncEventStream, EventStream, wait_for, wait_for_async

if TYPE_CHECKING:
    from loomlib.aws.connection import Clients
    from loomlib.aws.engine import Engine
    from loomlib.store import Store


class Invoker:
    """Sends invocations of any agent of a connection; one is enough for a process, and threads may share it.

    The question is stored before it is sent (`StoreFullError` and its kin are raised then), the answer as it comes, the
    outcome at the end. A failed invocation is a record whose status is "error", not an exception; only arguments that
    break a rule raise (`RequestRejectedError`, `ValueError`). Nothing is ever sent twice.
    """

    def __init__(
        self, store: Store, clients: Clients, engine: Engine | None = None, *, read_timeout_s: float = 900.0
    ) -> None:
        """`read_timeout_s` bounds every wait for the next bytes; a call's own `timeout_s` bounds the whole of it."""
        self._clients, self._engine, self._read_timeout_s = clients, engine, read_timeout_s
        self._ledger = Ledger(store)

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
        """The events of one invocation: `SessionStart`, a `Chunk` for each piece, `SessionEnd` or `InvocationError`."""
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
        """The same for `async for`; call it inside a running loop."""
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
        """The whole invocation as a record. Inside a running event loop it works too, but blocks it: see `ainvoke`."""
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
        """The whole invocation as a record, awaited."""
        return await wait_for_async(
            self._exchange(agent, prompt, payload, session_id, qualifier, timeout_s, labels, headers)
        )

    def close(self) -> None:
        """Wait until everything is stored. The shared engine stays."""
        self._ledger.close()

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

        call = make_call(
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
            call,
            clients=self._clients,
            engine=self._engine or shared_engine(),
            ledger=self._ledger,
            read_timeout_s=self._read_timeout_s,
        )
