"""The chunks of one knowledge base in memory, ranked for a question by meaning and by words."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from loomlib.embeddings import DIMENSIONS, embed

from ..memory.records.words import WordIndex, words_of

_WORDS_SHARE: Final = 0.5
"""Weight of the keyword (BM25) score in a hybrid search; the semantic (cosine) score has the remaining weight."""
_LEAST_COVERAGE: Final = 0.3
"""Share of the largest possible BM25 score at and above which the best score counts in full."""
_FIRST: Final = 256  # rows that are sorted at first; few questions need more


class KnowledgeIndex:
    """The chunks of a knowledge base; the cost of a change is proportional to the chunks of the changed document."""

    def __init__(self) -> None:
        self._words = WordIndex()
        self._numbers, self._documents = array("q"), array("q")  # by row; the document of a removed chunk is 0
        self._rows_of: dict[int, list[int]] = {}
        self._vectors = np.empty((0, DIMENSIONS), dtype=np.float32)
        self._added: list[bytes] = []  # vectors that the next question appends
        self._live = 0

    def add(self, rows: Iterable[Sequence[Any]]) -> None:
        """Add chunks.

        Args:
            rows: For each chunk: its number, its document's number, its text, and its vector as bytes.
        """
        for number, document, text, vector in rows:
            row = len(self._numbers)
            self._words.put(row, text)
            self._rows_of.setdefault(document, []).append(row)
            self._numbers.append(number)
            self._documents.append(document)
            self._added.append(vector)
            self._live += 1

    def remove(self, documents: Iterable[int]) -> None:
        """Remove the chunks of documents.

        Args:
            documents: The documents' numbers.
        """
        for document in documents:
            for row in self._rows_of.pop(document, ()):
                self._words.remove(row)
                self._documents[row] = 0
                self._live -= 1

    @property
    def is_sparse(self) -> bool:
        """Whether most chunks were removed, so that rebuilding the index saves memory."""
        return self._live < len(self._numbers) // 2

    def ranked(self, question: str, documents: set[int] | None, *, hybrid: bool) -> Iterator[tuple[int, float]]:
        """Yield chunks and their scores between 0 and 1, the best first.

        Args:
            question: The question.
            documents: Only chunks of these documents; all when None.
            hybrid: Whether the keyword score counts in addition to the semantic score.
        """
        if not self._live:
            return
        if self._added:
            added = np.frombuffer(b"".join(self._added), dtype=np.float32).reshape(-1, DIMENSIONS)
            self._vectors = np.concatenate([self._vectors, added]) if len(self._vectors) else added
            self._added = []
        document_of = np.array(self._documents, dtype=np.int64)
        row_mask = document_of > 0
        if documents is not None:
            row_mask = np.isin(document_of, np.array(sorted(documents), dtype=np.int64))
        scores = np.clip(self._vectors @ embed([question])[0], 0, 1)
        if hybrid:
            lexical, largest = self._words.scores(words_of(question), row_mask)
            best = max(float(lexical.max()), _LEAST_COVERAGE * largest)
            scores *= 1 - _WORDS_SHARE
            if best:
                scores += _WORDS_SHARE / best * lexical
        rows = np.flatnonzero(row_mask)
        while rows.size:
            first = rows
            if rows.size > _FIRST:
                first = rows[np.argpartition(-scores[rows], _FIRST)[:_FIRST]]
            for row in first[np.argsort(-scores[first], kind="stable")]:
                yield self._numbers[row], float(scores[row])
            rows = np.setdiff1d(rows, first)
