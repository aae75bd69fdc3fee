"""ROUGE-1 and ROUGE-L: the words that answer and expectation share (C.-Y. Lin, "ROUGE", 2004).

The definition of rouge-score 0.1 with its stemmer, and the tokens of ADK's `response_match_score`, so that the
numbers are those of ADK: NFKC and lower case, words of letters, marks and digits; Chinese, Japanese and Korean by the
character, Thai, Lao, Khmer and Burmese by the letter with its marks; English words of more than three letters by
their stem. Counting is thirty lines; the package would bring NLTK and absl.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ..values.evaluator import Score
from .stemming import stem
from .turn_by_turn import AnswerJudgement

KINDS: Final = ("rouge1", "rougeL")
MEASURES: Final = ("fmeasure", "precision", "recall")
_ASCII_WORD: Final = re.compile(r"[a-z0-9]+")
_LONGEST: Final = 4_000  # words that ROUGE-L looks at
_LONGEST_TEXT: Final = 200_000  # characters


@dataclass(frozen=True, kw_only=True)
class Rouge(AnswerJudgement):
    """How many words the answer shares with the expected one ("rouge1"), or how many in the same order ("rougeL").

    `measure` is the harmonic mean of precision and recall ("fmeasure"), or one of them. `threshold` None: no bar.
    """

    kind: str = "rouge1"
    measure: str = "fmeasure"
    stems: bool = True
    threshold: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS or self.measure not in MEASURES:
            raise ValueError(f"ROUGE is one of {', '.join(KINDS)}, measured as {', '.join(MEASURES)}")

    def compare(self, expected: str, answer: str) -> Score:
        """Between 0 and 1; all three measures are in the details."""
        wanted, given = tokens(expected, stems=self.stems), tokens(answer, stems=self.stems)
        if self.kind == "rouge1":
            shared = (Counter(wanted) & Counter(given)).total()
        else:
            wanted, given = wanted[:_LONGEST], given[:_LONGEST]
            shared = longest_common(wanted, given)
        precision, recall = shared / max(len(given), 1), shared / max(len(wanted), 1)
        mean = 2 * precision * recall / (precision + recall) if shared else 0.0
        measures = {"fmeasure": mean, "precision": precision, "recall": recall}
        value = measures[self.measure]
        rationale = "" if self.passes(value) is not False else f"{shared} of {len(wanted)} expected words are there"
        return self.score(value, rationale, details=measures)


def tokens(text: str, *, stems: bool = True) -> list[str]:
    """The words that ROUGE counts, of the first 200,000 characters."""
    folded = unicodedata.normalize("NFKC", text[:_LONGEST_TEXT]).lower()
    found: list[str] = []
    for word in folded.split() if folded.isascii() else _spaced(folded).split():
        if word.isascii():
            found += [stem(each) if stems and len(each) > 3 else each for each in _ASCII_WORD.findall(word)]
        else:
            found.append(word)
    return found


def _spaced(text: str) -> str:
    """The text with a space wherever a word ends, in scripts that write none as well."""
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
    """The length of the longest common subsequence, by bits (Allison and Dix, 1986): one addition a word of `b`."""
    places: dict[str, int] = {}
    for place, word in enumerate(a):
        places[word] = places.get(word, 0) | 1 << place
    all_ones = (1 << len(a)) - 1
    row = all_ones
    for word in b:
        met = row & places.get(word, 0)
        row = ((row + met) | (row - met)) & all_ones
    return len(a) - row.bit_count()
