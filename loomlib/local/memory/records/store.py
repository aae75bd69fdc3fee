"""The SQLite file of long-term memory: records with their vectors, changes, extraction jobs and progress.

It is separate from `memory.db` so that the extraction process, which writes here, never delays the commit of an event.
The records of a turn and the progress mark of the turn are written in one transaction: a process killed at any moment
leaves both or neither.

The statements are plain SQL: with SQLAlchemy Core a RetrieveMemoryRecords took 76 % longer in process (424 → 747 µs,
1,000 records), and its import added 194 ms to the start of the service.
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

from loomlib.json_values import encodable

from ...expiry import ExpiryClock

FILE_NAME: Final = "memory-records.sqlite"
_TOKEN_VALID_MS = 24 * 3_600_000
_CHUNK = 500

_SCHEMA = """
CREATE TABLE IF NOT EXISTS records (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, memory_id TEXT NOT NULL, record_id TEXT NOT NULL UNIQUE,
    namespace TEXT NOT NULL, strategy_id TEXT NOT NULL, text TEXT NOT NULL, metadata TEXT,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, expires_at INTEGER, vector BLOB NOT NULL,
    source_event_ids TEXT NOT NULL DEFAULT '[]', slot TEXT, value TEXT, state TEXT,
    tenant TEXT NOT NULL DEFAULT '');
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
    status TEXT NOT NULL, failure_reason TEXT, tenant TEXT NOT NULL DEFAULT '');
CREATE INDEX IF NOT EXISTS jobs_of_memory ON jobs (memory_id, seq);
"""
_NOT_EXPIRED = "(expires_at IS NULL OR expires_at>?)"
_VECTOR_COLUMNS = "record_id, namespace, strategy_id, metadata, expires_at, vector, text, tenant"


@dataclass(frozen=True, slots=True, kw_only=True)
class LongTermRecord:
    """One long-term record.

    Attributes:
        record_id: Its id, `mem-…`.
        namespace: Its namespace; empty if it has none.
        strategy_id: The strategy that it belongs to.
        text: Its content.
        created_at: Unix milliseconds.
        updated_at: Unix milliseconds.
        metadata: Metadata in AWS's form, with times as numbers.
        expires_at: Unix milliseconds, or None if it does not expire.
        source_event_ids: The events that it was extracted from.
        slot: The subject of an extracted record, such as "home".
        value: The value of the slot, such as "Berlin".
        state: The extractor's state for updating the record later.
        seq: Its position in the order of creation.
        tenant: The tenant that it belongs to; empty for none.
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
    tenant: str = ""


@dataclass(frozen=True, slots=True)
class Scope:
    """The namespaces to search: one `namespace`, a `path` and everything below it, or all if both are None.

    The path `/org/a` holds `/org/a`, `/org/a/` and `/org/a/b`, and not `/org/ab`. With a `tenant`, only its records
    are searched.
    """

    namespace: str | None = None
    path: str | None = None
    tenant: str | None = None

    def holds(self, namespace: str, tenant: str = "") -> bool:
        """Whether records of a tenant in a namespace are in this scope."""
        if self.tenant not in (None, tenant):
            return False
        if self.namespace is not None:
            return namespace == self.namespace
        base = (self.path or "").rstrip("/")
        return self.path is None or namespace == base or namespace.startswith(base + "/")

    def clause(self) -> tuple[str, list[Any]]:
        """Return the scope as an SQL condition and its values."""
        condition, values = "1", []
        if self.namespace is not None:
            condition, values = "namespace=?", [self.namespace]
        elif self.path is not None:
            base = self.path.rstrip("/")
            # Namespaces are ASCII: whatever starts with "a/" sorts from "a/" up to "a0".
            condition, values = "(namespace=? OR (namespace>=? AND namespace<?))", [base, base + "/", base + "0"]
        return (condition, values) if self.tenant is None else (f"{condition} AND tenant=?", [*values, self.tenant])


def now_ms() -> int:
    """Return the time as unix milliseconds."""
    return time.time_ns() // 1_000_000


