"""The traces that were collected: kept, so that looking at a thousand invocations twice fetches nothing twice."""

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

_AT_ONCE = 500
"""Ids in one query; SQLite takes a thousand variables at least."""


class Traces:
    """What was last collected for each invocation."""

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
        """Keeps what was collected, in the place of what was kept before.

        `records` are the records of spans and messages as they were stored by the service, one JSON text each. Only
        what `is_complete` need not be fetched again.
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
                    # Somebody else was first (not on SQLite, where writers take turns), or there is no such invocation.
                    if connection.execute(change).rowcount == 0:
                        raise StoreError(
                            "No such invocation", on=f"id {invocation_id} in {self._database.where}"
                        ) from error

    def note(self, invocation_id: int, **details: Any) -> bool:
        """Adds facts that were found beside the spans to what is kept; False where nothing is kept yet."""
        of_it = traces.c.invocation_id == invocation_id
        with self._database.write() as connection:
            known = connection.execute(select(traces.c.details).where(of_it)).scalar_one_or_none()
            if known is None:
                return False
            connection.execute(update(traces).where(of_it).values(details={**known, **details}))
        return True

    def get(self, invocation_id: int) -> TraceRow | None:
        """What is kept of an invocation's trace, or None."""
        return self.get_many([invocation_id]).get(invocation_id)

    def has_spans(self, agent_id: int) -> bool:
        """Whether spans of any of an agent's invocations are kept."""
        of_agent = select(traces.c.invocation_id).join(invocations, invocations.c.id == traces.c.invocation_id)
        wanted = of_agent.where(invocations.c.agent_id == agent_id, traces.c.span_count > 0).limit(1)
        with self._database.read() as connection:
            return connection.execute(wanted).first() is not None

    def get_many(self, invocation_ids: Sequence[int]) -> dict[int, TraceRow]:
        """The same for many, by invocation id; those of which nothing is kept are left out."""
        found: dict[int, TraceRow] = {}
        with self._database.read() as connection:
            for at in range(0, len(invocation_ids), _AT_ONCE):
                some = traces.c.invocation_id.in_(invocation_ids[at : at + _AT_ONCE])
                for each in connection.execute(select(traces).where(some)).mappings():
                    found[each["invocation_id"]] = row(TraceRow, each)
        return found
