"""Numbers in the answer, within a tolerance."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Final

from ..matching.assignment import assign
from ..matching.matchers import is_near, number_in
from ..values.cases import Turn
from ..values.evaluator import NotApplicable, Score
from .turn_by_turn import PASSED, AnswerJudgement

PICKS: Final = ("any", "first", "last")
_NUMBER: Final = re.compile(r"(?<![\w.])[-+−]?(?:(?:\d{1,3}(?:,\d{3})+(?![\d,])|\d+)(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?")
_MOST: Final = 2_000
_LONGEST: Final = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Numeric(AnswerJudgement):
    """The share of the expected numbers that the answer holds: `value`, else all numbers of the expected answer.

    A number fits when it is no further away than `tolerance`, or than `relative` × the expected number. `pick` says
    which number of the answer counts for a single expected one: "any", the "first" or the "last".
    """

    NOTHING: ClassVar[NotApplicable] = NotApplicable("the expected answer holds no number")

    tolerance: float = 0.0
    relative: float = 0.0
    value: float | None = None
    pick: str = "any"

    def __post_init__(self) -> None:
        if self.pick not in PICKS:
            raise ValueError(f"pick is one of {', '.join(PICKS)}, not {self.pick!r}")
        if self.tolerance < 0 or self.relative < 0:
            raise ValueError("a tolerance is not negative")

    def expected(self, turn: Turn) -> str | None:
        """The evaluator's value goes before the expected answer."""
        return turn.expected_answer if self.value is None else repr(self.value)

    def compare(self, expected: str, answer: str) -> Score | None:
        """How many of the expected numbers are there, each answered by a number of its own."""
        wanted = [self.value] if self.value is not None else numbers_in(expected)
        if not wanted:
            return None
        found = numbers_in(answer)
        if self.pick != "any" and len(wanted) == 1:
            found = found[:1] if self.pick == "first" else found[-1:]
        met = assign(
            len(wanted),
            len(found),
            lambda i, j: is_near(wanted[i], found[j], tolerance=self.tolerance, share=self.relative),
        )
        if len(met) == len(wanted):
            return PASSED
        missing = ", ".join(f"{each:g}" for place, each in enumerate(wanted) if place not in met)
        seen = ", ".join(f"{each:g}" for each in found[:5]) or "none"
        return self.score(len(met) / len(wanted), f"{missing} is not among the answer's numbers ({seen})")


def numbers_in(text: str) -> list[float]:
    """At most 2,000 numbers, from a text's first million characters.

    1,234.5, -3, −3, .5 and 1e-3 are read; 7 in "v7" is part of a word.
    """
    found: list[float] = []
    for match in _NUMBER.finditer(text[:_LONGEST]):
        number = number_in(match.group())
        if number is not None:
            found.append(number)
            if len(found) == _MOST:
                break
    return found
