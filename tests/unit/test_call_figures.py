"""The figures of many calls are those of the rows, whichever part of them comes from stored days."""

from __future__ import annotations

import random
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event
from store_rows import query

from loomlib.store import CallFigures, InvocationRow, Store

NOW = time.time()
DAY_S = 86_400
ARN = "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime"


def agents(store: Store, count: int = 3) -> list[int]:
    return [
        store.agents.upsert(
            scope="local",
            arn=f"{ARN}/a{number}-AbCdEf1234",
            runtime_id=f"a{number}-AbCdEf1234",
            region="us-east-1",
            account_id="123456789012",
            name=f"a{number}",
        ).id
        for number in range(count)
    ]


def call(store: Store, agent: int, at: float, chance: random.Random, *, session: str = "") -> int:
    """One invocation that was sent at `at`, as it may end."""
    id = store.invocations.begin(
        agent_id=agent, session_id=session or f"s{chance.randrange(30)}", client_invoke_time=at
    )
    outcome = chance.choice(["complete", "complete", "complete", "agent_error", "throttle", "open"])
    if outcome == "open":
        return id
    store.invocations.finish(
        id,
        status="complete" if outcome == "complete" else "error",
        response="yes",
        client_done_time=at + 1,
        client_duration_ms=chance.uniform(1, 1000),
        failure=None if outcome == "complete" else outcome,
    )
    if chance.random() < 0.5:
        store.invocations.note_start(id, state="found", cold_start_latency_ms=chance.uniform(1, 100))
    if chance.random() < 0.5:
        price(store, id, chance)
    return id


def price(store: Store, id: int, chance: random.Random) -> None:
    store.figures.put_cost(
        id,
        known=Decimal(chance.randrange(1_000_000)) / 10**9,
        unknown=chance.randrange(2),
        is_estimate=chance.random() < 0.1,
        is_simulated=chance.random() < 0.1,
        currency=chance.choice(["USD", "EUR"]),
    )


def filled(store: Store, ids: Sequence[int], chance: random.Random, count: int = 60) -> None:
    for _ in range(count):
        call(store, chance.choice(ids), NOW - chance.uniform(0, 5) * DAY_S, chance)
    store.invocations.begin(agent_id=ids[0], session_id="never sent")


def expected(store: Store, url: str, agent: int, since: datetime | None, until: datetime | None) -> tuple[object, ...]:
    """What the rows say, computed one by one."""
    all_rows = [row for row in store.invocations.list(agent, limit=None)]
    columns = "invocation_id, currency, known_picos, unknown_items, is_simulated"
    priced = {row[0]: row[1:] for row in query(url, f"SELECT {columns} FROM invocation_costs")}

    def within(row: InvocationRow) -> bool:
        at = row.created_at.timestamp() if row.client_invoke_time is None else row.client_invoke_time
        return (since is None or at >= since.timestamp()) and (until is None or at < until.timestamp())

    rows = [row for row in all_rows if within(row)]
    sent_rows = [row for row in rows if row.client_invoke_time is not None]
    first_ids = {session: min(row.id for row in all_rows if row.session_id == session) for session in {
        row.session_id for row in all_rows
    }}  # fmt: skip
    costs: Counter[tuple[str, str]] = Counter()
    for currency, picos, unknown, simulated in (priced[row.id] for row in sent_rows if row.id in priced):
        costs += Counter({
            (currency, "known"): picos, (currency, "unknown"): unknown, (currency, "simulated"): simulated,
            (currency, "priced"): 1,
        })  # fmt: skip
    return (
        Counter((row.status, row.failure) for row in rows),
        len({row.session_id for row in sent_rows}),
        sorted(
            row.cold_start_latency_ms
            for row in sent_rows
            if row.cold_start_latency_ms and first_ids[row.session_id] == row.id
        ),
        sorted(row.client_duration_ms for row in sent_rows if row.status == "complete" and row.client_duration_ms),
        costs,
    )


def read(figures: CallFigures) -> tuple[object, ...]:
    outcomes: Counter[tuple[str, str | None]] = Counter()
    for outcome in figures.outcomes:
        outcomes[outcome.status, outcome.failure] += outcome.count
    costs: Counter[tuple[str, str]] = Counter()
    for cost in figures.costs:
        costs += Counter({
            (cost.currency, "known"): int(cost.known * 10**12), (cost.currency, "unknown"): cost.unknown,
            (cost.currency, "simulated"): cost.simulated, (cost.currency, "priced"): cost.priced,
        })  # fmt: skip
    return (
        outcomes,
        figures.sessions,
        sorted(figures.cold_starts.tolist()),
        sorted(figures.durations.tolist()),
        costs,
    )


