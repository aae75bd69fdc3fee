"""The calls of one agent within a day, or a part of it, as arrays: read from the rows, and stored for past days."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy import ColumnElement, Connection, Select, and_, case, func, select, text, update

from .figure_tables import DAY_S, figure_days
from .operation_tables import MICRO, invocation_costs, sums_of
from .postgresql import BINARY_RESULTS
from .tables import invocations

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Outcome: TypeAlias = tuple[str, str | None]
DayKey: TypeAlias = tuple[int, int]
"""An agent's id, and a day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureDay:
    """The invocations of one agent that were sent in a span of time; an array that was not read is None.

    Attributes:
        agent_id: The agent's id in the store.
        outcomes: Status, failure class and number.
        costs: Currency, known picos, unknown items, whether one is estimated, simulated ones, and priced ones.
        timed: How many have a complete response with a duration; they come first in `durations`.
        cold_starts: The known cold-start latencies in ms, one per session.
        sessions: Digests of the ids of their sessions, each once.
        durations: Their durations in ms, NaN where unknown.
        asked: The times of their requests in Unix seconds.
        places: The place of each one's outcome in `outcomes`.
    """

    agent_id: int
    outcomes: Sequence[tuple[str, str | None, int]]
    costs: Sequence[tuple[str, int, int, bool, int, int]] = ()
    timed: int
    durations: NDArray[np.float64]
    cold_starts: NDArray[np.float64] | None = None
    sessions: NDArray[np.uint64] | None = None
    asked: NDArray[np.float64] | None = None
    places: NDArray[np.uint16] | None = None


def stored_days(rows: Sequence[Sequence[Any]]) -> FigureDay:
    """Return the sums of stored days of one agent.

    Args:
        rows: At least one day: agent, `timed`, outcomes and costs as JSON, cold starts, sessions, durations. They are
            joined before they are decoded, which takes a fraction of the time for thousands of days.
    """
    import numpy as np

    outcomes, costs = (
        [item for day in json.loads(f"[{','.join(row[place] for row in rows)}]") for item in day] for place in (2, 3)
    )
    return FigureDay(
        agent_id=rows[0][0],
        outcomes=outcomes,
        costs=costs,
        timed=sum(row[1] for row in rows),
        cold_starts=np.frombuffer(b"".join(row[4] for row in rows), dtype="<f8"),
        sessions=np.frombuffer(b"".join(row[5] for row in rows), dtype="<u8"),
        durations=np.frombuffer(b"".join(memoryview(row[6])[: 8 * row[1]] for row in rows), dtype="<f8"),
    )


def stored_calls(rows: Sequence[Sequence[Any]]) -> Iterator[FigureDay]:
    """Yield stored days of one agent with the times of their calls.

    Args:
        rows: Agent, `timed`, outcomes as JSON, durations, times, and places.
    """
    import numpy as np

    for agent_id, timed, outcomes, durations, asked_s, places in rows:
        yield FigureDay(
            agent_id=agent_id,
            outcomes=json.loads(outcomes),
            timed=timed,
            durations=np.frombuffer(durations, dtype="<f8"),
            asked=np.frombuffer(asked_s, dtype="<f8"),
            places=np.frombuffer(places, dtype="<u2"),
        )


