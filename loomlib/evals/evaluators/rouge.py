"""ROUGE-1 and ROUGE-L: words that the answer shares with the expected one (C.-Y. Lin, "ROUGE", 2004).

The definition is that of rouge-score 0.1 with its stemmer, with the tokens of ADK's `response_match_score`, so that the
numbers equal ADK's: NFKC and lower case; words of letters, marks and digits; Chinese, Japanese and Korean by the
character; Thai, Lao, Khmer and Burmese by the letter with its marks; English words of more than three letters by their
stem. It is implemented here because the rouge-score package depends on NLTK and absl.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from loomlib.embeddings.stemming import stem

from ..values.evaluator import Score
from .turn_by_turn import AnswerEvaluator

KINDS: Final = ("rouge1", "rougeL")
MEASURES: Final = ("fmeasure", "precision", "recall")
_ASCII_WORD: Final = re.compile(r"[a-z0-9]+")
_LONGEST: Final = 4_000  # words that ROUGE-L compares
_LONGEST_TEXT: Final = 200_000  # characters


@dataclass(frozen=True, kw_only=True)
class Rouge(AnswerEvaluator):
    """Words that the answer shares with the expected one.

    Attributes:
        kind: "rouge1" counts shared words, "rougeL" the longest common subsequence of words.
        measure: "fmeasure" (harmonic mean of precision and recall), "precision" or "recall".
        stems: Whether English words are compared by their stems.
        threshold: Minimum value that passes; None (the default) for a score without a threshold.
    """

    kind: str = "rouge1"
    measure: str = "fmeasure"
    stems: bool = True
    threshold: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS or self.measure not in MEASURES:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, and measure one of {', '.join(MEASURES)}")

    def compare(self, expected: str, answer: str) -> Score:
        """Return the measure, between 0 and 1; the details hold all three measures."""
        expected_tokens, answer_tokens = tokens(expected, stems=self.stems), tokens(answer, stems=self.stems)
        if self.kind == "rouge1":
            shared = (Counter(expected_tokens) & Counter(answer_tokens)).total()
        else:
            expected_tokens, answer_tokens = expected_tokens[:_LONGEST], answer_tokens[:_LONGEST]
            shared = longest_common(expected_tokens, answer_tokens)
        precision, recall = shared / max(len(answer_tokens), 1), shared / max(len(expected_tokens), 1)
        mean = 2 * precision * recall / (precision + recall) if shared else 0.0
        measures = {"fmeasure": mean, "precision": precision, "recall": recall}
        value = measures[self.measure]
        rationale = (
            ""
            if self.passes(value) is not False
            else f"the answer contains {shared} of {len(expected_tokens)} expected words"
        )
        return self.score(value, rationale, details=measures)


def tokens(text: str, *, stems: bool = True) -> list[str]:
    """Return the words that ROUGE counts, from the first 200,000 characters of a text.

    Args:
        text: The text.
        stems: Whether English words of more than three letters are replaced by their stems.
    """
    folded = unicodedata.normalize("NFKC", text[:_LONGEST_TEXT]).lower()
    words: list[str] = []
    for word in folded.split() if folded.isascii() else _spaced(folded).split():
        if word.isascii():
            words += [stem(match) if stems and len(match) > 3 else match for match in _ASCII_WORD.findall(word)]
        else:
            words.append(word)
    return words


def _spaced(text: str) -> str:
    """Return the text with a space between words, also in scripts that do not use spaces."""
    out: list[str] = []
    for letter in text:
        code = ord(letter)
        is_mark = code > 127 and unicodedata.category(letter).startswith("M")
        if 0x4E00 <= code <= 0x9FFF or 0x3040 <= code <= 0x30FF or 0xAC00 <= code <= 0xD7AF:
            out.append(f" {letter} ")
        elif 0x0E00 <= code <= 0x0EFF or 0x1780 <= code <= 0x17FF or 0x1000 <= code <= 0x109F:
            out.append(letter if is_mark else f" {letter}")
        else:
            out.append(letter if is_mark or letter.isalnum() else " ")
    return "".join(out)


def longest_common(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the length of the longest common subsequence.

    Bit-parallel (Allison and Dix, 1986): one addition of integers per word of `b`.
    """
    positions: dict[str, int] = {}
    for position, word in enumerate(a):
        positions[word] = positions.get(word, 0) | 1 << position
    all_ones = (1 << len(a)) - 1
    row = all_ones
    for word in b:
        matches = row & positions.get(word, 0)
        row = ((row + matches) | (row - matches)) & all_ones
    return len(a) - row.bit_count()
