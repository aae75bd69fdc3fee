"""`logs.db`: the lines of earlier services, for the next one.

Nothing here raises: without a journal the lines are visible until the service ends, and the service's log says why. A
damaged journal is set aside, and a new one continues with its readable content.

The statements are plain SQL: with SQLAlchemy Core a batch of 50 lines costs 128 % more CPU (88 → 200 µs), a single line
three times as much (15 → 45 µs).
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from ...errors import LoomError
from ...recovery import is_damage, is_full_disk, mark_damaged, recover_if_damaged

_log = logging.getLogger(__name__)
FILE_NAME: Final = "logs.db"
_RETAINED_LINES, _RETAINED_MS = 200_000, 14 * 86_400_000
_BATCH = 5_000
_SCHEMA: Final = """
PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;
CREATE TABLE IF NOT EXISTS lines (
    id INTEGER PRIMARY KEY, log_group TEXT NOT NULL, stream TEXT NOT NULL, timestamp_ms INTEGER NOT NULL,
    message TEXT NOT NULL);
"""

T = TypeVar("T")
StreamKey = tuple[str, str]
JournalRow = tuple[str, str, int, str]
"""A line: its group, its stream, its unix time in milliseconds, its text."""


class LogJournal:
    """The journal of one home folder, for one thread."""

    def __init__(self, home: Path) -> None:
        self._file = home / FILE_NAME
        self._database = self._open()

    def read(self) -> Iterator[list[JournalRow]]:
        """Yield the newest 200,000 lines of 14 days in batches, the oldest first; delete what exceeds this number.

        Older lines stay stored: when a service starts, it cannot know whether the machine's time is right.
        """
        oldest = int(time.time() * 1000) - _RETAINED_MS
        self._run("DELETE FROM lines WHERE id <= (SELECT max(id) FROM lines) - ?", [(_RETAINED_LINES,)])
        last = 0
        while rows := self._after(last):
            yield [row[1:] for row in rows if row[3] >= oldest]
            last = rows[-1][0]

    def append(self, lines: Sequence[JournalRow]) -> None:
        """Store lines."""
        self._run("INSERT INTO lines (log_group, stream, timestamp_ms, message) VALUES (?, ?, ?, ?)", lines)

    def forget(self, places: Sequence[StreamKey]) -> None:
        """Remove all lines of streams."""
        self._run("DELETE FROM lines WHERE log_group = ? AND stream = ?", places)

    def drop_oldest(self, place: StreamKey, count: int) -> None:
        """Remove the oldest lines of a stream."""
        self._run(
            "DELETE FROM lines WHERE id IN "
            "(SELECT id FROM lines WHERE log_group = ? AND stream = ? ORDER BY id LIMIT ?)",
            [(*place, count)],
        )

    def close(self) -> None:
        """Close the file."""
        if self._database is not None:
            self._database.close()

    def _after(self, last: int) -> list[tuple[int, str, str, int, str]]:
        query = "SELECT id, log_group, stream, timestamp_ms, message FROM lines WHERE id > ? ORDER BY id LIMIT ?"
        return self._with(lambda database: database.execute(query, (last, _BATCH)).fetchall()) or []

    def _run(self, statement: str, values: Sequence[Sequence[object]]) -> None:
        """Execute a statement for all values in one transaction."""
        if not values:
            return

        def execute(database: sqlite3.Connection) -> None:
            database.execute("BEGIN")
            database.executemany(statement, values)
            database.execute("COMMIT")

        self._with(execute)

    def _with(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Run an action on the database, again on the recovered one if it is damaged; return None if it failed."""
        for _ in range(2):
            database = self._database
            if database is None:
                return None
            try:
                return work(database)
            except (sqlite3.Error, UnicodeError) as error:
                traced = None if is_full_disk(error) else error
                _log.error("Lines could not be journaled in, or read from, %s: %s", self._file, error, exc_info=traced)
                with suppress(sqlite3.Error):
                    if database.in_transaction:
                        database.execute("ROLLBACK")
                if not is_damage(error):
                    return None
                database.close()
                mark_damaged(self._file)
                self._database = self._open()
        return None

    def _open(self) -> sqlite3.Connection | None:
        for _ in range(2):
            database = None
            try:
                recover_if_damaged(self._file)
                database = sqlite3.connect(self._file, isolation_level=None)
                database.executescript(_SCHEMA)
            except (sqlite3.Error, OSError, LoomError) as error:
                if database is not None:
                    database.close()
                if is_damage(error):
                    mark_damaged(self._file)
                _log.exception("The journal of log lines cannot be opened: %s", self._file)
            else:
                return database
        return None
