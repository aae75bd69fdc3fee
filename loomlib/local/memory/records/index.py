"""Hybrid search of long-term records: semantic (cosine similarity of unit vectors) and keyword (BM25).

Each memory has one matrix, read at the first question and kept up to date by the store's list of changes, whichever
process wrote them. For large memories a shortlist selects candidates by a quarter of each vector's numbers.

Meaning and words are fused by a convex combination of the cosine and the BM25 score in units of the best one, which
holds up better than reciprocal ranks (Bruch, Gai & Ingber, An Analysis of Fusion Functions for Hybrid Retrieval, ACM
TOIS 42:1, 2023). Records that were created one after the other in a namespace come from one stretch of a conversation,
so a record's score rises with the scores of its neighbours. `tests/benchmarks/bench_locomo.py` measures what each of
these adds on public conversations.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .shortlist import GATHERED_SHARE, Shortlist
from .store import RecordsStore, Scope, now_ms
from .words import WordIndex, words_of

DIMENSIONS = 256
_VECTOR_BYTES = DIMENSIONS * 4
_FEWEST_ROWS = 256
_SHORTLISTED_ROWS = 4_096  # fewer rows are compared directly
_NEVER = np.iinfo(np.int64).max

WORDS_SHARE = 0.6
"""Weight of the words; the meaning has the remaining weight."""
NEIGHBOUR_SHARE = 0.4
"""The share of the difference to 1 that each neighbour's score adds. At most 0.5, or a score could exceed 1."""
LEAST_COVERAGE = 0.3
"""Share of the largest possible BM25 score that the best must reach to count in full: a common word alone does not."""
_GROUPS_FOR_EACH = 4
_COMPARED = 512  # rows of a large memory whose cosines are computed exactly

