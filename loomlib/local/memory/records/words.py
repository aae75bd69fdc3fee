"""Search of records by their words: BM25 over stems, without stop words.

BM25 weighs a word that few records have above one that many have, and a short record above a long one (Robertson &
Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009, eq. 3.15). How rare a word is, and how long a
record usually is, are counted among the records that a question is about: the name of a person who speaks in every
record of a namespace is not informative there, but it is in a memory of many people.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from loomlib.embeddings.stemming import stem

SATURATION: Final = 1.2
LENGTH_WEIGHT: Final = 0.75
"""k1 and b of BM25, the usual values (Robertson & Zaragoza, section 3.5)."""

_WORD = re.compile(r"[^\W_]+")
_CHARACTERS = 20_000  # of a record's text; the rest is found by meaning
_LEAST_DEAD = 1_024
_WITHOUT_MEANING = """
    a about after again all also am an and any are aren as at be because been before being both but by can could d
    did didn do does doesn doing don done down during each few for from further get got had has have having he her
    here hers him his how i if in into is isn it its itself just let ll m many may me might more most much my no nor
    not now of off on once only or other our ours out over own re s same she should so some such t than that the
    their theirs them then there these they this those to too under until up us ve very was wasn we were what when
    where which while who whom whose why will with won would you your yours
"""
_STOP_WORDS: Final = frozenset(_WITHOUT_MEANING.split())


def words_of(text: str) -> list[str]:
    """Return the stems of a text's words in their order; English stop words are left out."""
    return [
        word if word.isdigit() else stem(word)
        for word in _WORD.findall(text[:_CHARACTERS].lower())
        if word not in _STOP_WORDS
    ]


class WordIndex:
    """An index from words to records; the records are rows, as in the index of vectors.

    A changed text becomes a new document; the old one is only marked as deleted until the index is rebuilt.
    """

    def __init__(self) -> None:
        self._documents: dict[str, array[int]] = {}  # by stem: the documents that contain it, and how often
        self._counts: dict[str, array[float]] = {}
        self._row_of, self._length_of = array("i"), array("i")
        self._document_of: dict[int, int] = {}
        self._texts: dict[int, str] = {}
        self._dead = 0

    def put(self, row: int, text: str) -> None:
        """Add or replace the text of a row."""
        if self._texts.get(row) == text:
            return
        self.remove(row)
        document = len(self._row_of)
        words = words_of(text)
        self._row_of.append(row)
        self._length_of.append(len(words))
        self._document_of[row], self._texts[row] = document, text
        for word, count in Counter(words).items():
            if word not in self._documents:
                self._documents[word], self._counts[word] = array("i"), array("f")
            self._documents[word].append(document)
            self._counts[word].append(count)

    def remove(self, row: int) -> None:
        """Remove the text of a row, if it has one."""
        document = self._document_of.pop(row, None)
        if document is None:
            return
        self._row_of[document] = -1
        del self._texts[row]
        self._dead += 1
        if self._dead > max(_LEAST_DEAD, len(self._texts)):
            texts = self._texts
            self.__init__()
            for live_row, text in texts.items():
                self.put(live_row, text)

    def scores(self, words: Sequence[str], rows: NDArray[np.bool_]) -> tuple[NDArray[np.float32], float]:
        """Score the rows by a question's words.

        Args:
            words: The stems of the question.
            rows: The rows to score.

        Returns:
            Each row's score, 0 for rows that do not count; and the largest score that any text could have.
        """
        scores = np.zeros(len(rows), dtype=np.float32)
        size = int(np.count_nonzero(rows))
        if not size or not self._row_of:
            return scores, 0.0
        row_of = np.frombuffer(self._row_of, dtype=np.int32)
        length_of = np.frombuffer(self._length_of, dtype=np.int32)
        is_asked = np.append(rows, False)[row_of]  # the row of a dead document is -1
        usual = int(length_of.sum(where=is_asked)) / size or 1.0
        largest = 0.0
        for word in dict.fromkeys(words):
            documents = counts = None
            having = 0
            if word in self._documents:
                documents = np.frombuffer(self._documents[word], dtype=np.int32)
                counts = np.frombuffer(self._counts[word], dtype=np.float32)
                matching = is_asked[documents]
                having = int(np.count_nonzero(matching))
                if having < documents.size:
                    documents, counts = documents[matching], counts[matching]
            rarity = math.log(1 + (size - having + 0.5) / (having + 0.5))
            largest += rarity * (SATURATION + 1)
            if documents is not None and counts is not None and having:
                # A row has one live document, so no index occurs twice.
                norm = length_of[documents] * np.float32(SATURATION * LENGTH_WEIGHT / usual)
                norm += np.float32(SATURATION * (1 - LENGTH_WEIGHT))
                scores[row_of[documents]] += counts * (rarity * (SATURATION + 1)) / (counts + norm)
        return scores, largest