def windows() -> Iterator[tuple[datetime | None, datetime | None]]:
    now = datetime.fromtimestamp(NOW, UTC)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    yield None, None
    yield now - timedelta(days=3.3), None
    yield now - timedelta(days=3.3), now - timedelta(days=1.1)
    yield midnight - timedelta(days=2), midnight
    yield midnight - timedelta(days=2, hours=1), midnight + timedelta(hours=1)
    yield now - timedelta(hours=1), now
    yield None, now - timedelta(days=4)


def check(store: Store, url: str, ids: Sequence[int]) -> None:
    for since, until in windows():
        figures = store.call_figures.read(ids, since, until)
        for agent in ids:
            assert read(figures[agent]) == expected(store, url, agent, since, until), (agent, since, until)
            times = store.call_figures.times(agent, since, until)
            timed_calls = zip(times.asked_s.tolist(), times.durations_ms.tolist(), times.failed.tolist(), strict=True)
            assert sorted(timed_calls) == sorted(
                (call.asked_s, call.duration_ms, call.failed) for call in store.figures.calls(agent, since, until)
            )


def test_the_figures_are_those_of_the_rows_in_every_window(store: Store, store_url: str) -> None:
    ids = agents(store)
    filled(store, ids, random.Random(1))
    check(store, store_url, ids)


def test_a_change_of_a_past_day_counts_at_once(store: Store, store_url: str) -> None:
    ids, chance = agents(store), random.Random(2)
    filled(store, ids, chance, count=40)
    check(store, store_url, ids)
    for row in chance.sample(store.invocations.list(limit=None), 12):
        change = chance.randrange(3)
        if change == 0:
            price(store, row.id, chance)
        elif change == 1:
            store.invocations.note_start(row.id, state="found", cold_start_latency_ms=chance.uniform(1, 100))
        else:
            call(store, row.agent_id, NOW - 2 * DAY_S, chance)
    check(store, store_url, ids)


def test_past_days_are_read_from_what_was_stored_of_them(tmp_path: Path) -> None:
    file = tmp_path / "loom.db"
    with Store.open(f"sqlite:///{file}") as store:
        check_stored_days(store, file)


def check_stored_days(store: Store, file: Path) -> None:
    ids = agents(store)
    filled(store, ids, random.Random(3), count=40)
    today = int(time.time() // DAY_S) * DAY_S  # before the days are stored, as midnight may come in between
    before = {id: read(figures) for id, figures in store.call_figures.read(ids, None, None).items()}
    connection = sqlite3.connect(file)
    triggers = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")]
    assert len(triggers) == 6
    for name in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute("UPDATE invocations SET client_duration_ms = 0 WHERE client_invoke_time < ?", (today,))
    connection.commit()
    connection.close()
    assert {id: read(figures) for id, figures in store.call_figures.read(ids, None, None).items()} == before


def test_a_database_that_cannot_be_written_to_is_read_row_by_row(tmp_path: Path) -> None:
    file = tmp_path / "loom.db"
    url = f"sqlite:///{file}"
    with Store.open(url) as store, Store.open(url, lock_timeout_s=0.01) as reader:
        ids = agents(store, 1)
        filled(store, ids, random.Random(4), count=20)
        expected_figures = expected(store, url, ids[0], None, None)
        blocker = sqlite3.connect(file, isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        assert read(reader.call_figures.read(ids, None, None)[ids[0]]) == expected_figures
        blocker.execute("ROLLBACK")
        blocker.close()


def test_the_first_call_of_a_session_is_found_by_the_session_not_among_all_calls(tmp_path: Path) -> None:
    file, queries = tmp_path / "loom.db", list[tuple[str, Any]]()

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if "AS earlier" in statement:
            queries.append((statement, parameters))

    with Store.open(f"sqlite:///{file}") as store:
        ids = agents(store, 2)
        filled(store, ids, random.Random(5))
        event.listen(Engine, "before_cursor_execute", note)
        try:
            store.call_figures.read(ids, None, None)
        finally:
            event.remove(Engine, "before_cursor_execute", note)
    assert len(queries) >= 2  # of past days, and of today
    connection = sqlite3.connect(file)
    for statement, parameters in queries:
        plan = [row[3] for row in connection.execute("EXPLAIN QUERY PLAN " + statement, parameters)]
        assert any(step.startswith("SEARCH earlier USING INDEX ix_invocations_session_id") for step in plan), plan
    connection.close()
