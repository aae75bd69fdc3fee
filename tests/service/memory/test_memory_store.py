"""What lies on disk: groups of writes, expiry, and what deleted memories leave behind."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loomlib.local.memory import (
    MEMORY,
    EventPlane,
    MemoryBehaviour,
    MemoryStore,
    MemorySweeper,
    open_journal,
    read_journal,
)
from loomlib.local.resources.engine import ResourceEngine
from loomlib.local.resources.store import ResourceStore
from loomlib.local.wire import RefusedError

DAY_S = 86_400
TABLES = ("memories", "sessions", "branches", "events", "event_terms")


class Home:
    """The planes on one file, with a clock that stands still unless moved."""

    def __init__(self, path: Path) -> None:
        self.path, self.now_s = path, 1_000_000_000.0
        self.resources = ResourceStore(path)
        self.store = MemoryStore(path)
        self.events = EventPlane(self.store, clock=self.clock)
        self.control = ResourceEngine(
            self.resources, [(MEMORY, MemoryBehaviour())], account_id="123456789012", clock=self.clock
        )

    def clock(self) -> float:
        return self.now_s

    async def memory(self, name: str, days: int = 3, **more: Any) -> str:
        parameters = {"name": name, "eventExpiryDuration": days, **more}
        return (await self.control.call("CreateMemory", parameters, region="eu-central-1"))["memory"]["id"]

    async def add(self, memory_id: str, **more: Any) -> str:
        parameters = {
            "memoryId": memory_id,
            "actorId": "a",
            "sessionId": "s",
            "eventTimestamp": 1.0,
            "payload": [],
            **more,
        }
        return json.loads(await self.events.create_event(parameters))["event"]["eventId"]

    def count(self, table: str) -> int:
        return self.store.read_now(lambda connection: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])

    def sweep(self) -> int:
        return MemorySweeper(self.store, clock=self.clock).sweep()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path)
    yield home
    home.store.close()
    home.resources.close()


async def test_writes_that_share_a_transaction_succeed_and_fail_by_themselves(home: Home) -> None:
    memory_id = await home.memory("shared")
    wrong = {"branch": {"name": "b"}, "sessionId": "never"}
    outcomes = await asyncio.gather(
        *(home.add(memory_id, **(wrong if number % 3 == 0 else {})) for number in range(60)), return_exceptions=True
    )
    assert [isinstance(outcome, RefusedError) for outcome in outcomes] == [number % 3 == 0 for number in range(60)]
    assert len({outcome for outcome in outcomes if isinstance(outcome, str)}) == home.count("events") == 40
    assert home.count("sessions") == 1, "a refused event leaves no session behind"


async def test_the_same_token_sent_twice_at_once_makes_one_event(home: Home) -> None:
    memory_id = await home.memory("twins")
    ids = await asyncio.gather(*(home.add(memory_id, clientToken="t") for _ in range(20)))
    assert len(set(ids)) == home.count("events") == 1


async def test_an_expired_event_is_not_seen_before_it_is_swept_nor_in_the_way_of_its_token(home: Home) -> None:
    memory_id = await home.memory("short")
    event_id = await home.add(memory_id, clientToken="t", metadata={"k": {"stringValue": "v"}})
    place = {"memoryId": memory_id, "actorId": "a", "sessionId": "s"}
    home.now_s += 3 * DAY_S
    assert json.loads(await home.events.list_events(place))["events"] == []
    with pytest.raises(RefusedError):
        await home.events.get_event(place | {"eventId": event_id})
    assert await home.add(memory_id, clientToken="t") != event_id
    assert home.count("events") == 1


async def test_sweeping_removes_expired_events_and_a_day_later_their_sessions(home: Home) -> None:
    memory_id = await home.memory("swept")
    for number in range(450):
        root = await home.add(memory_id, sessionId=f"s{number % 5}", metadata={"k": {"stringValue": "v"}})
    await home.add(memory_id, sessionId="s4", branch={"name": "b", "rootEventId": root})
    home.now_s += 3 * DAY_S
    event_id = await home.add(memory_id, sessionId="s0")
    home.sweep()
    assert [home.count(table) for table in ("events", "event_terms", "sessions")] == [1, 1, 5]
    home.now_s += 1.1 * DAY_S
    home.sweep()
    assert [home.count(table) for table in ("events", "sessions", "branches")] == [1, 1, 0]
    journal = home.store.read_now(lambda connection: read_journal(connection, after=0))
    assert [entry.event_id for entry in journal] == [event_id]


async def test_sweeping_removes_all_that_a_deleted_memory_held_and_nothing_of_others(home: Home) -> None:
    first, second = await home.memory("first"), await home.memory("second")
    for number in range(30):
        root = await home.add(first, sessionId=f"s{number}")
        await home.add(first, sessionId=f"s{number}", branch={"name": "b", "rootEventId": root})
    event_id = await home.add(second, metadata={"k": {"stringValue": "v"}})
    await home.control.call("DeleteMemory", {"memoryId": first}, region="eu-central-1")
    home.sweep()
    assert [home.count(table) for table in TABLES] == [1, 1, 0, 1, 3]
    assert (
        await home.events.get_event({"memoryId": second, "actorId": "a", "sessionId": "s", "eventId": event_id})
    ).strip()


async def test_namespace_variables_must_be_the_memorys_own(home: Home) -> None:
    keys = [{"key": "team", "validation": {"allowedValues": ["red"]}}, {"key": "site"}]
    memory_id = await home.memory("keyed", namespaceKeys=keys)
    for variables in ({"other": "x"}, {"team": "blue"}):
        with pytest.raises(RefusedError):
            await home.add(memory_id, extractionConfig={"namespaceVariables": variables})
    await home.add(
        memory_id, extractionConfig={"namespaceVariables": {"team": "red", "site": "x"}}, extractionMode="SKIP"
    )
    (entry,) = home.store.read_now(lambda connection: read_journal(connection, after=0))
    assert entry.extraction == {"mode": "SKIP", "namespaceVariables": {"team": "red", "site": "x"}}


async def test_the_journal_is_read_by_another_connection_in_the_order_of_coming(home: Home) -> None:
    memory_id = await home.memory("noted")
    ids = [await home.add(memory_id, eventTimestamp=float(at)) for at in (5, 1, 3)]
    connection = open_journal(home.path)
    assert [entry.event_id for entry in read_journal(connection, after=0)] == ids
    first = read_journal(connection, after=0, limit=1)[0]
    assert [entry.event_id for entry in read_journal(connection, after=first.seq, memory_id=memory_id)] == ids[1:]
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("DELETE FROM events")
    connection.close()


def test_a_closed_store_has_finished_what_was_asked_and_takes_no_more(tmp_path: Path) -> None:
    ResourceStore(tmp_path).close()
    store = MemoryStore(tmp_path)
    store.prepare("CREATE TABLE IF NOT EXISTS own (n INTEGER)")
    for number in range(50):
        store.write_now(lambda connection, number=number: connection.execute("INSERT INTO own VALUES (?)", (number,)))
    store.close()
    store.close()
    with pytest.raises(RuntimeError):
        store.write_now(lambda _: None)
    again = MemoryStore(tmp_path)
    assert again.read_now(lambda connection: connection.execute("SELECT count(*) FROM own").fetchone()[0]) == 50
    again.close()
