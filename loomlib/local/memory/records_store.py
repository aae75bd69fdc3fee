"""The long-term records' own SQLite file: records with their vectors, what changed, failed jobs, and how far the
extractor has come.

It is a file of its own so that the extracting process, which writes here, never makes an event's commit wait. What a
turn brought and the note that the turn is done are one transaction: a process killed at any moment leaves both or
neither.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

FILE_NAME: Final = "memory-records.sqlite"
_TOKEN_LIFE_MS = 24 * 3_600_000
_AT_ONCE = 500

_SCHEMA = """
CREATE TABLE IF NOT EXISTS records (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, memory_id TEXT NOT NULL, record_id TEXT NOT NULL UNIQUE,
    namespace TEXT NOT NULL, strategy_id TEXT NOT NULL, text TEXT NOT NULL, metadata TEXT,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, expires_at INTEGER, vector BLOB NOT NULL,
    source_event_ids TEXT NOT NULL DEFAULT '[]', slot TEXT, value TEXT, state TEXT);
CREATE INDEX IF NOT EXISTS records_of_namespace ON records (memory_id, namespace, seq);
CREATE INDEX IF NOT EXISTS records_of_memory ON records (memory_id, seq);
CREATE INDEX IF NOT EXISTS records_of_slot ON records (memory_id, namespace, strategy_id, slot);
CREATE TABLE IF NOT EXISTS changes (
    change INTEGER PRIMARY KEY AUTOINCREMENT, memory_id TEXT NOT NULL, record_id TEXT NOT NULL,
    UNIQUE (memory_id, record_id));
CREATE INDEX IF NOT EXISTS changes_of_memory ON changes (memory_id, change);
CREATE TABLE IF NOT EXISTS tokens (
    memory_id TEXT NOT NULL, token TEXT NOT NULL, request TEXT NOT NULL, answer TEXT NOT NULL,
    created_at INTEGER NOT NULL, PRIMARY KEY (memory_id, token));
CREATE TABLE IF NOT EXISTS cursors (
    memory_id TEXT NOT NULL, actor_id TEXT NOT NULL, session_id TEXT NOT NULL, strategy_id TEXT NOT NULL,
    last_seq INTEGER NOT NULL, PRIMARY KEY (memory_id, actor_id, session_id, strategy_id));
