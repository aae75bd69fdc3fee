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
from decimal import Decimal
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import and_, func, select, true

from ..errors import StoreError
from .database import Database
from .figure_days import DayKey, FigureDay, build_days, fetch, read_part, stored_days
from .figure_tables import DAY_S, figure_days
from .figures import PICOS, CostSum, OptionalTime, OutcomeCount
from .invocations import NEVER_BEGAN, Invocations
from .tables import invocations

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_log = logging.getLogger(__name__)

_DAYS_AT_ONCE: Final = 7
"""Days that one transaction builds: it holds up the writers."""

_SUMMED: Final = ("agent_id", "timed", "outcomes", "costs", "cold_starts", "sessions", "durations")
_IN_ORDER: Final = ("agent_id", "timed", "outcomes", "costs", "durations", "asked", "places")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFigures:
    """What the metrics of one agent are computed from.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTimes:
    """Finished invocations in the order of their requests, as arrays of equal length.

    Attributes:
        asked_s: Time of the request in Unix seconds.
        durations_ms: Duration in ms; NaN where it is unknown.
        failed: Whether the invocation failed.
        failures: The place of each one's failure class in `names`.
        names: The failure classes; None for none.
    """

    asked_s: NDArray[np.float64]
    durations_ms: NDArray[np.float64]
    failed: NDArray[np.bool_]
    failures: NDArray[np.int64]
    names: tuple[str | None, ...]


class CallFigureQueries:
    """Queries over all invocations of agents, however many there are.

    An invocation that was never sent belongs to the time at which it was stored. A day whose invocations were pruned
    after their export is counted as a whole, also where a window cuts it.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, agent_ids: Sequence[int], since: OptionalTime, until: OptionalTime) -> dict[int, CallFigures]:
        """Return the figures by agent; an agent without invocations has figures too.

        Args:
            agent_ids: Ids of the agents in the store.
            since: Only invocations that were sent at this time or later; None for no bound.
            until: Only invocations that were sent before this time; None for no bound.
        """
        parts: dict[int, list[FigureDay]] = {agent_id: [] for agent_id in agent_ids}
        for day in self._parts(agent_ids, since, until, _SUMMED):
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

    def _parts(
        self, agent_ids: Sequence[int], since: OptionalTime, until: OptionalTime, columns: Sequence[str]
    ) -> list[FigureDay]:
        Invocations(self._database).close_abandoned()
        low = None if since is None else since.timestamp()
        high = None if until is None else until.timestamp()
        today = int(time.time() // DAY_S)
        pruned = self.pruned_until() or 0
        # Whole past days; a day that was pruned has no rows to be cut.
        first = None if low is None else math.ceil(low / DAY_S)
        if low is not None and low // DAY_S < pruned:
            first = int(low // DAY_S)
        last = today if high is None else min(today, int(high // DAY_S))
        if high is not None and last < pruned:
            last = min(pruned, math.ceil(high / DAY_S))
        if first is not None and first >= last:
            return self._rows(agent_ids, low, high)
        try:
            self._build(self._changed(agent_ids, first, last))
        except StoreError as error:  # a database that cannot be written to
            _log.debug("The figures of past days cannot be stored: %s", error)
        if self._changed(agent_ids, first, last):
            return self._rows(agent_ids, low, high)
        days = self._stored(agent_ids, first, last, columns)
        if low is not None and first is not None and low < first * DAY_S:
            days += self._rows(agent_ids, low, first * DAY_S)
        if high is None or high > last * DAY_S:
            days += self._rows(agent_ids, last * DAY_S, high)
        return days

    def _rows(self, agent_ids: Sequence[int], low: float | None, high: float | None) -> list[FigureDay]:
        with self._database.read() as connection:
            return read_part(connection, agent_ids, low, high)

    def _stored(
        self, agent_ids: Sequence[int], first: int | None, last: int, columns: Sequence[str]
    ) -> list[FigureDay]:
        built = and_(_days(agent_ids, first, last), figure_days.c.timed.is_not(None))
        chosen = select(*(figure_days.c[name] for name in columns)).where(built)
        with self._database.read() as connection:
            rows = fetch(connection, chosen.order_by(figure_days.c.agent_id, figure_days.c.day))
        return [stored_days(list(of_agent)) for _, of_agent in groupby(rows, key=lambda row: row[0])]

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


def _days(agent_ids: Sequence[int], first: int | None, last: int) -> Any:
    chosen = and_(figure_days.c.agent_id.in_(list(agent_ids)), figure_days.c.day < last)
    return chosen if first is None else and_(chosen, figure_days.c.day >= first)


def _figures(agent_id: int, parts: Sequence[FigureDay], unsent: Counter[tuple[str, str | None]]) -> CallFigures:
    import numpy as np

    sent: Counter[tuple[str, str | None]] = Counter()
    costs: dict[str, list[Any]] = {}
    for part in parts:
        for status, failure, count in part.outcomes:
            sent[status, failure] += count
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
            for was_sent, counts in ((True, sent), (False, unsent))
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
