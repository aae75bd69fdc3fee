"""Aggregates over many invocations: outcomes, durations, costs. A time window is [since, until)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from itertools import chain
from typing import Any, Final, TypeAlias

from sqlalchemy import ColumnElement, Executable, and_, case, func, literal, null, or_, select, true, update
from sqlalchemy.exc import IntegrityError

from .credits import PICOS, settle_charge
from .database import Database
from .invocations import NEVER_BEGAN, Invocations
from .operation_tables import invocation_costs
from .tables import invocations, traces

OptionalTime: TypeAlias = datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeCount:
    """Number of an agent's invocations with one outcome; `reached` tells whether they may have reached the agent."""

    agent_id: int
    status: str
    failure: str | None
    count: int
    reached: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CostSum:
    """Known cost of an agent's invocations in one currency. `priced` is the number of invocations that have a price."""

    agent_id: int
    currency: str
    known: Decimal
    unknown: int
    is_estimate: bool
    simulated: int
    priced: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedCall:
    """A finished invocation: time of the request (Unix seconds), duration in milliseconds, and whether it failed."""

    asked_s: float
    duration_ms: float | None
    failed: bool
    failure: str | None


class FigureQueries:
    """Queries over the invocations of the agents `agent_ids`.

    An invocation that was never sent belongs to the time at which it was stored.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def outcomes(self, agent_ids: Sequence[int], since: OptionalTime, until: OptionalTime) -> tuple[OutcomeCount, ...]:
        """Count the invocations by agent, status and failure class; abandoned ones count as interrupted.

        Args:
            agent_ids: Ids of the agents in the store.
            since: Only invocations that were sent at this time or later; None for no bound.
            until: Only invocations that were sent before this time; None for no bound.
        """
        Invocations(self._database).close_abandoned()
        agent, status, failure = invocations.c.agent_id, invocations.c.status, invocations.c.failure
        counted = select(agent, status, failure, func.count()).group_by(agent, status, failure)
        succeeded = and_(status == "complete", failure.is_(None))
        sent = _sent_within(agent_ids, since, until)
        # Three queries, each along the index: with an "or" the database would scan the whole table. Successful
        # invocations, the great majority, are counted by agent alone, in index order, without sorting.
        queries = (  # the last one counts requests that were never sent
            select(agent, literal("complete"), null(), func.count(case((succeeded, 1)))).where(sent).group_by(agent),
            counted.where(sent, or_(status != "complete", failure.is_not(None))),
            counted.where(_unsent_within(agent_ids, since, until)),
        )
        return tuple(
            OutcomeCount(
                agent_id=agent,
                status=status,
                failure=failure,
                count=count,
                reached=place < 2 and failure not in NEVER_BEGAN,
            )
            for place, chosen in enumerate(queries)
            for agent, status, failure, count in self._all(chosen)
            if count
        )

    def sessions(self, agent_ids: Sequence[int], since: OptionalTime, until: OptionalTime) -> dict[int, int]:
        """Count the sessions of each agent that got a request.

        Args:
            agent_ids: Ids of the agents in the store.
            since: Only invocations that were sent at this time or later; None for no bound.
            until: Only invocations that were sent before this time; None for no bound.
        """
        count = func.count(invocations.c.session_id.distinct())
        chosen = select(invocations.c.agent_id, count).where(_sent_within(agent_ids, since, until))
        return {agent: count for agent, count in self._all(chosen.group_by(invocations.c.agent_id))}

    def cold_starts(self, agent_ids: Sequence[int], since: OptionalTime, until: OptionalTime) -> dict[int, list[float]]:
        """Return the known cold-start latencies in milliseconds by agent.

        There is one per session: that of its first invocation.

        Args:
            agent_ids: Ids of the agents in the store.
            since: Only invocations that were sent at this time or later; None for no bound.
            until: Only invocations that were sent before this time; None for no bound.
        """
        earlier = invocations.alias("earlier")
        opened_before = (
            select(earlier.c.id)
            .where(earlier.c.session_id == invocations.c.session_id, earlier.c.id < invocations.c.id)
            .where(earlier.c.agent_id == invocations.c.agent_id)
        )
        chosen = (
            select(invocations.c.agent_id, invocations.c.cold_start_latency_ms)
            .where(_sent_within(agent_ids, since, until), invocations.c.cold_start_latency_ms.is_not(None))
            .where(~opened_before.exists())
        )
        return _by_agent(self._all(chosen))

    def durations(
        self, agent_ids: Sequence[int], since: OptionalTime, until: OptionalTime
    ) -> dict[int, Sequence[float]]:
        """Return the durations of complete responses in milliseconds, by agent.

        Args:
            agent_ids: Ids of the agents in the store.
            since: Only invocations that were sent at this time or later; None for no bound.
            until: Only invocations that were sent before this time; None for no bound.
        """
        durations: dict[int, Sequence[float]] = {}
        with self._database.read() as connection:
            for agent_id in agent_ids:  # one column per query: building row tuples would take most of the time
                chosen = select(invocations.c.client_duration_ms).where(
                    _sent_within([agent_id], since, until),
                    invocations.c.status == "complete",
                    invocations.c.client_duration_ms.is_not(None),
                )
                # The driver's own rows: building SQLAlchemy rows takes longer than SQLite takes to read them.
                cursor = connection.execute(chosen).cursor
                durations[agent_id] = [] if cursor is None else list(chain.from_iterable(cursor.fetchall()))
        return durations

    def calls(self, agent_id: int, since: OptionalTime, until: OptionalTime) -> tuple[TimedCall, ...]:
        """Return the finished invocations of an agent in the order of their requests.

        Args:
            agent_id: The agent's id in the store.
            since: Only invocations that were sent at this time or later; None for no bound.
            until: Only invocations that were sent before this time; None for no bound.
        """
        ended = select(*_TIMED).where(invocations.c.status.in_(("complete", "error")))
        calls = [_timed_call(row) for row in self._all(ended.where(_sent_within([agent_id], since, until)))]
        calls += self.unsent_calls(agent_id, since, until)
        return tuple(sorted(calls, key=lambda call: call.asked_s))

    def unsent_calls(self, agent_id: int, since: OptionalTime, until: OptionalTime) -> tuple[TimedCall, ...]:
        """Return the ended invocations of an agent that were never sent, by the time at which they were stored.

        Args:
            agent_id: The agent's id in the store.
            since: Only invocations that were stored at this time or later; None for no bound.
            until: Only invocations that were stored before this time; None for no bound.
        """
        ended = select(*_TIMED).where(invocations.c.status.in_(("complete", "error")))
        return tuple(_timed_call(row) for row in self._all(ended.where(_unsent_within([agent_id], since, until))))

    def costs(self, agent_ids: Sequence[int], since: OptionalTime, until: OptionalTime) -> tuple[CostSum, ...]:
        """Sum the known costs by agent and currency.

        Args:
            agent_ids: Ids of the agents in the store.
            since: Only invocations that were sent at this time or later; None for no bound.
            until: Only invocations that were sent before this time; None for no bound.
        """
        costs = invocation_costs.c
        chosen = (
            select(
                invocations.c.agent_id,
                costs.currency,
                func.sum(costs.known_picos),
                func.sum(costs.unknown_items),
                func.max(case((costs.is_estimate, 1), else_=0)),
                func.sum(case((costs.is_simulated, 1), else_=0)),
                func.count(),
            )
            .join(invocations, invocations.c.id == costs.invocation_id)
            .where(_sent_within(agent_ids, since, until))
            .group_by(invocations.c.agent_id, costs.currency)
        )
        return tuple(
            CostSum(
                agent_id=agent,
                currency=currency,
                known=Decimal(picos) / PICOS,
                unknown=int(unknown),
                is_estimate=bool(estimate),
                simulated=int(simulated),
                priced=priced,
            )
            for agent, currency, picos, unknown, estimate, simulated, priced in self._all(chosen)
        )

    def unpriced(self, agent_id: int, since: OptionalTime, until: OptionalTime, *, limit: int) -> tuple[int, ...]:
        """Return the ids of the newest finished invocations without a stored cost that can still get one.

        Excluded are those that never reached the agent, which cost nothing, and those whose trace is known to stay
        incomplete.

        Args:
            agent_id: The agent's id in the store.
            since: Only invocations that were sent at this time or later; None for no bound.
            until: Only invocations that were sent before this time; None for no bound.
            limit: The most ids.
        """
        settled = select(traces.c.invocation_id).where(
            traces.c.invocation_id == invocations.c.id, traces.c.is_complete, traces.c.state != "found"
        )
        chosen = (
            select(invocations.c.id)
            .outerjoin(invocation_costs, invocation_costs.c.invocation_id == invocations.c.id)
            .where(_sent_within([agent_id], since, until), invocations.c.status.in_(("complete", "error")))
            .where(or_(invocations.c.failure.is_(None), invocations.c.failure.not_in(NEVER_BEGAN)))
            .where(invocation_costs.c.invocation_id.is_(None), ~settled.exists())
            .order_by(invocations.c.id.desc())
            .limit(limit)
        )
        return tuple(id for (id,) in self._all(chosen))

    def unstarted(self, agent_id: int, since: OptionalTime, until: OptionalTime, *, limit: int) -> tuple[int, ...]:
        """Return the ids of answered first invocations of sessions whose start was not looked up, newest first.

        Args:
            agent_id: The agent's id in the store.
            since: Only invocations that were sent at this time or later; None for no bound.
            until: Only invocations that were sent before this time; None for no bound.
            limit: The most ids.
        """
        earlier = invocations.alias("earlier")
        opened_before = select(earlier.c.id).where(
            earlier.c.session_id == invocations.c.session_id, earlier.c.id < invocations.c.id
        )
        chosen = (
            select(invocations.c.id)
            .where(_sent_within([agent_id], since, until), invocations.c.status == "complete")
            .where(invocations.c.start_state.is_(None), ~opened_before.exists())
            .order_by(invocations.c.id.desc())
            .limit(limit)
        )
        return tuple(id for (id,) in self._all(chosen))

    def put_cost(
        self,
        invocation_id: int,
        *,
        known: Decimal,
        unknown: int,
        is_estimate: bool,
        is_simulated: bool,
        currency: str,
    ) -> None:
        """Store the cost of an invocation, replacing an earlier one; rounded to 10⁻¹² of the currency.

        Args:
            invocation_id: The invocation.
            known: The sum of the items whose cost is known, in `currency`.
            unknown: Number of items whose cost is unknown.
            is_estimate: Whether an item is estimated.
            is_simulated: Whether the tokens are those of a scripted model, which nobody bills.
            currency: The currency's ISO 4217 code.
        """
        values: dict[str, Any] = {
            "known_picos": int((known * PICOS).to_integral_value()),
            "unknown_items": unknown,
            "is_estimate": is_estimate,
            "is_simulated": is_simulated,
            "currency": currency,
            "priced_at": datetime.now(UTC),
        }
        change = update(invocation_costs).where(invocation_costs.c.invocation_id == invocation_id).values(values)
        with self._database.write() as connection:
            if connection.execute(change).rowcount == 0:
                try:
                    with connection.begin_nested():
                        connection.execute(invocation_costs.insert().values(invocation_id=invocation_id, **values))
                except (
                    IntegrityError
                ):  # another process inserted it first (not on SQLite, which has one writer at a time)
                    connection.execute(change)
            if currency == "USD":
                settle_charge(connection, invocation_id, values["known_picos"])

    def _all(self, chosen: Executable) -> Sequence[Any]:
        with self._database.read() as connection:
            return connection.execute(chosen).all()


_TIMED: Final = (
    invocations.c.client_invoke_time, invocations.c.created_at, invocations.c.client_duration_ms,
    invocations.c.status, invocations.c.failure,
)  # fmt: skip


def _timed_call(row: Sequence[Any]) -> TimedCall:
    sent, created, duration, status, failure = row
    return TimedCall(
        asked_s=created.timestamp() if sent is None else sent,
        duration_ms=duration,
        failed=status == "error",
        failure=failure,
    )


def _sent_within(agent_ids: Sequence[int], since: OptionalTime, until: OptionalTime) -> ColumnElement[bool]:
    sent = invocations.c.client_invoke_time
    conditions: list[ColumnElement[bool]] = [invocations.c.agent_id.in_(list(agent_ids)), sent.is_not(None)]
    if since is not None:
        conditions.append(sent >= since.timestamp())
    if until is not None:
        conditions.append(sent < until.timestamp())
    return and_(true(), *conditions)


def _unsent_within(agent_ids: Sequence[int], since: OptionalTime, until: OptionalTime) -> ColumnElement[bool]:
    conditions: list[ColumnElement[bool]] = [
        invocations.c.agent_id.in_(list(agent_ids)),
        invocations.c.client_invoke_time.is_(None),
    ]
    if since is not None:
        conditions.append(invocations.c.created_at >= since)
    if until is not None:
        conditions.append(invocations.c.created_at < until)
    return and_(true(), *conditions)


def _by_agent(rows: Sequence[Any]) -> dict[int, list[float]]:
    values: dict[int, list[float]] = {}
    for agent_id, value in rows:
        values.setdefault(agent_id, []).append(value)
    return values
