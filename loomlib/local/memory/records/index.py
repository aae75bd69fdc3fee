"""Search of long-term records by meaning: exact nearest neighbours among unit vectors.

Each memory has one matrix, read at the first question and kept up to date by the store's list of changes, whichever
process wrote them. For large memories a shortlist selects candidates by a quarter of each vector's numbers: vectors are
rotated so that their strongest directions come first, and what the other directions can add to a product is at most
the product of the lengths of the two rests (Cauchy–Schwarz). A vector that stays below the k-th best even with that
addition is not among the nearest, so the result is exact.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .store import RecordsStore, Scope, now_ms

DIMENSIONS = 256
_VECTOR_BYTES = DIMENSIONS * 4
_FEWEST_ROWS = 256
_GATHERED_SHARE = 0.2  # below it the rows in question are copied together; above it the whole matrix is multiplied
_SHORTLISTED_ROWS = 4_096  # fewer rows are compared directly
_NEVER = np.iinfo(np.int64).max
_DIRECTIONS = 64
_SAMPLED = 8_192
_BLOCK = 256
_TOLERANCE = 1e-5  # float32 sums in another order differ by less
_LARGEST_SHARE = 0.1  # above it, comparing all rows is as fast

_Matrix: TypeAlias = NDArray[np.float32]
_Mask: TypeAlias = NDArray[np.bool_]
Wanted = Callable[[Mapping[str, Any]], bool]


class RecordsIndex:
    """Finds the records nearest to a query. Thread-safe."""

    def __init__(self, store: RecordsStore) -> None:
        self._store, self._lock = store, threading.Lock()
        self._memories: dict[str, _Memory] = {}

    def nearest(
        self,
        memory_id: str,
        question: _Matrix,
        scope: Scope,
        *,
        strategy_id: str | None = None,
        wanted: Wanted | None = None,
        k: int,
    ) -> list[tuple[str, float]]:
        """Find the `k` records nearest to a query.

        Args:
            memory_id: The memory to search.
            question: A unit vector of 256 numbers.
            scope: The namespaces to search.
            strategy_id: Only records of this strategy.
            wanted: Decides by a record's metadata whether it counts.
            k: The largest number of records.

        Returns:
            Ids and cosines, the best first; records with equal cosines are ordered by id.
        """
        with self._lock:
            memory = self._memories.setdefault(memory_id, _Memory())
        with memory.lock:
            memory.catch_up(self._store, memory_id)
            return memory.nearest(question, scope, strategy_id, wanted, k)

    def forget_memory(self, memory_id: str) -> None:
        """Drop the matrix of a deleted memory."""
        with self._lock:
            self._memories.pop(memory_id, None)


class _Memory:
    """The vectors of one memory: row i of every column is the same record; a free row expired at 0."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._change = -1
        self._rows: dict[str, int] = {}
        self._free: list[int] = []
        self._namespaces: dict[str, int] = {}
        self._strategies: dict[str, int] = {}
        self._ids: list[str] = []
        self._metadata: list[str | None] = []
        self._vectors = np.zeros((0, DIMENSIONS), dtype=np.float32)
        self._namespace_of = self._strategy_of = np.zeros(0, dtype=np.int32)
        self._expires = np.zeros(0, dtype=np.int64)
        self._grow(_FEWEST_ROWS)

    def _grow(self, capacity: int) -> None:
        added = capacity - len(self._expires)
        self._vectors = np.concatenate([self._vectors, np.zeros((added, DIMENSIONS), dtype=np.float32)])
        self._namespace_of = np.concatenate([self._namespace_of, np.zeros(added, dtype=np.int32)])
        self._strategy_of = np.concatenate([self._strategy_of, np.zeros(added, dtype=np.int32)])
        self._expires = np.concatenate([self._expires, np.zeros(added, dtype=np.int64)])
        self._shortlist: Shortlist | None = None
        self._listed = 0

    def catch_up(self, store: RecordsStore, memory_id: str) -> None:
        """Apply the changes in the store since the last query."""
        if self._change < 0:
            ((newest,),) = store.rows("SELECT COALESCE(MAX(change), 0) FROM changes")
            ((count,),) = store.rows("SELECT COUNT(*) FROM records WHERE memory_id=?", (memory_id,))
            self._grow(max(len(self._expires), count + count // 8))
            self._take(store.vectors(memory_id))
            self._change = newest  # a change made meanwhile is read once more, which does no harm
            return
        changed = store.rows(
            "SELECT change, record_id FROM changes WHERE memory_id=? AND change>? ORDER BY change",
            (memory_id, self._change),
        )
        if not changed:
            return
        ids = [record_id for _, record_id in changed]
        present = self._take(store.vectors(memory_id, ids))
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
        self, question: _Matrix, scope: Scope, strategy_id: str | None, wanted: Wanted | None, k: int
    ) -> list[tuple[str, float]]:
        """See `RecordsIndex.nearest`."""
        size = len(self._ids)
        asked = self._expires[:size] > now_ms()
        codes = np.fromiter((scope.holds(namespace) for namespace in self._namespaces), dtype=np.bool_)
        if not codes.any():
            return []
        if not codes.all():
            asked &= codes[self._namespace_of[:size]]
        if strategy_id is not None:
            asked &= self._strategy_of[:size] == self._strategies.get(strategy_id, -1)
        candidates = self._candidates(question, asked, k) if wanted is None else None
        rows = np.flatnonzero(asked) if candidates is None else candidates
        if rows.size < size * _GATHERED_SHARE:
            scores = self._vectors[rows] @ question
        else:
            scores = (self._vectors[:size] @ question)[rows]
        if wanted is None and rows.size > k:
            best = np.argpartition(scores, rows.size - k)[rows.size - k :]
            # Everything that ties with the last one is included, so that the order by id decides among them.
            best = np.flatnonzero(scores >= scores[best].min())
            rows, scores = rows[best], scores[best]
        ranked: list[tuple[float, str]] = []
        for place in np.argsort(-scores):
            row, score = int(rows[place]), float(scores[place])
            if len(ranked) >= k and score < -ranked[-1][0]:
                break
            if wanted is None or wanted(json.loads(self._metadata[row] or "{}")):
                ranked.append((-score, self._ids[row]))
        return [(record_id, -negative) for negative, record_id in sorted(ranked)[:k]]

    def _candidates(self, question: _Matrix, wanted: _Mask, k: int) -> NDArray[np.intp] | None:
        """Return the rows worth comparing; None if all requested rows are."""
        if np.count_nonzero(wanted) < _SHORTLISTED_ROWS:
            return None
        if self._shortlist is None or len(wanted) > 2 * self._listed:
            # Made for the whole capacity, so that rows to come have a place.
            self._shortlist, self._listed = Shortlist(self._vectors), len(wanted)
        return self._shortlist.rows(self._vectors, question, wanted, k)


class Shortlist:
    """The strongest directions of `vectors`, row by row; recomputed when the number of rows has doubled."""

    def __init__(self, vectors: _Matrix) -> None:
        sample = vectors[:: max(1, len(vectors) // _SAMPLED)]
        # The eigenvalues of eigh ascend: the last columns are the strongest directions.
        rotation = np.linalg.eigh(sample.T @ sample)[1]
        self._directions = np.ascontiguousarray(rotation[:, -_DIRECTIONS:], dtype=np.float32)
        self._kept = vectors @ self._directions
        self._rest = _rest(vectors, self._kept)

    def put(self, row: int, vector: _Matrix) -> None:
        """Update the row of a vector that changed."""
        self._kept[row] = vector @ self._directions
        self._rest[row] = _rest(vector, self._kept[row])

    def rows(self, vectors: _Matrix, question: _Matrix, wanted: _Mask, k: int) -> NDArray[np.intp] | None:
        """Return the rows among `asked` that may be one of the `k` nearest, ties included; None if they are too many.

        Args:
            vectors: The whole matrix.
            question: A unit vector.
            wanted: Which rows count.
            k: How many nearest rows are wanted.
        """
        size = len(wanted)
        projected = question @ self._directions
        reach = self._kept[:size] @ projected
        reach += self._rest[:size] * _rest(question, projected)
        reach[~wanted] = -np.inf
        # The best of each block stand for the best of all: they are k real rows, so the threshold is never too high.
        whole = size // _BLOCK * _BLOCK
        tops = reach[:whole].reshape(-1, _BLOCK).argmax(axis=1) + np.arange(0, whole, _BLOCK)
        tops = tops[reach[tops] > -np.inf]
        if tops.size < k:
            return None
        scores = np.partition(vectors[tops] @ question, tops.size - k)
        rows = np.flatnonzero(reach >= scores[tops.size - k] - _TOLERANCE)
        return rows if rows.size <= max(_BLOCK, size * _LARGEST_SHARE) else None


def _rest(vectors: _Matrix, projected: _Matrix) -> _Matrix:
    """Return the lengths of what the strongest directions leave out."""
    return np.sqrt(np.maximum(0, (vectors**2).sum(axis=-1) - (projected**2).sum(axis=-1)))
