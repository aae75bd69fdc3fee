"""Read stored telemetry: as log events of a group, or complete by trace and session. Thread-safe."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import time
from collections.abc import Collection, Generator, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from .store import FILE_NAME, StreamKey

_ID = re.compile(r"(?<![\w-])(?:[0-9a-f]{32}|[\w-]{33,256})(?![\w-])")


class TelemetryEvent(NamedTuple):
    """A stored record as a log event, which is invisible before `visible_ms`."""

    id: int
    stream: str
    timestamp_ms: int
    visible_ms: int
    message: str


_VISIBLE: Final = "(visible_ms <= ? OR visible_ms > ?)"
_RECENT: Final = 50_000
"""Number of newest records in which a stream's last arrival is looked up; if none is there, its newest event counts."""


class StreamTimes(NamedTuple):
    """The times of a stream's first, last and last ingested event, in Unix milliseconds."""

    first_ms: int
    last_ms: int
    ingested_ms: int


class TelemetryReader:
    """Reads what the collecting process wrote; the database does not exist before the first record.

    Args:
        home: The home folder.
        delay_s: How long a record stays invisible. A longer remaining delay means that the machine's time was set back
            after the record arrived.
    """

    def __init__(self, home: Path, *, delay_s: float = 0.0) -> None:
        self._file, self._delay_ms = home / FILE_NAME, int(delay_s * 1000)

    def places(self) -> list[StreamKey]:
        """Return every (group, stream) with telemetry."""
        with self._open() as database:
            if database is None:
                return []
            return [(group, stream) for group, stream in database.execute("SELECT log_group, stream FROM places")]

    def stream_times(self, group: str) -> dict[str, StreamTimes]:
        """Return the times of a group's streams that have a visible event."""
        times: dict[str, StreamTimes] = {}
        with self._open() as database:
            if database is None:
                return times
            moments = self._moments()
            for number, stream in database.execute("SELECT id, stream FROM places WHERE log_group = ?", (group,)):
                # Both follow the index of times: a stream may hold a million events.
                ends = [
                    database.execute(
                        f"SELECT timestamp_ms, visible_ms FROM records WHERE place = ? AND {_VISIBLE} "  # noqa: S608
                        f"ORDER BY timestamp_ms {order}, id {order} LIMIT 1",
                        (number, *moments),
                    ).fetchone()
                    for order in ("ASC", "DESC")
                ]
                if ends[0] and ends[1]:
                    # The newest event may have come before others: ids are in the order of arrival.
                    rows = database.execute(
                        "SELECT visible_ms FROM records WHERE id > (SELECT max(id) FROM records) - ? AND +place = ? "  # noqa: S608
                        f"AND {_VISIBLE} ORDER BY id DESC LIMIT 1",
                        (_RECENT, number, *moments),
                    ).fetchone()
                    times[stream] = StreamTimes(
                        first_ms=ends[0][0], last_ms=ends[1][0], ingested_ms=(rows or ends[1][1:])[0]
                    )
        return times

    def events(
        self,
        group: str,
        *,
        begin_ms: float = 0,
        end_ms: float = float("inf"),
        streams: Collection[str] | None = None,
        containing: Sequence[str] = (),
        after: tuple[int, int] = (-1, -1),
        before: tuple[int, int] = (2**62, 0),
        newest_first: bool = False,
    ) -> Generator[TelemetryEvent]:
        """Yield a group's visible events between two positions, ordered by (time, id).

        Only events that contain every text of `containing` are returned. A trace id or session id among these texts
        selects the records of that trace or session, and those that link to it.

        Args:
            group: The log group.
            begin_ms: The earliest time in Unix milliseconds, inclusive.
            end_ms: The latest time in Unix milliseconds, inclusive.
            streams: Names of streams; all by default.
            containing: Texts that an event must contain.
            after: The (time, id) of the event before the first one to return.
            before: The (time, id) of the event after the last one to return.
            newest_first: Whether the order is descending.
        """
        with self._open() as database:
            if database is None:
                return
            numbers = [
                (number, stream)
                for number, stream in database.execute("SELECT id, stream FROM places WHERE log_group = ?", (group,))
                if streams is None or stream in streams
            ]
            if not numbers:
                return
            names = dict(numbers)
            where = [f"place IN ({', '.join('?' * len(names))})", "timestamp_ms BETWEEN ? AND ?", _VISIBLE]
            low, high = max(begin_ms, after[0], 0), min(end_ms, before[0], 2**62)
            values: list[object] = [*names, int(low), int(high), *self._moments()]
            for known_id in _known_ids(database, containing):
                # The unary plus keeps SQLite from taking the index of times instead.
                where[0], where[1] = where[0].replace("place", "+place", 1), "+timestamp_ms BETWEEN ? AND ?"
                where.append(_OF_ID)
                values += [known_id] * 3
                break
            for text in containing:
                where.append("instr(message, ?) > 0")
                values.append(text)
            order = "DESC" if newest_first else "ASC"
            query = (
                "SELECT id, place, timestamp_ms, visible_ms, message FROM records "  # noqa: S608 - only marks are joined
                f"WHERE {' AND '.join(where)} ORDER BY timestamp_ms {order}, id {order}"
            )
            for number, place, timestamp_ms, visible_ms, message in database.execute(query, values):
                if after < (timestamp_ms, number) < before:
                    yield TelemetryEvent(number, names[place], timestamp_ms, visible_ms, message)

    def whole(self, identifier: str) -> list[tuple[StreamKey, str]]:
        """Return all records of a trace or session, untruncated, oldest first."""
        with self._open() as database:
            if database is None:
                return []
            query = (
                "SELECT log_group, stream, coalesce(wholes.message, records.message) FROM records "  # noqa: S608
                "JOIN places ON places.id = place LEFT JOIN wholes ON wholes.id = records.id "
                f"WHERE {_VISIBLE} AND records.{_OF_ID} ORDER BY timestamp_ms, records.id"
            )
            values = (*self._moments(), identifier, identifier, identifier)
            return [((group, stream), message) for group, stream, message in database.execute(query, values)]

    def _moments(self) -> tuple[int, int]:
        now_ms = int(time.time() * 1000)
        return now_ms, now_ms + self._delay_ms

    @contextlib.contextmanager
    def _open(self) -> Generator[sqlite3.Connection | None]:
        if not self._file.exists():
            yield None
            return
        database = sqlite3.connect(self._file, isolation_level=None, check_same_thread=False)
        try:
            database.execute("PRAGMA query_only=1")
            if database.execute("SELECT 1 FROM sqlite_master WHERE name = 'records_by_session'").fetchone():
                yield database
            else:
                yield None  # the writer is about to create the tables
        finally:
            database.close()


_OF_ID = (
    "id IN (SELECT id FROM records WHERE trace_id = ? AND trace_id <> '' "
    "UNION SELECT id FROM records WHERE session_id = ? AND session_id <> '' "
    "UNION SELECT id FROM links WHERE trace_id = ?)"
)


def _known_ids(database: sqlite3.Connection, texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        for match in _ID.finditer(text):
            if database.execute(f"SELECT 1 FROM records WHERE {_OF_ID} LIMIT 1", (match[0],) * 3).fetchone():  # noqa: S608
                yield match[0]