def read_days(connection: Connection, agent_ids: Sequence[int], first: int, last: int) -> dict[DayKey, FigureDay]:
    """Read the invocations that were sent on some days, by agent and day.

    Args:
        connection: A transaction.
        agent_ids: Ids of the agents in the store.
        first: The first day.
        last: The day after the last one.
    """
    within = _within(agent_ids, first * DAY_S, last * DAY_S)
    agent, sent_at = invocations.c.agent_id, invocations.c.client_invoke_time
    calls: defaultdict[DayKey, list[Any]] = defaultdict(list)
    columns = (
        agent, sent_at, invocations.c.status, invocations.c.failure, invocations.c.client_duration_ms,
        invocations.c.session_id,
    )  # fmt: skip
    for row in fetch(connection, select(*columns).where(within)):
        calls[row[0], int(row[1] // DAY_S)].append(row)
    cold_starts: defaultdict[DayKey, list[float]] = defaultdict(list)
    for agent_id, latency, sent_s in fetch(connection, _cold_starts(sent_at).where(within)):
        cold_starts[agent_id, int(sent_s // DAY_S)].append(latency)
    sums: defaultdict[DayKey, dict[str, list[Any]]] = defaultdict(dict)
    costs = invocation_costs.c
    columns = (
        agent,
        sent_at,
        costs.currency,
        costs.known_picos,
        costs.unknown_items,
        costs.is_estimate,
        costs.is_simulated,
    )
    priced = select(*columns).join(invocation_costs, costs.invocation_id == invocations.c.id)
    for agent_id, sent_s, currency, picos, unknown, is_estimate, is_simulated in fetch(
        connection, priced.where(within)
    ):
        total = sums[agent_id, int(sent_s // DAY_S)].setdefault(currency, [0, 0, False, 0, 0])
        total[0] += picos
        total[1] += unknown
        total[2] = total[2] or bool(is_estimate)
        total[3] += bool(is_simulated)
        total[4] += 1
    return {
        key: _day(key[0], rows, cold_starts.get(key, []), sums.get(key, {}))  # in no particular order
        for key, rows in calls.items()
    }


def read_part(
    connection: Connection, agent_ids: Sequence[int], low_s: float | None, high_s: float | None
) -> list[FigureDay]:
    """Read the sums of the invocations that were sent within a span of time, by agent, without the calls' times.

    Args:
        connection: A transaction.
        agent_ids: Ids of the agents in the store.
        low_s: Only those sent at this time or later, in Unix seconds; None for no bound.
        high_s: Only those sent before this time; None for no bound.
    """
    import numpy as np

    within, agent = _within(agent_ids, low_s, high_s), invocations.c.agent_id
    status, failure, duration = invocations.c.status, invocations.c.failure, invocations.c.client_duration_ms
    costs = invocation_costs.c
    counted = select(agent, status, failure, func.count()).where(within).group_by(agent, status, failure)
    timed = select(agent, duration).where(within, status == "complete", duration.is_not(None))
    priced = select(
        agent,
        costs.currency,
        *sums_of(costs.known_picos),
        func.sum(costs.unknown_items),
        func.max(case((costs.is_estimate, 1), else_=0)),
        func.sum(case((costs.is_simulated, 1), else_=0)),
        func.count(),
    ).join(invocation_costs, costs.invocation_id == invocations.c.id)
    outcomes, sums, sessions, durations, cold_starts = (
        _grouped(fetch(connection, chosen))
        for chosen in (
            counted,
            priced.where(within).group_by(agent, costs.currency),
            select(agent, invocations.c.session_id).where(within).distinct(),
            timed,
            _cold_starts().where(within),
        )
    )
    return [
        FigureDay(
            agent_id=agent_id,
            outcomes=outcomes[agent_id],
            costs=[
                (currency, int(micros) * MICRO + int(picos), int(unknown), bool(estimate), int(simulated), priced)
                for currency, micros, picos, unknown, estimate, simulated, priced in sums.get(agent_id, ())
            ],
            timed=len(durations.get(agent_id, ())),
            durations=np.array([value for (value,) in durations.get(agent_id, ())], dtype="<f8"),
            cold_starts=np.array([value for (value,) in cold_starts.get(agent_id, ())], dtype="<f8"),
            sessions=np.array([_digest(session) for (session,) in sessions.get(agent_id, ())], dtype="<u8"),
        )
        for agent_id in outcomes
    ]


def build_days(connection: Connection, days: Iterable[DayKey]) -> None:
    """Read days of agents again and store their arrays; a day that was pruned is not changed.

    Args:
        connection: A writing transaction.
        days: Agents and days. The whole span from the first day to the last is read.
    """
    day_keys = set(days)
    if connection.dialect.name == "postgresql":
        # What others have changed and not committed would be missing, and marked before it is read.
        connection.execute(text("LOCK TABLE invocations, invocation_costs IN SHARE MODE"))
    first, last = min(day for _, day in day_keys), max(day for _, day in day_keys)
    figures_by_day = read_days(connection, sorted({id for id, _ in day_keys}), first, last + 1)
    for agent_id, day in day_keys:
        built = figures_by_day.get((agent_id, day)) or _day(agent_id, [], [], {})
        connection.execute(
            update(figure_days)
            .where(figure_days.c.agent_id == agent_id, figure_days.c.day == day, ~figure_days.c.is_pruned)
            .values(
                is_current=True,
                timed=built.timed,
                outcomes=built.outcomes,
                costs=built.costs,
                **{
                    name: getattr(built, name).tobytes()
                    for name in ("cold_starts", "sessions", "durations", "asked", "places")
                },
            )
        )


def mark_all(connection: Connection) -> None:
    """Mark every day as changed, after a damaged database lost rows: days without a row get one.

    Args:
        connection: A writing transaction on SQLite.
    """
    connection.execute(text("UPDATE figure_days SET is_current = 0 WHERE NOT is_pruned"))
    connection.execute(
        text(
            "INSERT OR IGNORE INTO figure_days (agent_id, day, tenant, is_current, is_pruned) "
            "SELECT DISTINCT agent_id, CAST(client_invoke_time / 86400 AS INTEGER), tenant, 0, 0 FROM invocations "
            "WHERE client_invoke_time BETWEEN 0 AND 1e11"
        )
    )


def _within(agent_ids: Sequence[int], low_s: float | None, high_s: float | None) -> ColumnElement[bool]:
    sent_at = invocations.c.client_invoke_time
    conditions = [invocations.c.agent_id.in_(list(agent_ids)), sent_at.is_not(None)]
    conditions += [] if low_s is None else [sent_at >= low_s]
    conditions += [] if high_s is None else [sent_at < high_s]
    return and_(*conditions)


def _cold_starts(*columns: ColumnElement[Any]) -> Select[Any]:
    earlier = invocations.alias("earlier")
    opened_before = (
        select(earlier.c.id)
        .where(earlier.c.session_id == invocations.c.session_id, earlier.c.id < invocations.c.id)
        # `+ 0` disables the index on the agent: SQLite, without statistics, would scan all calls of the agent.
        .where(earlier.c.agent_id + 0 == invocations.c.agent_id)
    )
    latency = invocations.c.cold_start_latency_ms
    return select(invocations.c.agent_id, latency, *columns).where(latency.is_not(None), ~opened_before.exists())


def _grouped(rows: Sequence[Any]) -> dict[int, list[Any]]:
    """Return the rows without their first column, by its value."""
    groups: defaultdict[int, list[Any]] = defaultdict(list)
    for row in rows:
        groups[row[0]].append(row[1:])
    return groups


def fetch(connection: Connection, chosen: Any) -> Sequence[Any]:
    """Return the driver's own rows: building SQLAlchemy's takes longer than the database takes to read them."""
    cursor = connection.execute(chosen, execution_options={BINARY_RESULTS: True}).cursor
    return [] if cursor is None else cursor.fetchall()


def _day(
    agent_id: int, rows: Sequence[Any], cold_starts: Sequence[float], costs: Mapping[str, Sequence[Any]]
) -> FigureDay:
    import numpy as np

    timed = [row for row in rows if row[2] == "complete" and row[4] is not None]
    ordered = [*timed, *(row for row in rows if row[2] != "complete" or row[4] is None)]
    outcomes = Counter((row[2], row[3]) for row in ordered)
    places = {outcome: place for place, outcome in enumerate(outcomes)}
    return FigureDay(
        agent_id=agent_id,
        outcomes=[(status, failure, count) for (status, failure), count in outcomes.items()],
        costs=[(currency, *total) for currency, total in costs.items()],
        timed=len(timed),
        cold_starts=np.array(cold_starts, dtype="<f8"),
        sessions=np.array(sorted(map(_digest, {row[5] for row in rows})), dtype="<u8"),
        durations=np.array([row[4] for row in ordered], dtype="<f8"),
        asked=np.array([row[1] for row in ordered], dtype="<f8"),
        places=np.array([places[row[2], row[3]] for row in ordered], dtype="<u2"),
    )


def _digest(session_id: str) -> int:
    return int.from_bytes(blake2b(session_id.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