class RecordsStore:
    """The open database: one locked connection, thread-safe. Another process may have the file open as well."""

    def __init__(self, home: Path) -> None:
        self._expiry = ExpiryClock("memory record")
        self._lock = threading.RLock()
        self._db = sqlite3.connect(home / FILE_NAME, check_same_thread=False, isolation_level=None, timeout=30)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")  # survives a killed process; only a power cut may lose a commit
        with self.transaction() as db:
            for statement in filter(str.strip, _SCHEMA.split(";")):
                db.execute(statement)
            for table in ("records", "jobs"):
                if all(column[1] != "tenant" for column in db.execute(f"PRAGMA table_info({table})").fetchall()):
                    db.execute(
                        f"ALTER TABLE {table} ADD COLUMN tenant TEXT NOT NULL DEFAULT ''"
                    )  # an earlier release's

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """Commit everything or nothing; joins an enclosing transaction."""
        with self._lock:
            if self._db.in_transaction:
                yield self._db
                return
            with self._db:  # commits or rolls back, also where the commit fails or SQLite has rolled back itself
                self._db.execute("BEGIN IMMEDIATE")
                yield self._db

    @contextmanager
    def savepoint(self) -> Generator[None]:
        """Undo the block's changes if it raises; must be inside a transaction."""
        with self.transaction() as db:
            db.execute("SAVEPOINT attempt")
            try:
                yield
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK TO attempt")
                    db.execute("RELEASE attempt")
                raise
            db.execute("RELEASE attempt")

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return all rows of a SELECT."""
        with self._lock:
            return self._db.execute(statement, values).fetchall()

    def put(self, memory_id: str, record: LongTermRecord, vector: bytes) -> None:
        """Insert a record, or replace the one with the same id.

        Args:
            memory_id: The memory that holds the record.
            record: The record.
            vector: Its unit vector, 256 little-endian 32-bit floats.
        """
        row = {
            "memory_id": memory_id,
            "record_id": record.record_id,
            "namespace": record.namespace,
            "strategy_id": record.strategy_id,
            "text": encodable(record.text),
            "metadata": json.dumps(record.metadata) if record.metadata else None,
            "created_at": record.created_at,
            "updated_at": record.updated_at,
            "expires_at": record.expires_at,
            "vector": vector,
            "source_event_ids": json.dumps(record.source_event_ids),
            "slot": record.slot,
            "value": None if record.value is None else encodable(record.value),
            "state": None if record.state is None else json.dumps(record.state),
            "tenant": record.tenant,
        }
        changed = ", ".join(f"{name}=excluded.{name}" for name in row if name not in _FIXED_COLUMNS)
        with self.transaction() as db:
            db.execute(
                f"INSERT INTO records ({', '.join(row)}) VALUES ({', '.join('?' * len(row))}) "  # noqa: S608
                f"ON CONFLICT (record_id) DO UPDATE SET {changed} "
                "WHERE memory_id=excluded.memory_id AND tenant=excluded.tenant",
                tuple(row.values()),
            )
            _note_change(db, memory_id, record.record_id)

    def remove(self, memory_id: str, record_id: str) -> bool:
        """Delete a record; False if there is none."""
        with self.transaction() as db:
            count = db.execute("DELETE FROM records WHERE memory_id=? AND record_id=?", (memory_id, record_id)).rowcount
            if count:
                _note_change(db, memory_id, record_id)
        return bool(count)

    def get(self, memory_id: str, record_ids: Iterable[str]) -> dict[str, LongTermRecord]:
        """Return the records with these ids that have not expired, by id."""
        records = (
            _record(row)
            for ids, marks in _chunks(list(record_ids))
            # The plus keeps SQLite from using the index of the whole memory for a handful of ids.
            for row in self.rows(
                f"SELECT {_COLUMNS} FROM records WHERE +memory_id=? AND record_id IN ({marks}) AND {_NOT_EXPIRED}",  # noqa: S608
                (memory_id, *ids, now_ms()),
            )
        )
        return {record.record_id: record for record in records}

    def vector(self, record_id: str) -> bytes:
        """Return the stored vector of a record; empty if there is no such record."""
        rows = self.rows("SELECT vector FROM records WHERE record_id=?", (record_id,))
        return rows[0][0] if rows else b""

    def newest_first(
        self, memory_id: str, scope: Scope, *, strategy_id: str | None = None, below: int | None = None, limit: int
    ) -> list[LongTermRecord]:
        """Return records that have not expired, the last created first.

        Args:
            memory_id: The memory to read.
            scope: The namespaces to read.
            strategy_id: Only records of this strategy.
            below: Only records whose `seq` is smaller.
            limit: The largest number of records.
        """
        clause, bounds = scope.clause()
        where, values = f"memory_id=? AND {_NOT_EXPIRED} AND {clause}", [memory_id, now_ms(), *bounds]
        for condition, value in (("strategy_id=?", strategy_id), ("seq<?", below)):
            if value is not None:
                where += f" AND {condition}"
                values.append(value)
        statement = f"SELECT {_COLUMNS} FROM records WHERE {where} ORDER BY seq DESC LIMIT ?"  # noqa: S608
        return [_record(row) for row in self.rows(statement, (*values, limit))]

    def in_slot(
        self, memory_id: str, namespace: str, strategy_id: str, slot: str, *, tenant: str = ""
    ) -> list[LongTermRecord]:
        """Return the records of a slot, the oldest first; "allergy:*" is every slot that begins with "allergy:".

        Args:
            memory_id: The memory's id.
            namespace: The exact namespace.
            strategy_id: The strategy that extracted the records.
            slot: What a record is about, such as "home"; "allergy:*" is every slot that begins with "allergy:".
            tenant: The tenant of the records; empty for none.
        """
        matching, bounds = (
            ("slot>=? AND slot<?", [slot[:-1], slot[:-2] + ";"]) if slot.endswith(":*") else ("slot=?", [slot])
        )
        where = f"memory_id=? AND namespace=? AND strategy_id=? AND {matching} AND tenant=?"
        statement = f"SELECT {_COLUMNS} FROM records WHERE {where} ORDER BY seq"  # noqa: S608
        return [_record(row) for row in self.rows(statement, (memory_id, namespace, strategy_id, *bounds, tenant))]

    def vectors(self, memory_id: str, ids: Sequence[str] | None = None) -> Iterator[Sequence[Any]]:
        """Yield the searchable columns of a memory's records, in the order of their creation.

        Each has record_id, namespace, strategy_id, metadata (JSON), expires_at, vector, text and tenant.

        Args:
            memory_id: The memory to read.
            ids: Only these records; all if None.
        """
        if ids is None:
            with self._lock:
                select = f"SELECT {_VECTOR_COLUMNS} FROM records WHERE memory_id=? ORDER BY seq"  # noqa: S608
                yield from self._db.execute(select, (memory_id,))
            return
        for part, marks in _chunks(ids):
            where = f"+memory_id=? AND record_id IN ({marks}) ORDER BY seq"
            yield from self.rows(f"SELECT {_VECTOR_COLUMNS} FROM records WHERE {where}", (memory_id, *part))  # noqa: S608

    def stored_response(self, memory_id: str, token: str) -> tuple[str, str] | None:
        """Return the digest and response stored for a client token; None if the token is new."""
        rows = self.rows("SELECT request, answer FROM tokens WHERE memory_id=? AND token=?", (memory_id, token))
        return rows[0] if rows else None

    def note_answer(self, memory_id: str, token: str, request: str, answer: str) -> None:
        """Store the response to a client token for a day.

        Args:
            memory_id: The memory's id.
            token: The client token.
            request: The request or its digest: another one with the same token is refused.
            answer: The response as JSON.
        """
        with self.transaction() as db:
            db.execute("DELETE FROM tokens WHERE created_at<?", (self._expiry_ms() - _TOKEN_VALID_MS,))
            db.execute("INSERT INTO tokens VALUES (?,?,?,?,?)", (memory_id, token, request, answer, now_ms()))

    def watermark(self) -> int:
        """Return the seq of the last extracted event; 0 before the first."""
        rows = self.rows("SELECT seq FROM watermark")
        return rows[0][0] if rows else 0

    def forget_memory(self, memory_id: str) -> None:
        """Delete everything stored about a memory."""
        with self.transaction() as db:
            for table in ("records", "changes", "tokens", "cursors", "jobs"):
                db.execute(f"DELETE FROM {table} WHERE memory_id=?", (memory_id,))  # noqa: S608

    def sweep(self) -> int:
        """Delete expired records and return how many."""
        with self.transaction() as db:
            expired = db.execute(
                "SELECT memory_id, record_id FROM records WHERE expires_at<=?", (self._expiry_ms(),)
            ).fetchall()
            for memory_id, record_id in expired:
                self.remove(memory_id, record_id)
        return len(expired)

    def _expiry_ms(self) -> int:
        return int(self._expiry() * 1000)


_FIXED_COLUMNS: Final = frozenset({"memory_id", "record_id", "created_at", "tenant"})
_COLUMNS: Final = ", ".join(LongTermRecord.__dataclass_fields__)


def _note_change(db: sqlite3.Connection, memory_id: str, record_id: str) -> None:
    db.execute("INSERT OR REPLACE INTO changes (memory_id, record_id) VALUES (?,?)", (memory_id, record_id))


def _record(row: Sequence[Any]) -> LongTermRecord:
    # Field by field: a third faster than by a dictionary, and lists build many.
    return LongTermRecord(
        record_id=row[0],
        namespace=row[1],
        strategy_id=row[2],
        text=row[3],
        created_at=row[4],
        updated_at=row[5],
        metadata=json.loads(row[6]) if row[6] else {},
        expires_at=row[7],
        source_event_ids=tuple(json.loads(row[8])),
        slot=row[9],
        value=row[10],
        state=json.loads(row[11]) if row[11] else None,
        seq=row[12],
        tenant=row[13],
    )


def _chunks(ids: Sequence[str]) -> Iterator[tuple[Sequence[str], str]]:
    """Yield ids in batches within SQLite's limit, each with its placeholders."""
    for begin in range(0, len(ids), _CHUNK):
        part = ids[begin : begin + _CHUNK]
        yield part, ",".join("?" * len(part))
