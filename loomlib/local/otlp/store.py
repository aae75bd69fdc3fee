"""Telemetry on disk: the collecting process alone writes it; the service reads it by time, trace and session."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from ..expiry import ExpiryClock
from .json_values import storable
from .records import Record

FILE_NAME = "telemetry.db"
KEPT_RECORDS, KEPT_MS, KEPT_BYTES = 2_000_000, 14 * 86_400_000, 8_000_000_000
"""The limits of the store: the newest two million records, of fourteen days, within 8 GB of disk."""

_PRUNED_EVERY = 10_000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS places (
    id INTEGER PRIMARY KEY, log_group TEXT NOT NULL, stream TEXT NOT NULL, UNIQUE (log_group, stream));
CREATE TABLE IF NOT EXISTS records (
    id INTEGER PRIMARY KEY AUTOINCREMENT, place INTEGER NOT NULL, timestamp_ms INTEGER NOT NULL,
    visible_ms INTEGER NOT NULL, trace_id TEXT NOT NULL, session_id TEXT NOT NULL, message TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS wholes (id INTEGER PRIMARY KEY, message TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS links (
    trace_id TEXT NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (trace_id, id)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS records_by_time ON records (place, timestamp_ms);
CREATE INDEX IF NOT EXISTS records_by_trace ON records (trace_id) WHERE trace_id <> '';
CREATE INDEX IF NOT EXISTS records_by_session ON records (session_id) WHERE session_id <> '';
"""

StreamKey = tuple[str, str]


class TelemetryWriter:
    """Writes the database; only one writer per home folder is allowed.

    Args:
        home: The home folder.
        clock: The time by which records expire, in Unix seconds.
    """

    def __init__(self, home: Path, *, clock: Callable[[], float] | None = None) -> None:
        self._clock = clock or ExpiryClock("telemetry")
        self._database = sqlite3.connect(home / FILE_NAME, isolation_level=None)
        self._database.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-65536;"
            "PRAGMA wal_autocheckpoint=4000; PRAGMA journal_size_limit=67108864;" + _SCHEMA
        )
        rows = self._database.execute("SELECT id, log_group, stream FROM places")
        self._places: dict[StreamKey, int] = {(group, stream): number for number, group, stream in rows}
        self._since_pruned = _PRUNED_EVERY

    def write(self, records: Sequence[Record], visible_ms: int) -> dict[StreamKey, tuple[int, int]]:
        """Store records in one transaction; return the first and last time of each stream that received some.

        Raises `sqlite3.Error`, and then nothing is stored.
        """
        spans: dict[StreamKey, tuple[int, int]] = {}
        if not records:
            return spans
        run = self._database.execute
        place_ids = dict(self._places)
        run("BEGIN IMMEDIATE")
        try:
            (last,) = run("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'records'").fetchone()
            rows: list[tuple[object, ...]] = []
            for number, record in enumerate(records, start=last + 1):
                place = (record.group, record.stream)
                if place not in place_ids:
                    place_ids[place] = int(
                        run("INSERT INTO places (log_group, stream) VALUES (?, ?)", place).lastrowid or 0
                    )
                first, latest = spans.get(place, (record.timestamp_ms, record.timestamp_ms))
                spans[place] = (min(first, record.timestamp_ms), max(latest, record.timestamp_ms))
                row = (number, place_ids[place], record.timestamp_ms, visible_ms, record.trace_id)
                rows.append((*row, storable(record.session_id), storable(record.message)))
                if record.whole is not None:
                    run("INSERT INTO wholes VALUES (?, ?)", (number, storable(record.whole)))
                for trace_id in record.linked:
                    run("INSERT OR IGNORE INTO links VALUES (?, ?)", (trace_id, number))
            self._database.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
            run("COMMIT")
        except BaseException:
            if self._database.in_transaction:
                run("ROLLBACK")
            raise
        self._places = place_ids
        self._since_pruned += len(records)
        if self._since_pruned >= _PRUNED_EVERY:
            self._since_pruned = 0
            self.prune()
        return spans

    def forget(self, places: Iterable[StreamKey]) -> None:
        """Delete streams with all their records."""
        for place in places:
            number = self._places.pop(place, None)
            if number is not None:
                self._delete("SELECT id FROM records WHERE place = ?", number)
                self._database.execute("DELETE FROM places WHERE id = ?", (number,))

    def prune(self, *, records: int = KEPT_RECORDS, age_ms: int = KEPT_MS, size_bytes: int = KEPT_BYTES) -> None:
        """Delete the oldest records beyond a limit.

        Args:
            records: The largest number of records to keep.
            age_ms: The largest age of a record in milliseconds, from the time when it became visible, by this writer's
                clock.
            size_bytes: The largest size of the database file.
        """
        run = self._database.execute
        first, last = run("SELECT coalesce(min(id), 0), coalesce(max(id), 0) FROM records").fetchone()
        self._delete("SELECT id FROM records WHERE id <= ?", last - records)
        oldest_ms = int(self._clock() * 1000) - age_ms
        # Records arrive in the order of their ids, so the first recent one ends the search.
        oldest = run("SELECT id FROM records WHERE visible_ms >= ? ORDER BY id LIMIT 1", (oldest_ms,)).fetchone()
        self._delete("SELECT id FROM records WHERE id < ?", oldest[0] if oldest else last + 1)
        (pages,), (free,), (page_bytes,) = (
            run(f"PRAGMA {name}").fetchone() for name in ("page_count", "freelist_count", "page_size")
        )
        if (pages - free) * page_bytes > size_bytes:
            self._delete("SELECT id FROM records WHERE id <= ?", first + (last - first) // 10)

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def _delete(self, chosen: str, value: int) -> None:
        run = self._database.execute
        with self._database:
            run("BEGIN IMMEDIATE")
            run(f"DELETE FROM wholes WHERE id IN ({chosen})", (value,))  # noqa: S608 - the texts are this module's
            if run("SELECT 1 FROM links LIMIT 1").fetchone():
                run(f"DELETE FROM links WHERE id IN ({chosen})", (value,))  # noqa: S608
            run(f"DELETE FROM records WHERE id IN ({chosen})", (value,))  # noqa: S608
