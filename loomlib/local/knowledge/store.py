"""`knowledge.db`: documents and chunks of knowledge bases, and the index that answers questions about them."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from loomlib.embeddings import embed

from .chunking import DocumentChunk

if TYPE_CHECKING:
    from .index import KnowledgeIndex

FILE_NAME: Final = "knowledge.db"
_SCHEMA: Final = """
PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;
CREATE TABLE IF NOT EXISTS documents (
    number INTEGER PRIMARY KEY AUTOINCREMENT, base TEXT NOT NULL, source TEXT NOT NULL, address TEXT NOT NULL,
    kind TEXT NOT NULL, digest TEXT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL, metadata JSON NOT NULL,
    updated_at REAL NOT NULL, UNIQUE (base, source, address));
CREATE TABLE IF NOT EXISTS chunks (
    number INTEGER PRIMARY KEY AUTOINCREMENT, base TEXT NOT NULL,
    document INTEGER NOT NULL REFERENCES documents (number) ON DELETE CASCADE, text TEXT NOT NULL, shown TEXT,
    vector BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS chunks_of_base ON chunks (base);
CREATE INDEX IF NOT EXISTS chunks_of_document ON chunks (document);
CREATE TABLE IF NOT EXISTS jobs (
    id TEXT PRIMARY KEY, base TEXT NOT NULL, source TEXT NOT NULL, token TEXT NOT NULL, status TEXT NOT NULL,
    description TEXT NOT NULL, statistics JSON NOT NULL, reasons JSON NOT NULL, started_at REAL NOT NULL,
    updated_at REAL NOT NULL);
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDocument:
    """A document of a data source as it was indexed; `kind` is S3 or CUSTOM."""

    number: int
    source: str
    address: str
    kind: str
    digest: str
    status: str
    reason: str
    metadata: Mapping[str, Any]
    updated_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedPassage:
    """A chunk that answers a question, with a score between 0 and 1."""

    chunk: int
    text: str
    score: float
    document: StoredDocument


class GoneError(Exception):
    """The data source or the knowledge base of a document was deleted."""


class KnowledgeStore:
    """The open database. Thread-safe."""

    def __init__(self, home: Path) -> None:
        self._lock = threading.RLock()
        self._db = sqlite3.connect(home / FILE_NAME, check_same_thread=False, isolation_level=None)
        self._db.row_factory = sqlite3.Row
        self._db.executescript(_SCHEMA)
        self._indexes: dict[str, tuple[KnowledgeIndex, dict[int, StoredDocument]]] = {}
        self._gone: set[tuple[str, str | None]] = set()
        self._db.execute(
            "UPDATE jobs SET status='FAILED', reasons=? WHERE status IN ('STARTING', 'IN_PROGRESS')",
            (json.dumps(["The local AgentCore ended while the job ran; start it again"]),),
        )

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    # Documents

    def documents(self, base: str, source: str | None = None) -> list[StoredDocument]:
        """Return the documents of a knowledge base, or of one data source, by address."""
        with self._lock:
            rows = self._db.execute(
                "SELECT * FROM documents WHERE base=? AND (? IS NULL OR source=?) ORDER BY address",
                (base, source, source),
            )
            return [_document(row) for row in rows]

    def put(
        self,
        base: str,
        source: str,
        address: str,
        *,
        kind: str,
        digest: str,
        metadata: Mapping[str, Any],
        chunks: Sequence[DocumentChunk],
        failure: str = "",
    ) -> None:
        """Replace a document and its chunks.

        Args:
            base: The id of the knowledge base.
            source: The id of the data source.
            address: The document's address.
            kind: S3 or CUSTOM.
            digest: The digest of its content and its metadata.
            metadata: Its attributes.
            chunks: Its chunks; empty for a failed document.
            failure: Why it could not be indexed.

        Raises:
            GoneError: The data source or the knowledge base was deleted.
        """
        vectors = embed([chunk.text for chunk in chunks]) if chunks else None
        values = (kind, digest, "FAILED" if failure else "INDEXED", failure, json.dumps(metadata), time.time())
        rows: list[tuple[int | None, int, str, bytes]] = []
        with self._lock:
            self._check_present(base, source)
            with self._transaction():
                former = self._db.execute(
                    "DELETE FROM documents WHERE base=? AND source=? AND address=? RETURNING number",
                    (base, source, address),
                ).fetchall()
                document = self._db.execute(
                    "INSERT INTO documents (base, source, address, kind, digest, status, reason, metadata, updated_at) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING *",
                    (base, source, address, *values),
                ).fetchall()[0]
                for at, chunk in enumerate(chunks):
                    vector = vectors[at].tobytes() if vectors is not None else b""
                    display_text = chunk.shown if chunk.shown != chunk.text else None
                    number = self._db.execute(
                        "INSERT INTO chunks (base, document, text, shown, vector) VALUES (?, ?, ?, ?, ?)",
                        (base, document["number"], chunk.text, display_text, vector),
                    ).lastrowid
                    rows.append((number, document["number"], chunk.text, vector))
            self._reindex(base, [row["number"] for row in former], [_document(document)], rows)

    def remove(self, base: str, source: str | None = None, addresses: Iterable[str] | None = None) -> int:
        """Remove documents and return how many there were.

        Args:
            base: The id of the knowledge base.
            source: Only those of this data source.
            addresses: Only these; all when None.
        """
        selected_addresses = None if addresses is None else set(addresses)
        with self._lock:
            numbers = [
                item.number
                for item in self.documents(base, source)
                if selected_addresses is None or item.address in selected_addresses
            ]
            with self._transaction():
                self._db.executemany("DELETE FROM documents WHERE number=?", [(number,) for number in numbers])
            self._reindex(base, numbers)
        return len(numbers)

    def forget(self, base: str, source: str | None = None, *, keeps_documents: bool = False) -> None:
        """Remove all of a deleted knowledge base or data source, and accept nothing more for it.

        Args:
            base: The id of the knowledge base.
            source: The id of the data source; None when the knowledge base was deleted.
            keeps_documents: Whether its documents remain.
        """
        with self._lock:
            self._gone.add((base, source))
            if not keeps_documents:
                self.remove(base, source)
            self._db.execute("DELETE FROM jobs WHERE base=? AND (? IS NULL OR source=?)", (base, source, source))

    def _check_present(self, base: str, source: str) -> None:
        if not self._gone.isdisjoint({(base, None), (base, source)}):
            raise GoneError(f"The data source {source} of {base} was deleted")

    # Jobs

    def put_job(self, job: Mapping[str, Any]) -> None:
        """Store an ingestion job; `statistics` and `reasons` become JSON.

        Raises:
            GoneError: The data source or the knowledge base was deleted.
        """
        values = {**job, **{name: json.dumps(job[name]) for name in ("statistics", "reasons")}}
        with self._lock:
            self._check_present(job["base"], job["source"])
            self._db.execute(
                f"INSERT OR REPLACE INTO jobs ({', '.join(values)}) "  # noqa: S608 - the columns are in this file
                f"VALUES ({', '.join(f':{name}' for name in values)})",
                values,
            )

    def jobs(self, base: str, source: str) -> list[dict[str, Any]]:
        """Return the ingestion jobs of a data source, the newest first."""
        with self._lock:
            rows = self._db.execute(
                "SELECT * FROM jobs WHERE base=? AND source=? ORDER BY started_at DESC, id", (base, source)
            ).fetchall()
        return [
            {**dict(row), "statistics": json.loads(row["statistics"]), "reasons": json.loads(row["reasons"])}
            for row in rows
        ]

    # Search

    def search(
        self,
        base: str,
        question: str,
        *,
        k: int,
        hybrid: bool = True,
        wanted: Callable[[Mapping[str, Any]], bool] | None = None,
    ) -> list[RankedPassage]:
        """Return the passages that best answer a question.

        Args:
            base: The id of the knowledge base.
            question: The question.
            k: The largest number of passages. Chunks of one parent count once.
            hybrid: Whether words count beside meaning.
            wanted: Decides by a document's metadata whether it counts.
        """
        with self._lock:
            index, documents = self._index(base)
            matching_numbers = None
            if wanted is not None:
                matching_numbers = {number for number, item in documents.items() if wanted(item.metadata)}
            passages: list[RankedPassage] = []
            seen_passages: set[tuple[int, str]] = set()
            for chunk, score in index.ranked(question, matching_numbers, hybrid=hybrid):
                if len(passages) == k:
                    break
                row = self._db.execute(
                    "SELECT document, coalesce(shown, text) AS passage FROM chunks WHERE number=?", (chunk,)
                ).fetchone()
                if (key := (row["document"], row["passage"])) not in seen_passages:
                    seen_passages.add(key)
                    document = documents[row["document"]]
                    passages.append(RankedPassage(chunk=chunk, text=row["passage"], score=score, document=document))
        return passages

    def _index(self, base: str) -> tuple[KnowledgeIndex, dict[int, StoredDocument]]:
        """Return a knowledge base's chunks, and its documents by number."""
        if base not in self._indexes:
            from .index import KnowledgeIndex  # numpy takes 0.1 s to load, so only when needed

            rows = self._db.execute(
                "SELECT number, document, text, vector FROM chunks WHERE base=? ORDER BY number", (base,)
            )
            index = KnowledgeIndex()
            index.add(map(tuple, rows))
            self._indexes[base] = index, {item.number: item for item in self.documents(base)}
        return self._indexes[base]

    def _reindex(
        self,
        base: str,
        removed_numbers: Sequence[int],
        documents: Sequence[StoredDocument] = (),
        rows: Sequence[tuple[int | None, int, str, bytes]] = (),
    ) -> None:
        """Apply a change of documents to the index of a knowledge base, if one is loaded."""
        if base not in self._indexes:
            return
        index, indexed_documents = self._indexes[base]
        index.remove(removed_numbers)
        index.add(rows)
        for number in removed_numbers:
            indexed_documents.pop(number, None)
        indexed_documents.update((document.number, document) for document in documents)
        if index.is_sparse:
            del self._indexes[base]

    @contextlib.contextmanager
    def _transaction(self) -> Generator[None]:
        with self._db:  # commits or rolls back, also where the commit fails or SQLite has rolled back itself
            self._db.execute("BEGIN IMMEDIATE")
            yield


def _document(row: sqlite3.Row) -> StoredDocument:
    return StoredDocument(
        number=row["number"],
        source=row["source"],
        address=row["address"],
        kind=row["kind"],
        digest=row["digest"],
        status=row["status"],
        reason=row["reason"],
        metadata=json.loads(row["metadata"]),
        updated_at=row["updated_at"],
    )
