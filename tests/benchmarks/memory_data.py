"""Memories too large to be filled by one request an event: written through the stores, before the service starts."""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from loomlib.embeddings import embed
from loomlib.local.memory import MEMORY, MemoryBehaviour, MemoryStore
from loomlib.local.memory.records.store import LongTermRecord, RecordsStore
from loomlib.local.memory.writing import add_event
from loomlib.local.resources.engine import ResourceEngine
from loomlib.local.resources.store import ResourceStore

ACCOUNT: Final = "123456789012"
_WHO: Final = ("The user", "Her brother", "A colleague", "The dog", "Their landlord", "The neighbour")
_DOES: Final = ("likes", "dislikes", "is allergic to", "lives near", "works with", "remembers", "ordered", "collects")
_HOW: Final = ("red", "blue", "cheap", "broken", "old", "green", "fast", "tiny", "famous", "quiet", "salty", "early")
_WHAT: Final = (
    *("tea", "coffee", "shellfish", "peanuts", "Berlin", "Munich", "Oslo", "Volvo", "seats", "jazz", "chess", "opera"),
    *("boots", "invoices", "parcels", "laptops", "gardens", "cats", "oceans", "taxes", "forms", "football", "bread"),
    *("bicycles", "pianos", "poems", "rivers", "trains", "bridges", "lamps"),
)


def facts(count: int, seed: int = 0) -> list[str]:
    """Sentences such as an extractor writes, no two alike."""
    chance = random.Random(seed)

    def one(number: int) -> str:
        topic = f"{chance.choice(_HOW)} {chance.choice(_WHAT)}"
        return (
            f"{chance.choice(_WHO)} {chance.choice(_DOES)} {topic} number {number} "
            f"because of {chance.choice(_HOW)} {chance.choice(_WHAT)} and {chance.choice(_WHAT)}."
        )

    return [one(number) for number in range(count)]


class Home:
    """A service's home that is filled while the service is away."""

    def __init__(self, path: Path, region: str) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self._region, self._resources = region, ResourceStore(path)
        self._store, self._records = MemoryStore(path), RecordsStore(path)
        self._control = ResourceEngine(self._resources, [(MEMORY, MemoryBehaviour())], account_id=ACCOUNT)

    def close(self) -> None:
        self._records.close()
        self._store.close()
        self._resources.close()

    def memory(self, name: str) -> str:
        """The id of a new memory without strategies."""
        settings = {"name": name, "eventExpiryDuration": 90}
        return asyncio.run(self._control.call("CreateMemory", settings, region=self._region))["memory"]["id"]

    def add_events(self, memory_id: str, count: int, sessions: int = 1) -> None:
        """Add `count` turns as an agent stores them, seconds apart.

        The first of each session goes through the service's own code; the others are copies of it in the same tables.
        """
        texts, now_ms = facts(200), int(time.time() * 1000)
        events_per_session = count // sessions

        def add(connection: sqlite3.Connection) -> None:
            for session in range(sessions):
                place = {"memoryId": memory_id, "actorId": f"actor{session % 20:02d}", "sessionId": f"session{session}"}
                first = add_event(
                    connection,
                    {**place, **turn(texts[0]), "eventTimestamp": float(now_ms // 1000 - events_per_session)},
                    now_ms,
                )
                head = {name: first[name] for name in ("memory_id", "actor_id", "session_id", "session_number")}
                begin, at_ms, number = first["seq"], first["timestamp_ms"], first["session_number"]
                connection.executemany(
                    "INSERT INTO events (seq, memory_id, actor_id, session_id, session_number, event_id, timestamp_ms, "
                    "body, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        (
                            *(begin + n, *head.values(), f"{at_ms + 1000 * n:019d}#{begin + n:08x}", at_ms + 1000 * n),
                            json.dumps(turn(texts[n % len(texts)])["payload"]),
                            *(now_ms, first["expires_at"]),
                        )
                        for n in range(1, events_per_session)
                    ),
                )
                connection.executemany(
                    "INSERT INTO event_terms VALUES (?, ?, ?, ?)",
                    ((number, "bmain", at_ms + 1000 * n, begin + n) for n in range(1, events_per_session)),
                )

        self._store.write_now(add)

    def add_records(self, memory_id: str, texts: list[str], actors: int = 20) -> np.ndarray[Any, Any]:
        """A record a text, spread over the actors' namespaces; their vectors."""
        vectors, now_ms = embed(texts), int(time.time() * 1000)
        with self._records.transaction():
            for number, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
                record = LongTermRecord(
                    record_id=f"mem-{memory_id}-{number}",
                    namespace=f"/facts/actor{number % actors:02d}/",
                    strategy_id="custom",
                    text=text,
                    created_at=now_ms,
                    updated_at=now_ms,
                )
                self._records.put(memory_id, record, vector.tobytes())
        return vectors


def turn(user: str, assistant: str = "Noted, I will keep that in mind.") -> Mapping[str, Any]:
    """The payload of a closed turn."""
    messages = (("USER", user), ("ASSISTANT", assistant))
    return {"payload": [{"conversational": {"role": role, "content": {"text": text}}} for role, text in messages]}


def in_turns(*sources: Iterator[float]) -> list[list[float]]:
    """What the sources give, one of each after the other, so that all see the same minutes."""
    series: list[list[float]] = [[] for _ in sources]
    for values in zip(*sources, strict=True):
        for values_of_source, value in zip(series, values, strict=True):
            values_of_source.append(value)
    return series
