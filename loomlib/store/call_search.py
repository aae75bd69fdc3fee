"""Search for invocations among millions, newest or slowest first, with the state of their traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

from sqlalchemy import ColumnElement, and_, select

from .database import Database
from .tables import agents, invocations, traces

SearchOrder: TypeAlias = Literal["newest", "slowest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFilter:
    """The conditions of a search for invocations; None means no condition.

    Attributes:
        agent_ids: Only invocations of these agents.
        since: Only invocations sent at this time or later.
        until: Only invocations sent before this time.
        failed: Only invocations that failed, or only those that did not.
        failure: Only invocations of this failure class.
        min_duration_ms: Only invocations that took at least this long.
        session_id: Only invocations of this session.
        trace_id: Only the invocation with this trace id.
    """

    agent_ids: tuple[int, ...] | None = None
    since: datetime | None = None
    until: datetime | None = None
    failed: bool | None = None
    failure: str | None = None
    min_duration_ms: float | None = None
    session_id: str | None = None
    trace_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCall:
    """An invocation that a search found; `trace_state` and `spans` are None without a collected trace.

    `sent_s` is in Unix seconds.
    """

    invocation_id: int
    agent_name: str | None
    agent_arn: str
    session_id: str
    qualifier: str
    sent_s: float
    status: str
    failure: str | None
    duration_ms: float | None
    trace_id: str | None
    trace_state: str | None
    spans: int | None


class CallSearch:
    """Searches over all invocations that were sent."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, wanted: CallFilter, *, order: SearchOrder = "newest", limit: int = 100) -> tuple[FoundCall, ...]:
        """Return invocations.

        Args:
            wanted: The conditions.
            order: The newest, or the slowest first.
            limit: The maximum number of invocations.
        """
        calls = invocations.c
        # Two steps: the ids along an index that has every condition, then their rows.
        if order == "newest":
            query = select(calls.id).where(*_conditions(wanted)).order_by(calls.client_invoke_time.desc())
        else:
            timed = calls.client_duration_ms.is_not(None)
            query = select(calls.id).where(*_conditions(wanted), timed).order_by(calls.client_duration_ms.desc())
        with self._database.read() as connection:
            ids = connection.execute(query.limit(limit)).scalars().all()
            rows = {row[0]: row for row in connection.execute(_ROWS.where(calls.id.in_(ids)))} if ids else {}
        return tuple(FoundCall(**dict(zip(_NAMES, rows[id], strict=True))) for id in ids if id in rows)


def _conditions(call_filter: CallFilter) -> list[ColumnElement[bool]]:
    calls = invocations.c
    conditions: list[ColumnElement[bool]] = [calls.client_invoke_time.is_not(None)]
    if call_filter.agent_ids is not None:
        # Of several agents, the ids are found by time: by agent, all of their calls would have to be sorted.
        agent: Any = calls.agent_id if len(call_filter.agent_ids) == 1 else calls.agent_id + 0
        conditions.append(agent.in_(call_filter.agent_ids))
    if call_filter.since is not None:
        conditions.append(calls.client_invoke_time >= call_filter.since.timestamp())
    if call_filter.until is not None:
        conditions.append(calls.client_invoke_time < call_filter.until.timestamp())
    if call_filter.failed is not None:
        conditions.append(calls.status == "error" if call_filter.failed else calls.status == "complete")
    for column, value in (
        (calls.failure, call_filter.failure),
        (calls.session_id, call_filter.session_id),
        (calls.trace_id, call_filter.trace_id),
    ):
        if value is not None:
            conditions.append(column == value)
    if call_filter.min_duration_ms is not None:
        conditions.append(calls.client_duration_ms >= call_filter.min_duration_ms)
    return conditions


_NAMES: Final[Sequence[str]] = (
    "invocation_id", "agent_name", "agent_arn", "session_id", "qualifier", "sent_s", "status", "failure",
    "duration_ms", "trace_id", "trace_state", "spans",
)  # fmt: skip
_ROWS: Final = (
    select(
        invocations.c.id, agents.c.name, agents.c.arn, invocations.c.session_id, invocations.c.qualifier,
        invocations.c.client_invoke_time, invocations.c.status, invocations.c.failure,
        invocations.c.client_duration_ms, invocations.c.trace_id, traces.c.state, traces.c.span_count,
    )
    .join(agents, agents.c.id == invocations.c.agent_id)
    .outerjoin(traces, and_(traces.c.invocation_id == invocations.c.id))
)  # fmt: skip
