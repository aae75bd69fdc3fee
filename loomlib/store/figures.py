"""The finished calls of an agent, their costs, and calls that lack a cost or a start. A window is [since, until)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final, TypeAlias

from sqlalchemy import ColumnElement, Executable, and_, or_, select, true, update
from sqlalchemy.exc import IntegrityError

from .credits import PICOS, settle_charge
from .database import Database
from .invocations import NEVER_BEGAN
from .operation_tables import invocation_costs
from .tables import invocations, traces

OptionalTime: TypeAlias = datetime | None
_MOST_PICOS: Final = 2**63 - 1
"""The largest amount that the column can hold."""


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
    """Queries over the invocations of one agent; `CallFigureQueries` sums those of many.

    An invocation that was never sent belongs to the time at which it was stored.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

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

    def unpriced(self, agent_id: int, since: OptionalTime, until: OptionalTime, *, limit: int) -> tuple[int, ...]:
        """Return the ids of the newest finished invocations without a stored cost that can still get one.

        Excluded are those that never reached the agent, which cost nothing, and those whose trace is known to stay
        incomplete.

        Args:
            agent_id: The agent's id in the store.
            since: Only invocations that were sent at this time or later; None for no bound.
            until: Only invocations that were sent before this time; None for no bound.
            limit: The maximum number of ids.
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

    def without_start_lookup(
        self, agent_id: int, since: OptionalTime, until: OptionalTime, *, limit: int
    ) -> tuple[int, ...]:
        """Return the ids of answered first invocations of sessions whose start was not looked up, newest first.

        Args:
            agent_id: The agent's id in the store.
            since: Only invocations that were sent at this time or later; None for no bound.
            until: Only invocations that were sent before this time; None for no bound.
            limit: The maximum number of ids.
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

        A sum above 9 million, which the database cannot hold, is stored as one more unknown item.

        Args:
            invocation_id: The invocation.
            known: The sum of the items whose cost is known, in `currency`.
            unknown: Number of items whose cost is unknown.
            is_estimate: Whether an item is estimated.
            is_simulated: Whether the tokens are those of a scripted model, which nobody bills.
            currency: The currency's ISO 4217 code.
        """
        picos = int((known * PICOS).to_integral_value())
        if picos > _MOST_PICOS:
            picos, unknown = 0, unknown + 1
        values: dict[str, Any] = {
            "known_picos": picos,
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
                settle_charge(connection, invocation_id, picos)

    def _all(self, chosen: Executable) -> Sequence[Any]:
        with self._database.read() as connection:
            return connection.execute(chosen).all()


_TIMED: Final = (
    invocations.c.client_invoke_time, invocations.c.created_at, invocations.c.client_duration_ms,
    invocations.c.status, invocations.c.failure,
)  # fmt: skip


def _timed_call(row: Sequence[Any]) -> TimedCall:
    sent_s, created, duration, status, failure = row
    return TimedCall(
        asked_s=created.timestamp() if sent_s is None else sent_s,
        duration_ms=duration,
        failed=status == "error",
        failure=failure,
    )


def _sent_within(agent_ids: Sequence[int], since: OptionalTime, until: OptionalTime) -> ColumnElement[bool]:
    sent_at = invocations.c.client_invoke_time
    conditions: list[ColumnElement[bool]] = [invocations.c.agent_id.in_(list(agent_ids)), sent_at.is_not(None)]
    if since is not None:
        conditions.append(sent_at >= since.timestamp())
    if until is not None:
        conditions.append(sent_at < until.timestamp())
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
