"""Numbers in the answer, compared within a tolerance."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Final

from ...presentation.formats import exact
from ..matching.assignment import assign
from ..matching.matchers import is_near, number_in
from ..values.cases import Turn
from ..values.evaluator import NotApplicable, Score
from .turn_by_turn import AnswerEvaluator

PICKS: Final = ("any", "first", "last")
_NUMBER: Final = re.compile(r"(?<![\w.])[-+−]?(?:(?:\d{1,3}(?:,\d{3})+(?!,?\d)|\d+)(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?")
_MOST: Final = 2_000
_LONGEST: Final = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Numeric(AnswerEvaluator):
    """Share of the expected numbers that occur in the answer.

    The expected numbers are `value`, or else all numbers in the expected answer. A number matches when it differs by at
    most `tolerance`, or by at most `relative` times the expected number.

    Attributes:
        tolerance: Absolute tolerance.
        relative: Relative tolerance; 0.01 is 1 %.
        value: The expected number, in place of those in the expected answer.
        pick: Which number of the answer is compared when one is expected: "any", "first" or "last".
    """

    VERSION: ClassVar[int] = 2
    NOTHING: ClassVar[NotApplicable] = NotApplicable("the expected answer contains no number")

    tolerance: float = 0.0
    relative: float = 0.0
    value: float | None = None
    pick: str = "any"

    def __post_init__(self) -> None:
        if self.pick not in PICKS:
            raise ValueError(f"pick must be one of {', '.join(PICKS)}, not {self.pick!r}")
        if self.tolerance < 0 or self.relative < 0:
            raise ValueError("a tolerance must not be negative")

    def expected(self, turn: Turn) -> str | None:
        """Return the evaluator's value, or else the expected answer."""
        return turn.expected_answer if self.value is None else repr(self.value)

    def compare(self, expected: str, answer: str) -> Score | None:
        """Return the share of expected numbers that are matched, each by another number of the answer."""
        expected_numbers = [self.value] if self.value is not None else numbers_in(expected)
        if not expected_numbers:
            return None
        numbers = numbers_in(answer)
        if self.pick != "any" and len(expected_numbers) == 1:
            numbers = numbers[:1] if self.pick == "first" else numbers[-1:]
        matched = assign(
            len(expected_numbers),
            len(numbers),
            lambda i, j: is_near(expected_numbers[i], numbers[j], tolerance=self.tolerance, share=self.relative),
        )
        if len(matched) == len(expected_numbers):
            return self.full_score
        missing = ", ".join(f"{exact(number)}" for index, number in enumerate(expected_numbers) if index not in matched)
        answer_numbers = ", ".join(f"{exact(number)}" for number in numbers[:5]) or "none"
        return self.score(
            len(matched) / len(expected_numbers), f"missing {missing}; the answer's numbers: {answer_numbers}"
        )


def numbers_in(text: str) -> list[float]:
    """Return the numbers in a text: at most 2,000, from its first million characters.

    1,234.5, -3, −3, .5 and 1e-3 are numbers; the 7 in "v7" is part of a word. A comma without a digit after it is
    punctuation.
    """
    numbers: list[float] = []
    for match in _NUMBER.finditer(text[:_LONGEST]):
        number = number_in(match.group())
        if number is not None:
            numbers.append(number)
            if len(numbers) == _MOST:
                break
    return numbers
