"""Figures of many calls by agent: past days from stored arrays, the rest of a window from the invocations themselves.

A day's arrays hold every value, so that percentiles and sums are those of the rows. They are built when they are first
needed after the day's end, and again after a change. Today, and days that a window cuts, are read row by row.
"""

from __future__ import annotations

import logging
import math
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import and_, func, select, true

from ..errors import StoreError
from .call_times import CallTimes
from .database import Database
from .figure_days import DayKey, FigureDay, build_days, fetch, read_part, stored_calls, stored_days
from .figure_tables import DAY_S, figure_days
from .figures import PICOS, CostSum, FigureQueries, OptionalTime, OutcomeCount
from .invocations import NEVER_BEGAN, Invocations
from .tables import invocations

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_log = logging.getLogger(__name__)

_DAYS_AT_ONCE: Final = 7
"""Number of days that one transaction builds, because other writers wait for its end."""

_SUMMED: Final = ("agent_id", "timed", "outcomes", "costs", "cold_starts", "sessions", "durations")
_IN_ORDER: Final = ("agent_id", "timed", "outcomes", "durations", "asked", "places")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFigures:
    """The figures from which the metrics of one agent are computed.

    Attributes:
        outcomes: Number of invocations by outcome.
        sessions: Number of sessions that got a request. They are counted by digests of 64 bits: among a million
            sessions, two have the same one with a probability of 3·10⁻⁸.
        cold_starts: The known cold-start latencies in ms, one per session.
        durations: The durations of complete responses in ms, in no order.
        costs: Sums of the known costs by currency.
    """

    outcomes: tuple[OutcomeCount, ...]
    sessions: int
    cold_starts: NDArray[np.float64]
    durations: NDArray[np.float64]
    costs: tuple[CostSum, ...]


