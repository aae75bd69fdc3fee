"""The extracting process reads what it may extract from, and never more than it can hold."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from loomlib.local.memory import MEMORY, MemoryBehaviour, MemoryStore
from loomlib.local.memory.extraction.pending import PendingEvents
from loomlib.local.memory.writing import add_event
from loomlib.local.resources.engine import ResourceEngine
from loomlib.local.resources.store import ResourceStore

FACTS = {"semanticMemoryStrategy": {"name": "facts"}}
SAID = [{"conversational": {"role": "ASSISTANT", "content": {"text": "Noted."}}}]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    ResourceStore(tmp_path).close()
    store = MemoryStore(tmp_path)
    yield store
    store.close()


def memory(home: Path, name: str, *strategies: object) -> str:
    request = {"name": name, "eventExpiryDuration": 30, "memoryStrategies": list(strategies)}
    with contextlib.closing(ResourceStore(home)) as resources:
        engine = ResourceEngine(resources, [(MEMORY, MemoryBehaviour())], account_id="123456789012")
        return asyncio.run(engine.call("CreateMemory", request, region="us-east-1"))["memory"]["id"]


def add(store: MemoryStore, memory_id: str) -> int:
    request = {"memoryId": memory_id, "actorId": "a", "sessionId": "s", "eventTimestamp": 1.0, "payload": SAID}
    return store.write_now(lambda connection: add_event(connection, request, 1_000_000_000_000))["seq"]


def test_events_of_a_memory_without_strategies_are_skipped(store: MemoryStore, tmp_path: Path) -> None:
    silent, telling = memory(tmp_path, "silent"), memory(tmp_path, "telling", FACTS)
    seqs = [add(store, memory_id) for memory_id in (silent, telling, silent)]
    journal = PendingEvents(tmp_path, 0)
    assert not journal.read(0.0)
    ((key, events),) = journal.due(10.0, 1.0)
    assert (key[0], [event.seq for event in events]) == (telling, seqs[1:2])
    journal.drop(key, 1)
    assert (journal.watermark, journal.idle) == (seqs[2], True)
    journal.close()


def test_a_large_backlog_is_read_in_portions(store: MemoryStore, tmp_path: Path) -> None:
    count, memory_id = 60_000, memory(tmp_path, "long", FACTS)
    first = add(store, memory_id)

    def multiply(connection: sqlite3.Connection) -> None:
        connection.execute(
            "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?) INSERT INTO events "
            "(memory_id, actor_id, session_id, session_number, event_id, timestamp_ms, body, created_at, expires_at) "
            "SELECT memory_id, actor_id, session_id, session_number, '0#' || n, timestamp_ms, body, created_at, "
            "expires_at FROM n CROSS JOIN events e WHERE e.seq = ?",
            (count - 1, first),
        )

    store.write_now(multiply)
    journal, portions = PendingEvents(tmp_path, 0), []
    while not journal.idle:
        while journal.read(0.0):
            pass
        for key, events in journal.due(10.0, 1.0):
            assert not portions or events[0].seq == portions[-1][-1] + 1
            portions.append([event.seq for event in events])
            journal.drop(key, len(events))
    assert sum(map(len, portions)) == count
    assert max(map(len, portions)) < count, "never all of them at a time"
    assert journal.watermark == portions[-1][-1]
    journal.close()
