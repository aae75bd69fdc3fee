"""The sessions of an agent, summed up from its invocations."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, RowMapping, case, func, select

from .database import Database
from .rows import SessionRow, row
from .tables import invocations

_MOST_VALUES: Final = 500
"""Values per query; every build of SQLite allows 999 variables (SQLITE_MAX_VARIABLE_NUMBER)."""


def read_sessions(
    database: Database, agent_id: int, limit: int | None, since: datetime | None, until: datetime | None
) -> tuple[SessionRow, ...]:
    """Return an agent's sessions, most recently used first.

    Args:
        database: The store's database.
        agent_id: The agent's id in the store.
        limit: How many at most; None for all.
        since: Only sessions with an invocation that was sent at this time or later (and before `until`).
        until: Only sessions with an invocation that was sent before this time.
    """
    if limit is None and since is None and until is None:
        records = _summaries(database, agent_id)
    else:
        # The newest sessions are those of the newest calls: all others need not be summed up.
        ids = _newest_sessions(database, agent_id, limit, since, until)
        records = [
            record
            for at in range(0, len(ids), _MOST_VALUES)
            for record in _summaries(database, agent_id, invocations.c.session_id.in_(ids[at : at + _MOST_VALUES]))
        ]
    newest = sorted(records, key=lambda record: record["last_id"], reverse=True)
    return tuple(row(SessionRow, record) for record in newest[:limit])


def _summaries(database: Database, agent_id: int, *conditions: ColumnElement[bool]) -> Sequence[RowMapping]:
    one = invocations.alias("one")
    grouped = (
        select(
            invocations.c.session_id,
            invocations.c.qualifier,
            func.count().label("invocations"),
            func.sum(case((invocations.c.status == "error", 1), else_=0)).label("failed"),
            func.min(invocations.c.client_invoke_time).label("first_invoke_time"),
            func.max(invocations.c.client_done_time).label("last_done_time"),
            func.max(invocations.c.id).label("last_id"),
            func.min(invocations.c.id).label("first_id"),
        )
        # "+ 0" keeps SQLite from going through all calls of the agent where sessions are named.
        .where((invocations.c.agent_id + 0 if conditions else invocations.c.agent_id) == agent_id, *conditions)
        .group_by(invocations.c.session_id, invocations.c.qualifier)
        .subquery()
    )
    summary = select(grouped, one.c.cold_start_latency_ms).join(one, one.c.id == grouped.c.first_id)
    with database.read() as connection:
        return connection.execute(summary).mappings().all()


def _newest_sessions(
    database: Database, agent_id: int, count: int | None, since: datetime | None, until: datetime | None
) -> list[str]:
    """Return the ids of the sessions that were used most recently in a time window."""
    sessions: dict[str, None] = {}
    chosen, sent = select(invocations.c.session_id), invocations.c.client_invoke_time
    chosen = chosen.where(invocations.c.agent_id == agent_id)
    if since is not None:
        chosen = chosen.where(sent >= since.timestamp())
    if until is not None:
        chosen = chosen.where(sent < until.timestamp())
    newest = invocations.c.id if since is None and until is None else sent  # an indexed column
    chosen = chosen.order_by(newest.desc()).execution_options(yield_per=1000)
    with database.read() as connection:
        for (session_id,) in connection.execute(chosen):
            sessions[session_id] = None
            if len(sessions) == count:
                break
    return list(sessions)