class CallFigureQueries:
    """Queries over all invocations of agents, however many there are.

    An invocation that was never sent belongs to the time at which it was stored. A day whose invocations were pruned
    after their export is counted as a whole, also where a window cuts it.
    """

    def __init__(self, database: Database) -> None:
        self._database, self._queries = database, FigureQueries(database)

    def read(self, agent_ids: Sequence[int], since: OptionalTime, until: OptionalTime) -> dict[int, CallFigures]:
        """Return the figures by agent; an agent without invocations has figures too.

        Args:
            agent_ids: Ids of the agents in the store.
            since: Only invocations that were sent at this time or later; None for no bound.
            until: Only invocations that were sent before this time; None for no bound.
        """
        parts: dict[int, list[FigureDay]] = {agent_id: [] for agent_id in agent_ids}
        for day in self._parts(agent_ids, since, until):
            parts[day.agent_id].append(day)
        unsent: dict[int, Counter[tuple[str, str | None]]] = {agent_id: Counter() for agent_id in agent_ids}
        for agent_id, status, failure, count in self._unsent(agent_ids, since, until):
            unsent[agent_id][status, failure] = count
        return {agent_id: _figures(agent_id, parts[agent_id], unsent[agent_id]) for agent_id in agent_ids}

    def pruned_until(self) -> int | None:
        """Return the first day that no prune has reached; None when nothing was pruned."""
        chosen = select(func.max(figure_days.c.day)).where(figure_days.c.is_pruned)
        with self._database.read() as connection:
            last = connection.execute(chosen).scalar_one_or_none()
        return None if last is None else last + 1

    def build(self, agent_ids: Sequence[int], until: int) -> None:
        """Build the arrays of all days before the day `until` that have changed since they were built."""
        self._build(self._changed(agent_ids, None, until))

    def times(self, agent_id: int, since: OptionalTime, until: OptionalTime) -> CallTimes:
        """Return the finished invocations of an agent in the order of their requests.

        Args:
            agent_id: The agent's id in the store.
            since: Only invocations that were sent at this time or later; None for no bound.
            until: Only invocations that were sent before this time; None for no bound.
        """
        days, edges = self._split([agent_id], since, until)
        calls = [call for low, high in edges for call in self._queries.calls(agent_id, _moment(low), _moment(high))]
        if days is None:
            return CallTimes.of(calls)
        first, last = days
        calls += self._queries.unsent_calls(agent_id, _moment(first and first * DAY_S), _moment(last * DAY_S))
        stored = stored_calls(self._stored([agent_id], first, last, _IN_ORDER))
        return CallTimes.joined([*(CallTimes.of_day(day) for day in stored), CallTimes.of(calls)])

    def _parts(self, agent_ids: Sequence[int], since: OptionalTime, until: OptionalTime) -> list[FigureDay]:
        Invocations(self._database).close_abandoned()
        days, edges = self._split(agent_ids, since, until)
        parts: list[FigureDay] = []
        if days is not None:
            rows = self._stored(agent_ids, *days, _SUMMED)
            parts += [stored_days(list(of_agent)) for _, of_agent in groupby(rows, key=lambda row: row[0])]
        return parts + [part for low, high in edges for part in self._rows(agent_ids, low, high)]

    def _split(
        self, agent_ids: Sequence[int], since: OptionalTime, until: OptionalTime
    ) -> tuple[tuple[int | None, int] | None, list[tuple[float | None, float | None]]]:
        """Return the first whole past day and the day after the last one, whose arrays are stored, and the rest.

        The rest are spans in Unix seconds. Without whole days, or if their arrays cannot be stored, it is everything.
        """
        low = None if since is None else since.timestamp()
        high = None if until is None else until.timestamp()
        today, pruned = int(time.time() // DAY_S), self.pruned_until() or 0
        first = None if low is None else math.ceil(low / DAY_S)
        last = today if high is None else min(today, int(high // DAY_S))
        # A day that was pruned has no rows to be cut.
        if low is not None and low // DAY_S < pruned:
            first = int(low // DAY_S)
        if high is not None and last < pruned:
            last = min(pruned, math.ceil(high / DAY_S))
        if first is not None and first >= last:
            return None, [(low, high)]
        try:
            self._build(self._changed(agent_ids, first, last))
        except StoreError as error:  # a database that cannot be written to
            _log.debug("The figures of past days cannot be stored: %s", error)
            return None, [(low, high)]
        edges: list[tuple[float | None, float | None]] = []
        if low is not None and first is not None and low < first * DAY_S:
            edges.append((low, first * DAY_S))
        if high is None or high > last * DAY_S:
            edges.append((last * DAY_S, high))
        return (first, last), edges

    def _rows(self, agent_ids: Sequence[int], low: float | None, high: float | None) -> list[FigureDay]:
        with self._database.read() as connection:
            return read_part(connection, agent_ids, low, high)

    def _stored(
        self, agent_ids: Sequence[int], first: int | None, last: int, columns: Sequence[str]
    ) -> Sequence[Sequence[Any]]:
        built = and_(_days(agent_ids, first, last), figure_days.c.timed.is_not(None))
        chosen = select(*(figure_days.c[name] for name in columns)).where(built)
        with self._database.read() as connection:
            return fetch(connection, chosen.order_by(figure_days.c.agent_id, figure_days.c.day))

    def _changed(self, agent_ids: Sequence[int], first: int | None, last: int) -> list[DayKey]:
        chosen = select(figure_days.c.agent_id, figure_days.c.day).where(
            _days(agent_ids, first, last), ~figure_days.c.is_current, ~figure_days.c.is_pruned
        )
        with self._database.read() as connection:
            return [(agent_id, day) for agent_id, day in connection.execute(chosen)]

    def _build(self, days: Iterable[DayKey]) -> None:
        waiting = sorted(days, key=lambda key: key[1])
        while waiting:
            end = waiting[0][1] + _DAYS_AT_ONCE
            batch = [key for key in waiting if key[1] < end]
            waiting = waiting[len(batch) :]
            with self._database.write() as connection:
                build_days(connection, batch)

    def _unsent(self, agent_ids: Sequence[int], since: OptionalTime, until: OptionalTime) -> Sequence[Any]:
        agent, status, failure = invocations.c.agent_id, invocations.c.status, invocations.c.failure
        created = invocations.c.created_at
        chosen = select(agent, status, failure, func.count()).where(
            agent.in_(list(agent_ids)),
            invocations.c.client_invoke_time.is_(None),
            true() if since is None else created >= since,
            true() if until is None else created < until,
        )
        with self._database.read() as connection:
            return connection.execute(chosen.group_by(agent, status, failure)).all()


def _moment(at_s: float | None) -> datetime | None:
    return None if at_s is None else datetime.fromtimestamp(at_s, UTC)


def _days(agent_ids: Sequence[int], first: int | None, last: int) -> Any:
    chosen = and_(figure_days.c.agent_id.in_(list(agent_ids)), figure_days.c.day < last)
    return chosen if first is None else and_(chosen, figure_days.c.day >= first)


def _figures(agent_id: int, parts: Sequence[FigureDay], unsent: Counter[tuple[str, str | None]]) -> CallFigures:
    import numpy as np

    sent_counts: Counter[tuple[str, str | None]] = Counter()
    costs: dict[str, list[Any]] = {}
    for part in parts:
        for status, failure, count in part.outcomes:
            sent_counts[status, failure] += count
        for currency, *values in part.costs:
            total = costs.setdefault(currency, [0, 0, False, 0, 0])
            costs[currency] = [one + other for one, other in zip(total, values, strict=True)]
    none = [np.array([], dtype=np.float64)]
    digests = [part.sessions for part in parts if part.sessions is not None]
    return CallFigures(
        outcomes=tuple(
            OutcomeCount(
                agent_id=agent_id,
                status=status,
                failure=failure,
                count=count,
                reached=was_sent and failure not in NEVER_BEGAN,
            )
            for was_sent, counts in ((True, sent_counts), (False, unsent))
            for (status, failure), count in counts.items()
        ),
        sessions=_distinct(np.sort(np.concatenate(digests))) if digests else 0,
        cold_starts=np.concatenate([part.cold_starts for part in parts if part.cold_starts is not None] or none),
        durations=np.concatenate([part.durations[: part.timed] for part in parts] or none),
        costs=tuple(
            CostSum(
                agent_id=agent_id,
                currency=currency,
                known=Decimal(picos) / PICOS,
                unknown=unknown,
                is_estimate=bool(estimates),
                simulated=simulated,
                priced=priced,
            )
            for currency, (picos, unknown, estimates, simulated, priced) in costs.items()
        ),
    )


def _distinct(ordered: NDArray[np.uint64]) -> int:
    return len(ordered) and 1 + int((ordered[1:] != ordered[:-1]).sum())