_Matrix: TypeAlias = NDArray[np.float32]
_Mask: TypeAlias = NDArray[np.bool_]
_Scores: TypeAlias = NDArray[np.floating[Any]]
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

    def search(
        self,
        memory_id: str,
        text: str,
        question: _Matrix,
        scope: Scope,
        *,
        strategy_id: str | None = None,
        wanted: Wanted | None = None,
        k: int,
    ) -> list[tuple[str, float]]:
        """Find the `k` records that answer a question best, by meaning, words and neighbours.

        Args:
            memory_id: The memory to search.
            text: The question.
            question: Its unit vector.
            scope: The namespaces to search.
            strategy_id: Only records of this strategy.
            wanted: Decides by a record's metadata whether it counts.
            k: The largest number of records.

        Returns:
            Ids and scores between 0 and 1, the best first; records with equal scores are ordered by id.
        """
        with self._lock:
            memory = self._memories.setdefault(memory_id, _Memory())
        with memory.lock:
            memory.catch_up(self._store, memory_id)
            return memory.search(words_of(text), question, scope, strategy_id, wanted, k)

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
        self._namespaces: dict[tuple[str, str], int] = {}  # with the tenant: records of two tenants are not neighbours
        self._strategies: dict[str, int] = {}
        self._ids: list[str] = []
        self._metadata: list[str | None] = []
        self._vectors = np.zeros((0, DIMENSIONS), dtype=np.float32)
        self._namespace_of = self._strategy_of = np.zeros(0, dtype=np.int32)
        self._expires = np.zeros(0, dtype=np.int64)
        self._words = WordIndex()
        # The rows created before and after each one in its namespace and strategy; -1 for none.
        self._before = self._after = np.zeros(0, dtype=np.int32)
        self._last: dict[tuple[int, int], int] = {}
        self._grow(_FEWEST_ROWS)

    def _grow(self, capacity: int) -> None:
        added = capacity - len(self._expires)
        self._vectors = np.concatenate([self._vectors, np.zeros((added, DIMENSIONS), dtype=np.float32)])
        self._namespace_of = np.concatenate([self._namespace_of, np.zeros(added, dtype=np.int32)])
        self._strategy_of = np.concatenate([self._strategy_of, np.zeros(added, dtype=np.int32)])
        self._expires = np.concatenate([self._expires, np.zeros(added, dtype=np.int64)])
        self._before = np.concatenate([self._before, np.full(added, -1, dtype=np.int32)])
        self._after = np.concatenate([self._after, np.full(added, -1, dtype=np.int32)])
        self._shortlist: Shortlist | None = None
        self._listed = 0

    def catch_up(self, store: RecordsStore, memory_id: str) -> None:
        """Apply the changes in the store since the last query."""
        if self._change < 0:
            ((newest,),) = store.rows("SELECT COALESCE(MAX(change), 0) FROM changes")
            ((count,),) = store.rows("SELECT COUNT(*) FROM records WHERE memory_id=?", (memory_id,))
            self._grow(max(len(self._expires), count + count // 8))
            self._take(store.vectors(memory_id))
            self._change = newest  # a concurrent change is read again, which is harmless
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
                self._words.remove(row)
                self._unlink(row)
                self._free.append(row)
        self._change = changed[-1][0]

    def _take(self, rows: Iterator[Sequence[Any]]) -> set[str]:
        present: set[str] = set()
        for record_id, namespace, strategy_id, metadata, expires_at, vector, text, tenant in rows:
            present.add(record_id)
            place = (
                self._namespaces.setdefault((namespace, tenant), len(self._namespaces)),
                self._strategies.setdefault(strategy_id, len(self._strategies)),
            )
            row = self._rows.get(record_id)
            if row is None:
                row = self._rows[record_id] = self._new_row()
                self._link(row, place)
            elif place != (self._namespace_of[row], self._strategy_of[row]):
                self._unlink(row)
                self._link(row, place)
            self._words.put(row, text)
            self._ids[row], self._metadata[row] = record_id, metadata
            self._vectors[row] = np.frombuffer(vector, dtype="<f4") if len(vector) == _VECTOR_BYTES else 0
            if self._shortlist is not None:
                self._shortlist.put(row, self._vectors[row])
            self._namespace_of[row], self._strategy_of[row] = place
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

    def _link(self, row: int, place: tuple[int, int]) -> None:
        """Put a row behind the last one of its namespace and strategy."""
        last = self._last.get(place, -1)
        self._before[row], self._after[row] = last, -1
        if last >= 0:
            self._after[last] = row
        self._last[place] = row

    def _unlink(self, row: int) -> None:
        before, after = int(self._before[row]), int(self._after[row])
        if before >= 0:
            self._after[before] = after
        if after >= 0:
            self._before[after] = before
        else:
            place = (int(self._namespace_of[row]), int(self._strategy_of[row]))
            if before >= 0:
                self._last[place] = before
            else:
                self._last.pop(place, None)
        self._before[row] = self._after[row] = -1

    def _live_rows(self, scope: Scope, strategy_id: str | None) -> _Mask:
        """Return a mask of the rows that have not expired and are in the scope."""
        size = len(self._ids)
        row_mask = self._expires[:size] > now_ms()
        codes = np.fromiter((scope.holds(*place) for place in self._namespaces), dtype=np.bool_)
        if not codes.all():
            row_mask &= codes[self._namespace_of[:size]]
        if strategy_id is not None:
            row_mask &= self._strategy_of[:size] == self._strategies.get(strategy_id, -1)
        return row_mask

    def search(
        self,
        words: Sequence[str],
        question: _Matrix,
        scope: Scope,
        strategy_id: str | None,
        wanted: Wanted | None,
        k: int,
    ) -> list[tuple[str, float]]:
        """See `RecordsIndex.search`."""
        row_mask = self._live_rows(scope, strategy_id)
        rows = np.flatnonzero(row_mask)
        if not rows.size:
            return []
        lexical, largest = self._words.scores(words, row_mask)
        best = max(float(lexical.max()), LEAST_COVERAGE * largest)
        if best:
            lexical *= WORDS_SHARE / best
        own = np.zeros(len(row_mask) + 1, dtype=np.float32)  # the last one stands for a neighbour that does not exist
        if rows.size < _SHORTLISTED_ROWS:
            own[rows] = _own(lexical[rows], self._vectors[rows] @ question)
        else:
            # A slice is a view; an array of indices copies, and half the time of a question would be copies.
            chosen = slice(rows.size) if rows.size == len(row_mask) else rows
            own[chosen] = _own(
                lexical[chosen], self._listed_rows(len(row_mask)).approximate(question, rows, len(row_mask))
            )
            if wanted is None:
                rows = rows[_best(self._with_neighbours(own, chosen), _COMPARED)]
            # The strongest directions alone chose the rows; they and their neighbours are now compared exactly.
            near = np.zeros(len(own), dtype=np.bool_)
            near[rows] = near[self._before[rows]] = near[self._after[rows]] = True
            near[:-1] &= row_mask
            exact = np.flatnonzero(near[:-1])
            own[exact] = _own(lexical[exact], self._vectors[exact] @ question)
        scores = self._with_neighbours(own, rows)
        if wanted is None and rows.size > k:
            top = _best(scores, k)
            rows, scores = rows[top], scores[top]
        return self._ranked(rows, scores, wanted, k)

    def _with_neighbours(self, own: _Matrix, rows: NDArray[np.intp] | slice) -> _Scores:
        """Return the scores of some rows, raised by their neighbours' scores."""
        mine = own[rows]
        added = np.take(own, self._before[rows], mode="wrap")  # the last score stands at -1
        added += np.take(own, self._after[rows], mode="wrap")
        added *= NEIGHBOUR_SHARE * (1 - mine)
        added += mine
        return added

    def nearest(
        self, question: _Matrix, scope: Scope, strategy_id: str | None, wanted: Wanted | None, k: int
    ) -> list[tuple[str, float]]:
        """See `RecordsIndex.nearest`."""
        size = len(self._ids)
        row_mask = self._live_rows(scope, strategy_id)
        if not row_mask.any():
            return []
        candidates = self._candidates(question, row_mask, k) if wanted is None else None
        rows = np.flatnonzero(row_mask) if candidates is None else candidates
        if rows.size < size * GATHERED_SHARE:
            scores = self._vectors[rows] @ question
        else:
            scores = (self._vectors[:size] @ question)[rows]
        if wanted is None and rows.size > k:
            top = _best(scores, k)
            rows, scores = rows[top], scores[top]
        return self._ranked(rows, scores, wanted, k)

    def _ranked(
        self, rows: NDArray[np.intp], scores: _Scores, wanted: Wanted | None, k: int
    ) -> list[tuple[str, float]]:
        """Return the ids and scores of the `k` best rows that are wanted."""
        ranked: list[tuple[float, str]] = []
        for place in np.argsort(-scores):
            row, score = int(rows[place]), float(scores[place])
            if len(ranked) >= k and score < -ranked[-1][0]:
                break
            if wanted is None or wanted(json.loads(self._metadata[row] or "{}")):
                ranked.append((-score, self._ids[row]))
        return [(record_id, -negative) for negative, record_id in sorted(ranked)[:k]]

    def _candidates(self, question: _Matrix, row_mask: _Mask, k: int) -> NDArray[np.intp] | None:
        """Return the rows worth comparing; None if all requested rows are."""
        if np.count_nonzero(row_mask) < _SHORTLISTED_ROWS:
            return None
        return self._listed_rows(len(row_mask)).rows(self._vectors, question, row_mask, k)

    def _listed_rows(self, size: int) -> Shortlist:
        """Return a shortlist with at least this number of rows."""
        if self._shortlist is None or size > 2 * self._listed:
            # Created for the whole capacity, so that later rows have a place.
            self._shortlist, self._listed = Shortlist(self._vectors), size
        return self._shortlist


def _best(scores: _Scores, k: int) -> NDArray[np.intp]:
    """Return the places of the `k` best scores, with all that tie with the last of them."""
    places, groups = None, _GROUPS_FOR_EACH * k
    if scores.size > _GROUPS_FOR_EACH * groups:
        # The tops of k groups are k of the scores, so none of the k best is below the last of those tops.
        tops = scores[: scores.size // groups * groups].reshape(-1, groups).max(axis=0)
        places = np.flatnonzero(scores >= _kth(tops, k))
        scores = scores[places]
    best = np.flatnonzero(scores >= _kth(scores, k))
    return best if places is None else places[best]


def _kth(scores: _Scores, k: int) -> np.floating[Any]:
    return np.partition(scores, scores.size - k)[scores.size - k]


def _own(lexical: _Matrix, cosines: _Scores) -> _Scores:
    """Return scores from words and meaning; `lexical` has its weight already."""
    return lexical + (1 - WORDS_SHARE) * np.maximum(cosines, 0)
