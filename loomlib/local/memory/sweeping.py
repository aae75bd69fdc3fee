"""Removal of expired and orphaned rows in the background, in small portions.

Readers do not depend on it: they never see expired events or events of a deleted memory.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from typing import Final

from .store import MemoryStore
from .writing import remove

_log = logging.getLogger(__name__)
_EVERY_S: Final = 60.0
_AT_ONCE: Final = 200
"""Rows per transaction; CreateEvent waits meanwhile."""
_EMPTY_FOR_MS: Final = 86_400_000
"""AgentCore deletes sessions that have been empty for a day."""


class MemorySweeper:
    """A thread that deletes expired events, empty sessions, and the contents of deleted memories."""

    def __init__(self, store: MemoryStore, *, clock: Callable[[], float] = time.time) -> None:
        self._store, self._clock = store, clock
        self._wake, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="memory-sweep", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def wake(self, _memory_id: str = "") -> None:
        """Sweep now rather than within the next minute."""
        self._wake.set()

    def close(self) -> None:
        """Stop the thread and wait for it."""
        self._ended.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def sweep(self) -> int:
        """Remove everything that is due and return the number of rows."""
        removed = 0
        for step in (_expired_events, _empty_sessions, _orphaned_events, _orphaned_sessions):
            while not self._ended.is_set():
                now_ms = int(self._clock() * 1000)
                count = self._store.write_now(lambda connection, step=step, now_ms=now_ms: step(connection, now_ms))
                removed += count
                if count < _AT_ONCE:
                    break
        return removed

    def _run(self) -> None:
        while not self._ended.is_set():
            self._wake.wait(_EVERY_S)
            self._wake.clear()
            try:
                if not self._ended.is_set() and (removed := self.sweep()):
                    _log.info("Removed %d rows of memories that had expired or were deleted", removed)
            except (sqlite3.Error, RuntimeError) as error:
                _log.warning("Expired events could not be removed; retrying within a minute: %s", error)


def _expired_events(connection: sqlite3.Connection, now_ms: int) -> int:
    rows = connection.execute("SELECT * FROM events WHERE expires_at <= ? LIMIT ?", (now_ms, _AT_ONCE)).fetchall()
    for row in rows:
        remove(connection, row, now_ms)
    return len(rows)


def _empty_sessions(connection: sqlite3.Connection, now_ms: int) -> int:
    rows = connection.execute(
        "SELECT number FROM sessions WHERE empty_since <= ? LIMIT ?", (now_ms - _EMPTY_FOR_MS, _AT_ONCE)
    ).fetchall()
    return _remove_sessions(connection, rows)


def _orphaned_events(connection: sqlite3.Connection, now_ms: int) -> int:
    memory_id = _deleted_memory(connection, "events")
    rows = connection.execute("SELECT * FROM events WHERE memory_id = ? LIMIT ?", (memory_id, _AT_ONCE)).fetchall()
    for row in rows:
        remove(connection, row, now_ms)
    return _AT_ONCE if rows else 0  # there may be another deleted memory


def _orphaned_sessions(connection: sqlite3.Connection, _: int) -> int:
    rows = connection.execute(
        "SELECT number FROM sessions WHERE memory_id = ? LIMIT ?", (_deleted_memory(connection, "sessions"), _AT_ONCE)
    ).fetchall()
    return _remove_sessions(connection, rows) and _AT_ONCE


def _remove_sessions(connection: sqlite3.Connection, rows: list[sqlite3.Row]) -> int:
    numbers = [(row["number"],) for row in rows]
    connection.executemany("DELETE FROM branches WHERE session_number = ?", numbers)
    connection.executemany("DELETE FROM sessions WHERE number = ?", numbers)
    return len(rows)


def _deleted_memory(connection: sqlite3.Connection, table: str) -> str | None:
    """Find a deleted memory that still has rows in `table`; each step of the recursion is one index lookup."""
    row = connection.execute(
        f"WITH RECURSIVE ids(id) AS (SELECT min(memory_id) FROM {table} UNION ALL "  # noqa: S608 - the names are ours
        f"SELECT (SELECT min(memory_id) FROM {table} WHERE memory_id > ids.id) FROM ids WHERE ids.id IS NOT NULL) "
        "SELECT id FROM ids WHERE id IS NOT NULL AND id NOT IN (SELECT id FROM memories) LIMIT 1"
    ).fetchone()
    return row and row["id"]
