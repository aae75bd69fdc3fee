"""The answer as text: exact, normalized, contains, regex."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from ..matching.matchers import normalized
from ..matching.tool_matching import printable
from ..values.cases import Turn
from ..values.evaluator import NotApplicable, Score
from .turn_by_turn import AnswerEvaluator

_LONGEST_SEARCHED = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Exact(AnswerEvaluator):
    """1 when the answer equals the expected one, character by character, else 0."""

    def compare(self, expected: str, answer: str) -> Score:
        """Return 1 or 0; the rationale of a 0 shows the first difference."""
        return self.full_score if expected == answer else self.score(0.0, difference(expected, answer))


@dataclass(frozen=True, kw_only=True)
class Normalized(AnswerEvaluator):
    """1 when the answer equals the expected one, ignoring case, character width, spacing and punctuation.

    Signs of numbers are not ignored.
    """

    def compare(self, expected: str, answer: str) -> Score:
        """Return 1 or 0; the rationale of a 0 shows the first difference between the normalized texts."""
        if expected == answer:
            return self.full_score
        one, other = normalized(expected), normalized(answer)
        return self.full_score if one == other else self.score(0.0, difference(one, other))


@dataclass(frozen=True, kw_only=True)
class Contains(AnswerEvaluator):
    """Share of the wanted texts that the answer contains: `texts`, or else the expected answer."""

    texts: tuple[str, ...] = ()
    case_sensitive: bool = True

    def expected(self, turn: Turn) -> str | None:
        """Return the expected answer, which is used only when `texts` is empty."""
        return "" if self.texts else turn.expected_answer

    def compare(self, expected: str, answer: str) -> Score:
        """Return the share; the rationale lists the missing texts."""
        texts = self.texts or (expected,)
        searched = answer if self.case_sensitive else answer.casefold()
        missing = [text for text in texts if (text if self.case_sensitive else text.casefold()) not in searched]
        if not missing:
            return self.full_score
        listed = ", ".join(quoted_text(text) for text in missing)
        return self.score(1 - len(missing) / len(texts), f"the answer does not contain {listed}")


@dataclass(frozen=True, kw_only=True)
class Regex(AnswerEvaluator):
    """1 when a pattern is found in the first million characters of the answer, else 0.

    The pattern is `pattern`, or else the expected answer.
    """

    NOTHING: ClassVar[NotApplicable] = NotApplicable("neither the evaluator nor the case has a pattern")

    pattern: str | None = None
    case_sensitive: bool = True

    def __post_init__(self) -> None:
        if self.pattern is not None:
            re.compile(self.pattern)

    def expected(self, turn: Turn) -> str | None:
        """Return the evaluator's pattern, or else the expected answer."""
        return turn.expected_answer if self.pattern is None else self.pattern

    @cached_property
    def _flags(self) -> int:
        return re.NOFLAG if self.case_sensitive else re.IGNORECASE

    def compare(self, expected: str, answer: str) -> Score:
        """Return 1 or 0."""
        if re.search(expected, answer[:_LONGEST_SEARCHED], self._flags):
            return self.full_score
        return self.score(0.0, f"nothing in the answer matches the pattern {quoted_text(expected)}")


def quoted_text(text: str, limit: int = 60) -> str:
    """Return a text in quotes, printable, cut at `limit` characters."""
    return f'"{printable(text)}"' if len(text) <= limit else f'"{printable(text[: limit - 1])}…"'


def difference(expected: str, answer: str) -> str:
    """Describe the first difference between two texts, in one line."""
    position = first_difference(expected, answer)
    start = max(0, position - 10)
    lead = "…" if start else ""
    return (
        f"first difference at character {position + 1}: "
        f"expected {lead}{quoted_text(expected[start:], 40)}, got {lead}{quoted_text(answer[start:], 40)}"
    )


def first_difference(a: Sequence[object], b: Sequence[object]) -> int:
    """Return the length of the common prefix, by bisection: comparing slices is fast even for 10 MB."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
