"""The chunks of one knowledge base in memory, ranked for a question by meaning and by words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from loomlib.embeddings import DIMENSIONS, embed

from ..memory.records.words import WordIndex, words_of

_WORDS_SHARE: Final = 0.5
"""Weight of the words in a hybrid search; the meaning has the rest."""
_LEAST_COVERAGE: Final = 0.3
"""Share of the largest possible BM25 score from which on the best one counts in full."""
_FIRST: Final = 256  # rows that are sorted at first; few questions need more


class KnowledgeIndex:
    """The chunks of a knowledge base.

    Args:
        rows: Of each chunk its number, its document's number, its text and its vector as bytes.
    """

    def __init__(self, rows: Iterable[Sequence[Any]]) -> None:
        self._numbers: list[int] = []
        documents: list[int] = []
        vectors: list[bytes] = []
        self._words = WordIndex()
        for number, document, text, vector in rows:
            self._words.put(len(self._numbers), text)
            self._numbers.append(number)
            documents.append(document)
            vectors.append(vector)
        self._documents = np.array(documents, dtype=np.int64)
        self._vectors = np.frombuffer(b"".join(vectors), dtype=np.float32).reshape(-1, DIMENSIONS)

    def ranked(self, question: str, documents: set[int] | None, *, hybrid: bool) -> Iterator[tuple[int, float]]:
        """Yield chunks and their scores between 0 and 1, the best first.

        Args:
            question: The question.
            documents: Only chunks of these documents; all when None.
            hybrid: Whether words count beside meaning.
        """
        if not self._numbers:
            return
        asked = np.ones(len(self._numbers), dtype=np.bool_)
        if documents is not None:
            asked = np.isin(self._documents, np.array(sorted(documents), dtype=np.int64))
        scores = np.clip(self._vectors @ embed([question])[0], 0, 1)
        if hybrid:
            lexical, largest = self._words.scores(words_of(question), asked)
            best = max(float(lexical.max()), _LEAST_COVERAGE * largest)
            scores *= 1 - _WORDS_SHARE
            if best:
                scores += _WORDS_SHARE / best * lexical
        rows = np.flatnonzero(asked)
        while rows.size:
            first = rows
            if rows.size > _FIRST:
                first = rows[np.argpartition(-scores[rows], _FIRST)[:_FIRST]]
            for row in first[np.argsort(-scores[first], kind="stable")]:
                yield self._numbers[row], float(scores[row])
            rows = np.setdiff1d(rows, first)
