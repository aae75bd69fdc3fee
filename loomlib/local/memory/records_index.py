"""The nearest records to a question: one matrix of unit vectors a memory, read at the first question and kept up to
date by the store's list of changes, whichever process wrote them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .records_shortlist import Shortlist
from .records_store import RecordsStore, Scope, now_ms, vector_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

DIMENSIONS = 256
_VECTOR_BYTES = DIMENSIONS * 4
_FEWEST_ROWS = 256
_GATHERED_SHARE = 0.2  # below it the rows in question are copied together; above it the whole matrix is multiplied
_SHORTLISTED_ROWS = 4_096  # fewer are compared at once
_NEVER = np.iinfo(np.int64).max

Wanted = Callable[[Mapping[str, Any]], bool]


class RecordsIndex:
    """Finds by likeness. Any thread may ask."""

    def __init__(self, store: RecordsStore) -> None:
        self._store, self._lock = store, threading.Lock()
        self._memories: dict[str, _Memory] = {}

    def nearest(
        self,
        memory_id: str,
        question: NDArray[np.float32],
        scope: Scope,
        *,
        strategy_id: str | None = None,
        wanted: Wanted | None = None,
        k: int,
    ) -> list[tuple[str, float]]:
        """Ids and cosines of the `k` records nearest to `question`, best first, equals by id."""
        with self._lock:
            memory = self._memories.setdefault(memory_id, _Memory())
        with memory.lock:
            memory.catch_up(self._store, memory_id)
            return memory.nearest(question, scope, strategy_id, wanted, k)

    def forget_memory(self, memory_id: str) -> None:
        with self._lock:
            self._memories.pop(memory_id, None)


class _Memory:
    """One memory's vectors: row i of every column is the same record; a row without a record expired at 0."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._change = -1
        self._rows: dict[str, int] = {}
        self._free: list[int] = []
        self._namespaces: dict[str, int] = {}
        self._strategies: dict[str, int] = {}
        self._ids: list[str] = []
        self._metadata: list[str | None] = []
        self._grow(_FEWEST_ROWS, first=True)

    def _grow(self, capacity: int, *, first: bool = False) -> None:
        vectors = np.zeros((capacity, DIMENSIONS), dtype=np.float32)
        namespaces, strategies = np.zeros(capacity, dtype=np.int32), np.zeros(capacity, dtype=np.int32)
        expires = np.zeros(capacity, dtype=np.int64)
        if not first:
            size = len(self._expires)
            vectors[:size], namespaces[:size] = self._vectors, self._namespace_of
            strategies[:size], expires[:size] = self._strategy_of, self._expires
        self._vectors, self._namespace_of, self._strategy_of, self._expires = vectors, namespaces, strategies, expires
        self._shortlist: Shortlist | None = None
        self._listed = 0

    def catch_up(self, store: RecordsStore, memory_id: str) -> None:
        with store.reading() as db:
            if self._change < 0:
                newest = db.execute("SELECT COALESCE(MAX(change), 0) FROM changes").fetchone()[0]
                count = db.execute("SELECT COUNT(*) FROM records WHERE memory_id=?", (memory_id,)).fetchone()[0]
                self._grow(max(_FEWEST_ROWS, count + count // 8))
                self._take(vector_rows(db, memory_id))
                self._change = newest  # a change made while reading is read once more, which does no harm
                return
            changed = db.execute(
                "SELECT change, record_id FROM changes WHERE memory_id=? AND change>? ORDER BY change",
                (memory_id, self._change),
            ).fetchall()
            if not changed:
                return
            ids = [record_id for _, record_id in changed]
            present = self._take(vector_rows(db, memory_id, ids))
            for record_id in ids:
                if record_id not in present and (row := self._rows.pop(record_id, None)) is not None:
                    self._expires[row], self._metadata[row] = 0, None
                    self._free.append(row)
            self._change = changed[-1][0]

    def _take(self, rows: Iterator[Sequence[Any]]) -> set[str]:
        present: set[str] = set()
        for record_id, namespace, strategy_id, metadata, expires_at, vector in rows:
            present.add(record_id)
            row = self._rows.get(record_id)
            if row is None:
                row = self._rows[record_id] = self._new_row()
            self._ids[row], self._metadata[row] = record_id, metadata
            self._vectors[row] = np.frombuffer(vector, dtype="<f4") if len(vector) == _VECTOR_BYTES else 0
            if self._shortlist is not None:
                self._shortlist.put(row, self._vectors[row])
            self._namespace_of[row] = self._namespaces.setdefault(namespace, len(self._namespaces))
            self._strategy_of[row] = self._strategies.setdefault(strategy_id, len(self._strategies))
            self._expires[row] = _NEVER if expires_at is None else expires_at
        return present

    def _new_row(self) -> int:
        if self._free:
            return self._free.pop()
        self._ids.append("")
        self._metadata.append(None)
        if len(self._ids) > len(self._expires):
            self._grow(2 * len(self._expires))
        return len(self._ids) - 1

    def nearest(
        self, question: NDArray[np.float32], scope: Scope, strategy_id: str | None, wanted: Wanted | None, k: int
    ) -> list[tuple[str, float]]:
        size = len(self._ids)
        asked = self._expires[:size] > now_ms()
        codes = np.fromiter((scope.holds(each) for each in self._namespaces), dtype=np.bool_)
        if not codes.any():
            return []
        if not codes.all():
            asked &= codes[self._namespace_of[:size]]
        if strategy_id is not None:
            asked &= self._strategy_of[:size] == self._strategies.get(strategy_id, -1)
        few = self._few(question, asked, k) if wanted is None else None
        rows = np.flatnonzero(asked) if few is None else few
        if rows.size < size * _GATHERED_SHARE:
            scores = self._vectors[rows] @ question
        else:
            scores = (self._vectors[:size] @ question)[rows]
        if wanted is None and rows.size > k:
            best = np.argpartition(scores, rows.size - k)[rows.size - k :]
            # All that tie with the last one come along, so that the order by id decides among them.
            best = np.flatnonzero(scores >= scores[best].min())
            rows, scores = rows[best], scores[best]
        found: list[tuple[float, str]] = []
        for place in np.argsort(-scores):
            row, score = int(rows[place]), float(scores[place])
            if len(found) >= k and score < -found[-1][0]:
                break
            if wanted is None or wanted(json.loads(self._metadata[row] or "{}")):
                found.append((-score, self._ids[row]))
        return [(record_id, -negative) for negative, record_id in sorted(found)[:k]]

    def _few(self, question: NDArray[np.float32], asked: NDArray[np.bool_], k: int) -> NDArray[np.intp] | None:
        """The rows that are worth comparing, None when that is all of those asked for."""
        size = len(asked)
        if np.count_nonzero(asked) < _SHORTLISTED_ROWS:
            return None
        if self._shortlist is None or size > 2 * self._listed:
            # Made for as many rows as there may be, so that those to come have a place.
            self._shortlist, self._listed = Shortlist(self._vectors), size
        return self._shortlist.rows(self._vectors, question, asked, k)
