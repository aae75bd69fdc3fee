"""Events in the order in which they came, for whoever makes long-term memory of them, in this process or another."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .store import FILE_NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """One acknowledged event. `extraction` holds `mode` ("SKIP") and `namespaceVariables` when they were given."""

    seq: int
    memory_id: str
    actor_id: str
    session_id: str
    event_id: str
    timestamp_ms: int
    created_at_ms: int
    branch: str | None
    payload: Sequence[Mapping[str, Any]] = field(repr=False)
    metadata: Mapping[str, Mapping[str, str]] = field(repr=False)
    extraction: Mapping[str, Any]


def open_journal(home: Path) -> sqlite3.Connection:
    """A read-only connection of the caller's own to the events of a home whose service has made them."""
    address = f"{(home / FILE_NAME).absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False, timeout=10)
    connection.row_factory = sqlite3.Row
    return connection


def read_journal(
    connection: sqlite3.Connection, *, after: int, limit: int = 500, memory_id: str | None = None
) -> list[JournalEntry]:
    """The events past seq `after` that still exist, oldest first; all memories' unless one is named."""
    only = "AND memory_id = ?" if memory_id else ""
    rows = connection.execute(
        "SELECT seq, memory_id, actor_id, session_id, event_id, timestamp_ms, created_at, branch, body, metadata, "  # noqa: S608
        f"extraction FROM events WHERE seq > ? {only} ORDER BY seq LIMIT ?",
        (after, *([memory_id] if memory_id else ()), limit),
    )
    return [
        JournalEntry(
            seq=row["seq"],
            memory_id=row["memory_id"],
            actor_id=row["actor_id"],
            session_id=row["session_id"],
            event_id=row["event_id"],
            timestamp_ms=row["timestamp_ms"],
            created_at_ms=row["created_at"],
            branch=row["branch"],
            payload=json.loads(row["body"]),
            metadata=json.loads(row["metadata"] or "{}"),
            extraction=json.loads(row["extraction"] or "{}"),
        )
        for row in rows
    ]
