"""Storage of invocations: before the request is sent, while the response arrives, and when it ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import RowMapping, Select, bindparam, select, update

from ..errors import StoreError
from .credits import hold_credit, settle_charge, store_hold
from .database import Database
from .rows import InvocationRow, LoadRow, SessionRow, row
from .sessions import read_sessions
from .tables import IS_OPEN, agents, invocation_events, invocation_load, invocations
from .writer import Writer, is_alive, this_process

OPEN_STATES: Final = ("pending", "streaming")
INTERRUPTED: Final = "interrupted"
"""The failure class of an invocation whose client process ended before the response was complete."""
NEVER_BEGAN: Final = frozenset({"throttle", "quota", "rejected"})
"""Failure classes of requests that were refused before the agent started: they have no start, no trace and no cost."""

_ABANDONED_AFTER: Final = timedelta(hours=8)
"""The lease of an open invocation of another machine, which cannot be asked whether its process still runs: no session
lasts longer (AgentCore's maxLifetime). One of this machine is abandoned as soon as its process has ended."""

# Built once and executed with parameters: building a statement takes longer than executing it.
_INSERT: Final = invocations.insert()
_CHANGE: Final = update(invocations).where(invocations.c.id == bindparam("changed_id"))


class Invocations:
    """The invocations of all agents."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(
        self,
        *,
        agent_id: int,
        session_id: str,
        qualifier: str = "DEFAULT",
        prompt: str | None = None,
        client_invoke_time: float | None = None,
        labels: Sequence[str] = (),
        payload_digest: str | None = None,
        load: LoadRow | None = None,
        is_sent: bool = False,
    ) -> int:
        """Store a new, pending invocation and return its id. Call it before the request is sent.

        Args:
            agent_id: The agent's id in the store.
            session_id: The runtime session.
            qualifier: The endpoint's name.
            prompt: The prompt, if the request has one.
            client_invoke_time: When the request is sent, in Unix seconds; set later when it is not known yet.
            labels: Labels of the invocation, such as "evaluation".
            payload_digest: Digest of a payload that is sent instead of a prompt.
            load: The load on this machine at that time.
            is_sent: Whether the request was sent already, and credit was held for it before (`Store.credits`).

        Raises:
            CreditsUsedUpError: The tenant's credit does not cover the call; nothing is stored.
        """
        writer = this_process()
        values: dict[str, Any] = {
            "agent_id": agent_id,
            "session_id": session_id,
            "qualifier": qualifier,
            "prompt": prompt,
            "response": "",
            "client_invoke_time": client_invoke_time,
            "status": "pending",
            "created_at": datetime.now(UTC),
            "chunk_offsets_ms": [],
            "bytes_received": 0,
            "labels": list(labels),
            "payload_digest": payload_digest,
            "writer_host": writer.host,
            "writer_pid": writer.pid,
            "writer_born": writer.born,
        }
        with self._database.write() as connection:
            charge = None if is_sent else hold_credit(connection)
            key = connection.execute(_INSERT, values).inserted_primary_key
            assert key is not None
            if charge is not None:
                store_hold(connection, key[0], charge)
            if load is not None:
                connection.execute(invocation_load.insert(), {"invocation_id": key[0]} | asdict(load))
        return int(key[0])

    def progress(
        self,
        id: int,
        response: str,
        chunk_offsets_ms: Sequence[float] = (),
        *,
        bytes_received: int = 0,
        client_invoke_time: float | None = None,
        ttft_ms: float | None = None,
    ) -> None:
        """Store what has arrived so far and set the state to `streaming`.

        Writes the whole text: call it a few times a second.

        Args:
            id: The invocation.
            response: The whole text so far.
            chunk_offsets_ms: When each chunk arrived, in ms after the request was sent.
            bytes_received: Bytes of the body so far.
            client_invoke_time: When the request was sent, in Unix seconds, if it is known now.
            ttft_ms: Time to the first byte in ms, if it is known now.
        """
        timings = {"client_invoke_time": client_invoke_time, "ttft_ms": ttft_ms}
        self._change(
            id,
            status="streaming",
            response=response,
            chunk_offsets_ms=list(chunk_offsets_ms),
            bytes_received=bytes_received,
            **{name: value for name, value in timings.items() if value is not None},
        )

    def finish(
        self,
        id: int,
        *,
        status: str,
        response: str,
        client_done_time: float,
        client_duration_ms: float,
        client_invoke_time: float | None = None,
        ttft_ms: float | None = None,
        connect_ms: float | None = None,
        connection_reused: bool | None = None,
        chunk_offsets_ms: Sequence[float] = (),
        bytes_received: int = 0,
        failure: str | None = None,
        error_message: str | None = None,
        request_id: str | None = None,
        trace_id: str | None = None,
        content_type: str | None = None,
    ) -> None:
        """Set the final state: `complete`, or `error` with its class in `failure`.

        Args:
            id: The invocation.
            status: `complete` or `error`.
            response: The whole text, or what arrived of it.
            client_done_time: When the last byte was read, in Unix seconds.
            client_duration_ms: Time from sending the request to the last byte, by a monotonic clock.
            client_invoke_time: When the request was sent, in Unix seconds; None if it was never sent.
            ttft_ms: Time to the first byte.
            connect_ms: Time to open the connection; None on a connection that was reused.
            connection_reused: Whether the connection was open already.
            chunk_offsets_ms: When each chunk arrived, in ms after the request was sent.
            bytes_received: Bytes of the body.
            failure: The failure's class, one of `loomlib.agents.FAILURES`.
            error_message: The failure's message.
            request_id: AWS's id of the request.
            trace_id: The id of the trace, as the response's header states it.
            content_type: The response's media type.

        Raises:
            ValueError: `status` is neither of the two.
            StoreError: There is no such invocation.
        """
        if status not in ("complete", "error"):
            raise ValueError(f"the final status must be complete or error, not {status!r}")
        values: dict[str, Any] = {
            "status": status,
            "response": response,
            "client_done_time": client_done_time,
            "client_duration_ms": client_duration_ms,
            "ttft_ms": ttft_ms,
            "connect_ms": connect_ms,
            "connection_reused": connection_reused,
            "chunk_offsets_ms": list(chunk_offsets_ms),
            "bytes_received": bytes_received,
            "failure": failure,
            "error_message": error_message,
            "request_id": request_id,
            "trace_id": trace_id,
            "content_type": content_type,
        }
        if client_invoke_time is not None:
            values["client_invoke_time"] = client_invoke_time
        self._change(id, **values)
        if failure in NEVER_BEGAN or (failure is not None and client_invoke_time is None and self._is_unsent(id)):
            with self._database.write() as connection:
                settle_charge(connection, id, 0)

    def note_start(
        self,
        id: int,
        *,
        state: str,
        agent_start_time: float | None = None,
        cold_start_latency_ms: float | None = None,
        skew_low_ms: float | None = None,
        skew_high_ms: float | None = None,
    ) -> None:
        """Store the outcome of the search for the agent's start.

        Args:
            id: The invocation.
            state: The outcome, one of `loomlib.telemetry.START_STATES`.
            agent_start_time: When the agent started, in Unix seconds of its own clock.
            cold_start_latency_ms: Time from sending the request to the agent's start.
            skew_low_ms: Lower bound of the error of `cold_start_latency_ms`, from the difference of the two clocks.
            skew_high_ms: Upper bound of that error.
        """
        self._change(
            id,
            start_state=state,
            agent_start_time=agent_start_time,
            cold_start_latency_ms=cold_start_latency_ms,
            skew_low_ms=skew_low_ms,
            skew_high_ms=skew_high_ms,
        )

    def keep_events(self, id: int, events: Sequence[str]) -> None:
        """Store the protocol events (AG-UI, MCP) of a response, one JSON text per event, in order."""
        with self._database.write() as connection:
            connection.execute(invocation_events.insert(), {"invocation_id": id, "events": list(events)})

    def events(self, id: int) -> tuple[str, ...]:
        """Return the stored protocol events of an invocation, in order."""
        chosen = select(invocation_events.c.events).where(invocation_events.c.invocation_id == id)
        with self._database.read() as connection:
            return tuple(connection.execute(chosen).scalar_one_or_none() or ())

    def loads(self, ids: Iterable[int]) -> dict[int, LoadRow]:
        """Return the machine's load at the beginning of invocations, by id; those of earlier releases have none."""
        chosen = select(invocation_load).where(invocation_load.c.invocation_id.in_(list(ids)))
        with self._database.read() as connection:
            records = connection.execute(chosen).mappings().all()
        return {record["invocation_id"]: row(LoadRow, record) for record in records}

    def get(self, id: int) -> InvocationRow | None:
        """Return the invocation, or None; one that its process left open is closed first."""
        return next(iter(self._read(_rows().where(invocations.c.id == id))), None)

    def list(
        self,
        agent_id: int | None = None,
        session_id: str | None = None,
        limit: int | None = 100,
        *,
        before_id: int | None = None,
        qualifier: str | None = None,
    ) -> tuple[InvocationRow, ...]:
        """Return invocations, newest first; those that their process left open are closed first.

        Args:
            agent_id: Only those of this agent.
            session_id: Only those of this runtime session.
            limit: How many at most; None for all.
            before_id: Only those with a smaller id, for paging.
            qualifier: Only those of this endpoint.
        """
        chosen = _rows().order_by(invocations.c.id.desc()).limit(limit)
        if agent_id is not None:
            chosen = chosen.where(invocations.c.agent_id == agent_id)
        if session_id is not None:
            chosen = chosen.where(invocations.c.session_id == session_id)
        if before_id is not None:
            chosen = chosen.where(invocations.c.id < before_id)
        if qualifier is not None:
            chosen = chosen.where(invocations.c.qualifier == qualifier)
        return self._read(chosen)

    def _read(self, chosen: Select[Any]) -> tuple[InvocationRow, ...]:
        records = self._records(chosen)
        if any(record["status"] in OPEN_STATES for record in records) and self.close_abandoned():
            records = self._records(chosen)
        return tuple(row(InvocationRow, record) for record in records)

    def _records(self, chosen: Select[Any]) -> Sequence[RowMapping]:
        with self._database.read() as connection:
            return connection.execute(chosen).mappings().all()

    def trace_ids(self, agent_id: int, session_id: str) -> dict[int, str | None]:
        """Return the trace id of each invocation of a session by invocation id, oldest first."""
        chosen = select(invocations.c.id, invocations.c.trace_id).where(
            invocations.c.agent_id == agent_id, invocations.c.session_id == session_id
        )
        with self._database.read() as connection:
            return {id: trace_id for id, trace_id in connection.execute(chosen.order_by(invocations.c.id))}

    def sessions(
        self,
        agent_id: int,
        limit: int | None = 100,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> tuple[SessionRow, ...]:
        """Return the agent's sessions, most recently used first.

        `cold_start_latency_ms` is that of a session's first invocation.

        Args:
            agent_id: The agent's id in the store.
            limit: How many at most; None for all.
            since: Only sessions with an invocation that was sent at this time or later (and before `until`).
            until: Only sessions with an invocation that was sent before this time.
        """
        self.close_abandoned()
        return read_sessions(self._database, agent_id, limit, since, until)

    def close_abandoned(self) -> int:
        """Do the same as `abandon_stale` for a reader: a database that cannot be written to is not changed."""
        try:
            return self.abandon_stale()
        except StoreError:
            return 0

    def abandon_stale(self) -> int:
        """Mark abandoned invocations as errors of class `interrupted`; return their number.

        Abandoned are those that ended processes of this machine left open, and those that other machines left open for
        eight hours. Reading invocations does this automatically.
        """
        writer = (invocations.c.writer_host, invocations.c.writer_pid, invocations.c.writer_born)
        with self._database.read() as connection:
            records = connection.execute(select(*writer).where(IS_OPEN).distinct()).all()
        closed = 0
        for host, pid, born in records:
            alive = is_alive(Writer(host=host, pid=pid, born=born))
            if alive:
                continue
            is_abandoned = IS_OPEN & (writer[0] == host) & (writer[1] == pid) & (writer[2] == born)
            if alive is None:
                is_abandoned &= invocations.c.created_at < datetime.now(UTC) - _ABANDONED_AFTER
            message = (
                f"Abandoned: Loom's process {pid} on {host} ended before the response was complete; "
                "what had arrived is stored"
            )
            # In the order of the ids: two readers that lock rows in different orders would wait for each other.
            ids = select(invocations.c.id).where(is_abandoned).order_by(invocations.c.id).with_for_update()
            change = update(invocations).where(invocations.c.id.in_(ids))
            change = change.values(status="error", failure=INTERRUPTED, error_message=message)
            closed += self._database.write_again(lambda connection, change=change: connection.execute(change).rowcount)
        return closed

    def _is_unsent(self, id: int) -> bool:
        """Return whether no time of the request is stored, not even by `begin` or `progress`."""
        chosen = select(invocations.c.client_invoke_time).where(invocations.c.id == id)
        with self._database.read() as connection:
            return connection.execute(chosen).scalar_one_or_none() is None

    def _change(self, id: int, **values: Any) -> None:
        with self._database.write() as connection:
            changed = connection.execute(_CHANGE, {"changed_id": id} | values).rowcount
        if changed == 0:
            raise StoreError(
                "No such invocation",
                on=f"id {id} in {self._database.where}",
                try_="agent.history lists the stored ones",
            )


def _rows() -> Select[Any]:
    agent_columns = (agents.c.arn.label("agent_arn"), agents.c.name.label("agent_name"))
    return select(invocations, *agent_columns).join(agents, agents.c.id == invocations.c.agent_id)
