"""Storage of collected traces, so that they are not fetched again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError

from ..errors import StoreError
from .database import Database
from .rows import TraceRow, row
from .tables import invocations, traces

_BATCH = 500
"""Ids per query; every build of SQLite allows 999 variables (SQLITE_MAX_VARIABLE_NUMBER)."""


class StoredTraces:
    """The most recently collected trace of each invocation."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(
        self,
        invocation_id: int,
        *,
        session_id: str,
        trace_id: str | None,
        state: str,
        is_complete: bool,
        span_count: int,
        records: Sequence[str],
        details: Mapping[str, Any] | None = None,
    ) -> None:
        """Store the collected trace of an invocation, replacing an earlier one.

        Args:
            invocation_id: The invocation.
            session_id: The runtime session.
            trace_id: The trace's id, if a span states it.
            state: The outcome of the search, one of `loomlib.telemetry.TRACE_STATES`.
            is_complete: Whether the trace has all its spans; an incomplete one is fetched again at the next read.
            span_count: Number of spans among the records.
            records: The span and message records as the service stored them, one JSON text per record.
            details: What else was learned, as JSON.
        """
        values: dict[str, Any] = {
            "session_id": session_id,
            "trace_id": trace_id,
            "state": state,
            "is_complete": is_complete,
            "span_count": span_count,
            "records": list(records),
            "details": dict(details or {}),
            "fetched_at": datetime.now(UTC),
        }
        change = update(traces).where(traces.c.invocation_id == invocation_id).values(values)
        with self._database.write() as connection:
            if connection.execute(change).rowcount == 0:
                try:
                    with connection.begin_nested():
                        connection.execute(insert(traces).values(invocation_id=invocation_id, **values))
                except IntegrityError as error:
                    # Another process inserted it first (not on SQLite, which has one writer), or there is no such
                    # invocation.
                    if connection.execute(change).rowcount == 0:
                        raise StoreError(
                            "No such invocation",
                            on=f"id {invocation_id} in {self._database.where}",
                            try_="the id of a stored invocation",
                        ) from error

    def note(self, invocation_id: int, **details: Any) -> bool:
        """Add details to a stored trace; return False when none is stored yet."""
        of_it = traces.c.invocation_id == invocation_id
        with self._database.write() as connection:
            stored_details = connection.execute(
                select(traces.c.details).where(of_it).with_for_update()
            ).scalar_one_or_none()
            if stored_details is None:
                return False
            connection.execute(update(traces).where(of_it).values(details={**stored_details, **details}))
        return True

    def get(self, invocation_id: int) -> TraceRow | None:
        """Return the stored trace of an invocation, or None."""
        return self.get_many([invocation_id]).get(invocation_id)

    def has_spans(self, agent_id: int) -> bool:
        """Return whether spans of any of the agent's invocations are stored."""
        of_agent = select(traces.c.invocation_id).join(invocations, invocations.c.id == traces.c.invocation_id)
        query = of_agent.where(invocations.c.agent_id == agent_id, traces.c.span_count > 0).limit(1)
        with self._database.read() as connection:
            return connection.execute(query).first() is not None

    def get_many(self, invocation_ids: Sequence[int]) -> dict[int, TraceRow]:
        """Return the stored traces of many invocations by invocation id; those without one are left out."""
        rows: dict[int, TraceRow] = {}
        with self._database.read() as connection:
            for at in range(0, len(invocation_ids), _BATCH):
                batch = traces.c.invocation_id.in_(invocation_ids[at : at + _BATCH])
                for record in connection.execute(select(traces).where(batch)).mappings():
                    rows[record["invocation_id"]] = row(TraceRow, record)
        return rows
