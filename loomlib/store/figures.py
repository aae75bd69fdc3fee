"""Sums over many invocations, fast: how they ended, how long they took, what they cost. A window is [since, until)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from itertools import chain
from typing import Any, Final, TypeAlias

from sqlalchemy import ColumnElement, Executable, and_, case, func, literal, null, or_, select, true, update
from sqlalchemy.exc import IntegrityError

from .database import Database
from .invocations import NEVER_BEGAN
from .operation_tables import invocation_costs
from .tables import invocations, traces

_PICOS: Final = Decimal(10) ** 12

Moment: TypeAlias = datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeCount:
    """How many invocations of an agent ended that way; `reached` says whether they can have reached it."""

    agent_id: int
    status: str
    failure: str | None
    count: int
    reached: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CostSum:
    """What is known of the costs of an agent's invocations in one currency; `priced` of them were looked at."""

    agent_id: int
    currency: str
    known: Decimal
    unknown: int
    is_estimate: bool
    simulated: int
    priced: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedCall:
    """One ended call: when it was asked (Unix seconds), its duration in milliseconds, and whether it failed."""

    asked_s: float
    duration_ms: float | None
    failed: bool
    failure: str | None


class Figures:
    """Reads them, of the agents `agent_ids`. A call that was never sent counts by the time at which it was stored."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def outcomes(self, agent_ids: Sequence[int], since: Moment, until: Moment) -> tuple[OutcomeCount, ...]:
        """The invocations by agent, status and class of failure."""
        agent, status, failure = invocations.c.agent_id, invocations.c.status, invocations.c.failure
        counted = select(agent, status, failure, func.count()).group_by(agent, status, failure)
        well = and_(status == "complete", failure.is_(None))
        sent = _sent_within(agent_ids, since, until)
        # Three looks, each along the index: with an "or" the database would read every call there ever was. And those
        # that ended well, most by far, are counted by agent alone, as they come in the index, without any sorting.
        looks = (  # none that is of the last was sent at all
            select(agent, literal("complete"), null(), func.count(case((well, 1)))).where(sent).group_by(agent),
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
            for place, chosen in enumerate(looks)
            for agent, status, failure, count in self._all(chosen)
            if count
        )

    def sessions(self, agent_ids: Sequence[int], since: Moment, until: Moment) -> dict[int, int]:
        """How many sessions of each agent were sent something."""
        count = func.count(invocations.c.session_id.distinct())
        chosen = select(invocations.c.agent_id, count).where(_sent_within(agent_ids, since, until))
        return {agent: count for agent, count in self._all(chosen.group_by(invocations.c.agent_id))}

    def cold_starts(self, agent_ids: Sequence[int], since: Moment, until: Moment) -> dict[int, list[float]]:
        """The cold starts in milliseconds that are known, by agent: each of a session's first call only."""
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

    def durations(self, agent_ids: Sequence[int], since: Moment, until: Moment) -> dict[int, Sequence[float]]:
        """How long complete answers took, in milliseconds, by agent."""
        found: dict[int, Sequence[float]] = {}
        with self._database.read() as connection:
            for agent_id in agent_ids:  # one column at a time: of a hundred thousand pairs most time goes into pairing
                chosen = select(invocations.c.client_duration_ms).where(
                    _sent_within([agent_id], since, until),
                    invocations.c.status == "complete",
                    invocations.c.client_duration_ms.is_not(None),
                )
                # The driver's own rows: SQLAlchemy's take longer to make than SQLite takes to read.
                cursor = connection.execute(chosen).cursor
                found[agent_id] = [] if cursor is None else list(chain.from_iterable(cursor.fetchall()))
        return found

    def calls(self, agent_id: int, since: Moment, until: Moment) -> tuple[TimedCall, ...]:
        """The ended calls of an agent in the order in which they were asked."""
        columns = (
            invocations.c.client_invoke_time, invocations.c.created_at, invocations.c.client_duration_ms,
            invocations.c.status, invocations.c.failure,
        )  # fmt: skip
        ended = select(*columns).where(invocations.c.status.in_(("complete", "error")))
        rows = [
            *self._all(ended.where(_sent_within([agent_id], since, until))),
            *self._all(ended.where(_unsent_within([agent_id], since, until))),
        ]
        found = [
            TimedCall(
                asked_s=created.timestamp() if sent is None else sent,
                duration_ms=duration,
                failed=status == "error",
                failure=failure,
            )
            for sent, created, duration, status, failure in rows
        ]
        return tuple(sorted(found, key=lambda each: each.asked_s))

    def costs(self, agent_ids: Sequence[int], since: Moment, until: Moment) -> tuple[CostSum, ...]:
        """What is known of the costs, by agent and currency."""
        kept = invocation_costs.c
        chosen = (
            select(
                invocations.c.agent_id,
                kept.currency,
                func.sum(kept.known_picos),
                func.sum(kept.unknown_items),
                func.max(case((kept.is_estimate, 1), else_=0)),
                func.sum(case((kept.is_simulated, 1), else_=0)),
                func.count(),
            )
            .join(invocations, invocations.c.id == kept.invocation_id)
            .where(_sent_within(agent_ids, since, until))
            .group_by(invocations.c.agent_id, kept.currency)
        )
        return tuple(
            CostSum(
                agent_id=agent,
                currency=currency,
                known=Decimal(picos) / _PICOS,
                unknown=int(unknown),
                is_estimate=bool(estimate),
                simulated=int(simulated),
                priced=priced,
            )
            for agent, currency, picos, unknown, estimate, simulated, priced in self._all(chosen)
        )

    def unpriced(self, agent_id: int, since: Moment, until: Moment, *, limit: int) -> tuple[int, ...]:
        """The newest ended invocations whose cost is not kept, and can still be found.

        Not those that never reached the agent: they cost nothing. And not those of which it is known for good that
        there is no whole trace.
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

    def unstarted(self, agent_id: int, since: Moment, until: Moment, *, limit: int) -> tuple[int, ...]:
        """The newest answered first calls of sessions for whose start nobody has looked."""
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

    def keep_cost(
        self,
        invocation_id: int,
        *,
        known: Decimal,
        unknown: int,
        is_estimate: bool,
        is_simulated: bool,
        currency: str,
    ) -> None:
        """Keeps what an invocation cost, in the place of what was kept before; rounded to 10⁻¹² of the currency."""
        values: dict[str, Any] = {
            "known_picos": int((known * _PICOS).to_integral_value()),
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
                except IntegrityError:  # somebody else was first (not on SQLite, where writers take turns)
                    connection.execute(change)

    def _all(self, chosen: Executable) -> Sequence[Any]:
        with self._database.read() as connection:
            return connection.execute(chosen).all()


def _sent_within(agent_ids: Sequence[int], since: Moment, until: Moment) -> ColumnElement[bool]:
    sent = invocations.c.client_invoke_time
    conditions: list[ColumnElement[bool]] = [invocations.c.agent_id.in_(list(agent_ids)), sent.is_not(None)]
    if since is not None:
        conditions.append(sent >= since.timestamp())
    if until is not None:
        conditions.append(sent < until.timestamp())
    return and_(true(), *conditions)


def _unsent_within(agent_ids: Sequence[int], since: Moment, until: Moment) -> ColumnElement[bool]:
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
    found: dict[int, list[float]] = {}
    for agent_id, value in rows:
        found.setdefault(agent_id, []).append(value)
    return found