CREATE TABLE IF NOT EXISTS watermark (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS jobs (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, job_id TEXT NOT NULL UNIQUE, memory_id TEXT NOT NULL,
    actor_id TEXT NOT NULL, session_id TEXT NOT NULL, strategy_id TEXT NOT NULL, messages TEXT NOT NULL,
    status TEXT NOT NULL, failure_reason TEXT);
CREATE INDEX IF NOT EXISTS jobs_of_memory ON jobs (memory_id, seq);
"""
_COLUMNS = (
    "record_id, namespace, strategy_id, text, metadata, created_at, updated_at, expires_at, source_event_ids, "
    "slot, value, state, seq"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One long-term record. Times are unix milliseconds; `namespace` is empty when it has none.

    `slot` is what an extracted record tells about ("home"), `value` what it tells ("Berlin"), `state` what its
    extractor needs to go on with it.
    """

    record_id: str
    namespace: str
    strategy_id: str
    text: str = field(repr=False)
    created_at: int
    updated_at: int
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    expires_at: int | None = None
    source_event_ids: tuple[str, ...] = ()
    slot: str | None = None
    value: str | None = None
    state: Mapping[str, Any] | None = field(default=None, repr=False)
    seq: int = 0


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class RecordsStore:
    """The file, behind one connection and one lock; any thread may call. Another process may have it open as well."""

    def __init__(self, home: Path) -> None:
        self._lock = threading.RLock()
        self._db = sqlite3.connect(home / FILE_NAME, check_same_thread=False, isolation_level=None, timeout=30)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")  # a killed process loses nothing; only a power cut may
        with self.transaction() as db:
            for statement in filter(str.strip, _SCHEMA.split(";")):
                db.execute(statement)

    def close(self) -> None:
        with self._lock:
            self._db.close()

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """All of it or nothing of it; inside another transaction, a part of that one."""
        with self._lock:
            if self._db.in_transaction:
                yield self._db
                return
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        with self._lock:
            yield self._db

    def put(self, memory_id: str, record: Record, vector: bytes) -> None:
        """Add a record, or put it in the place of the one with its id."""
        row = (
            *(memory_id, record.record_id, record.namespace, record.strategy_id, record.text),
            json.dumps(record.metadata) if record.metadata else None,
            *(record.created_at, record.updated_at, record.expires_at, vector, json.dumps(record.source_event_ids)),
            *(record.slot, record.value, None if record.state is None else json.dumps(record.state)),
        )
        with self.transaction() as db:
            db.execute(
                "INSERT INTO records (memory_id, record_id, namespace, strategy_id, text, metadata, created_at, "
                "updated_at, expires_at, vector, source_event_ids, slot, value, state) "
                "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (record_id) DO UPDATE SET "
                "namespace=excluded.namespace, strategy_id=excluded.strategy_id, text=excluded.text, "
                "metadata=excluded.metadata, updated_at=excluded.updated_at, expires_at=excluded.expires_at, "
                "vector=excluded.vector, source_event_ids=excluded.source_event_ids, slot=excluded.slot, "
                "value=excluded.value, state=excluded.state WHERE memory_id=excluded.memory_id",
                row,
            )
            _note(db, memory_id, record.record_id)

    def remove(self, memory_id: str, record_id: str) -> bool:
        """Delete a record; False when there is none."""
        with self.transaction() as db:
            found = db.execute("DELETE FROM records WHERE memory_id=? AND record_id=?", (memory_id, record_id)).rowcount
            if found:
                _note(db, memory_id, record_id)
        return bool(found)

    def get(self, memory_id: str, record_ids: Iterable[str]) -> dict[str, Record]:
        """The records with these ids that have not expired."""
        # The plus keeps SQLite from walking through the whole memory for a handful of ids.
        ids, found = list(record_ids), dict[str, Record]()
        with self._lock:
            for begin in range(0, len(ids), _AT_ONCE):
                part = ids[begin : begin + _AT_ONCE]
                marks = ",".join("?" * len(part))
                rows = self._db.execute(
                    f"SELECT {_COLUMNS} FROM records WHERE +memory_id=? AND record_id IN ({marks}) "  # noqa: S608
                    "AND (expires_at IS NULL OR expires_at>?)",
                    (memory_id, *part, now_ms()),
                )
                found.update((row[0], _record(row)) for row in rows)
        return found

    def vector(self, record_id: str) -> bytes:
        """A record's stored vector, empty when there is no such record."""
        with self._lock:
            row = self._db.execute("SELECT vector FROM records WHERE record_id=?", (record_id,)).fetchone()
        return row[0] if row else b""

    def newest_first(
        self, memory_id: str, scope: Scope, *, strategy_id: str | None = None, below: int | None = None, limit: int
    ) -> list[Record]:
        """Records that have not expired, the last added first, those added before `below` only."""
        where, values = ["memory_id=?", "(expires_at IS NULL OR expires_at>?)"], [memory_id, now_ms()]
        clause, bounds = scope.clause()
        where.append(clause)
        values += bounds
        if strategy_id is not None:
            where.append("strategy_id=?")
            values.append(strategy_id)
        if below is not None:
            where.append("seq<?")
            values.append(below)
        with self._lock:
            rows = self._db.execute(
                f"SELECT {_COLUMNS} FROM records WHERE {' AND '.join(where)} ORDER BY seq DESC LIMIT ?",  # noqa: S608
                (*values, limit),
            ).fetchall()
        return [_record(row) for row in rows]

    def in_slot(self, memory_id: str, namespace: str, strategy_id: str, slot: str) -> list[Record]:
        """The records of a slot, the oldest first; "allergy:*" stands for every slot that begins with "allergy:"."""
        matching, bounds = (
            ("slot>=? AND slot<?", [slot[:-1], slot[:-2] + ";"]) if slot.endswith(":*") else ("slot=?", [slot])
        )
        with self._lock:
            rows = self._db.execute(
                f"SELECT {_COLUMNS} FROM records WHERE memory_id=? AND namespace=? AND strategy_id=? AND {matching} "  # noqa: S608
                "ORDER BY seq",
                (memory_id, namespace, strategy_id, *bounds),
            ).fetchall()
        return [_record(row) for row in rows]

    def answered(self, memory_id: str, token: str) -> tuple[str, str] | None:
        """What a request token was used for and what was answered."""
        with self._lock:
            return self._db.execute(
                "SELECT request, answer FROM tokens WHERE memory_id=? AND token=?", (memory_id, token)
            ).fetchone()

    def note_answer(self, memory_id: str, token: str, request: str, answer: str) -> None:
        with self.transaction() as db:
            db.execute("DELETE FROM tokens WHERE created_at<?", (now_ms() - _TOKEN_LIFE_MS,))
            db.execute("INSERT INTO tokens VALUES (?,?,?,?,?)", (memory_id, token, request, answer, now_ms()))

    def watermark(self) -> int:
        """The event's seq up to which extraction is done, 0 before the first."""
        with self._lock:
            row = self._db.execute("SELECT seq FROM watermark").fetchone()
        return row[0] if row else 0

    def forget_memory(self, memory_id: str) -> None:
        """Delete all that is kept of a memory."""
        with self.transaction() as db:
            for table in ("records", "changes", "tokens", "cursors", "jobs"):
                db.execute(f"DELETE FROM {table} WHERE memory_id=?", (memory_id,))  # noqa: S608

    def sweep(self) -> int:
        """Delete expired records, return how many."""
        with self.transaction() as db:
            gone = db.execute("SELECT memory_id, record_id FROM records WHERE expires_at<=?", (now_ms(),)).fetchall()
            for memory_id, record_id in gone:
                self.remove(memory_id, record_id)
        return len(gone)


@dataclass(frozen=True, slots=True)
class Scope:
    """Where to look: one `namespace` exactly, or a `path` and all below it; everywhere when both are None.

    The path `/org/a` holds `/org/a`, `/org/a/` and `/org/a/b`, and not `/org/ab`.
    """

    namespace: str | None = None
    path: str | None = None

    def holds(self, namespace: str) -> bool:
        if self.namespace is not None:
            return namespace == self.namespace
        base = (self.path or "").rstrip("/")
        return self.path is None or namespace == base or namespace.startswith(base + "/")

    def clause(self) -> tuple[str, list[Any]]:
        """The same as SQL. Namespaces are ASCII: what starts with "a/" lies from "a/" up to "a0"."""
        if self.namespace is not None:
            return "namespace=?", [self.namespace]
        if self.path is None:
            return "1", []
        base = self.path.rstrip("/")
        return "(namespace=? OR (namespace>=? AND namespace<?))", [base, base + "/", base + "0"]


def _note(db: sqlite3.Connection, memory_id: str, record_id: str) -> None:
    db.execute("INSERT OR REPLACE INTO changes (memory_id, record_id) VALUES (?,?)", (memory_id, record_id))


def _record(row: Sequence[Any]) -> Record:
    return Record(
        record_id=row[0],
        namespace=row[1],
        strategy_id=row[2],
        text=row[3],
        metadata=json.loads(row[4]) if row[4] else {},
        created_at=row[5],
        updated_at=row[6],
        expires_at=row[7],
        source_event_ids=tuple(json.loads(row[8])),
        slot=row[9],
        value=row[10],
        state=json.loads(row[11]) if row[11] else None,
        seq=row[12],
    )


def vector_rows(db: sqlite3.Connection, memory_id: str, ids: Sequence[str] | None = None) -> Iterator[Sequence[Any]]:
    """record_id, namespace, strategy_id, metadata, expires_at, vector of a memory's records (of `ids`, or all)."""
    columns = "record_id, namespace, strategy_id, metadata, expires_at, vector"
    if ids is None:
        yield from db.execute(f"SELECT {columns} FROM records WHERE memory_id=?", (memory_id,))  # noqa: S608
        return
    for begin in range(0, len(ids), _AT_ONCE):
        part = ids[begin : begin + _AT_ONCE]
        marks = ",".join("?" * len(part))
        yield from db.execute(
            f"SELECT {columns} FROM records WHERE +memory_id=? AND record_id IN ({marks})",  # noqa: S608
            (memory_id, *part),
        )
