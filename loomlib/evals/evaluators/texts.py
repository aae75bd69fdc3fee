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
from .turn_by_turn import PASSED, AnswerJudgement

_LONGEST_SEARCHED = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Exact(AnswerJudgement):
    """1 when the answer is the expected one, character by character."""

    def compare(self, expected: str, answer: str) -> Score:
        """1 or 0; a 0 says where they part."""
        return PASSED if expected == answer else self.score(0.0, difference(expected, answer))


@dataclass(frozen=True, kw_only=True)
class Normalized(AnswerJudgement):
    """1 when the answer is the expected one but for case, width, spacing and punctuation. Numbers keep their signs."""

    def compare(self, expected: str, answer: str) -> Score:
        """1 or 0; a 0 says where the normalized texts part."""
        if expected == answer:
            return PASSED
        one, other = normalized(expected), normalized(answer)
        return PASSED if one == other else self.score(0.0, difference(one, other))


@dataclass(frozen=True, kw_only=True)
class Contains(AnswerJudgement):
    """The share of the wanted texts that the answer contains: `texts`, else the expected answer."""

    texts: tuple[str, ...] = ()
    case_sensitive: bool = True

    def expected(self, turn: Turn) -> str | None:
        """The expected answer counts only where no texts are given."""
        return "" if self.texts else turn.expected_answer

    def compare(self, expected: str, answer: str) -> Score:
        """How many of the wanted texts are there; the missing ones are named."""
        wanted = self.texts or (expected,)
        text = answer if self.case_sensitive else answer.casefold()
        missing = [each for each in wanted if (each if self.case_sensitive else each.casefold()) not in text]
        if not missing:
            return PASSED
        said = ", ".join(shown(each) for each in missing)
        return self.score(1 - len(missing) / len(wanted), f"the answer does not contain {said}")


@dataclass(frozen=True, kw_only=True)
class Regex(AnswerJudgement):
    """1 when a pattern is found in the answer (its first million characters): `pattern`, else the expected answer."""

    NOTHING: ClassVar[NotApplicable] = NotApplicable("neither the evaluator nor the case has a pattern")

    pattern: str | None = None
    case_sensitive: bool = True

    def __post_init__(self) -> None:
        if self.pattern is not None:
            re.compile(self.pattern)

    def expected(self, turn: Turn) -> str | None:
        """The evaluator's pattern goes before the expected answer."""
        return turn.expected_answer if self.pattern is None else self.pattern

    @cached_property
    def _flags(self) -> int:
        return re.NOFLAG if self.case_sensitive else re.IGNORECASE

    def compare(self, expected: str, answer: str) -> Score:
        """1 or 0."""
        if re.search(expected, answer[:_LONGEST_SEARCHED], self._flags):
            return PASSED
        return self.score(0.0, f"nothing in the answer fits the pattern {shown(expected)}")


def shown(text: str, limit: int = 60) -> str:
    """A text in quotes, printable, cut at `limit` characters."""
    return f'"{printable(text)}"' if len(text) <= limit else f'"{printable(text[: limit - 1])}…"'


def difference(expected: str, answer: str) -> str:
    """Where two texts part, in one line."""
    place = first_difference(expected, answer)
    start = max(0, place - 10)
    lead = "…" if start else ""
    return (
        f"they part at character {place + 1}: "
        f"expected {lead}{shown(expected[start:], 40)}, the answer has {lead}{shown(answer[start:], 40)}"
    )


def first_difference(a: Sequence[object], b: Sequence[object]) -> int:
    """The length of the common beginning. By halves, since comparing slices is quick even for 10 MB."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
