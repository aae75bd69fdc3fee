"""An exercise of a lesson: a task, hints, and a check of the answer against real agents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from ..workbench import Workbench

_T = TypeVar("_T")
_LONGEST_QUOTE = 120


class NotSolvedError(Exception):
    """The answer is not right yet; the message says what is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exercise:
    """One exercise. `judge` returns why an answer is right, or raises `NotSolvedError` with what is missing."""

    id: str
    title: str
    hints: tuple[str, ...]
    judge: Callable[[object, Workbench], str]


def expect(holds: bool, otherwise: str) -> None:
    """Raise `NotSolvedError(otherwise)` unless the condition holds."""
    if not holds:
        raise NotSolvedError(otherwise)


def an(answer: object, kind: type[_T], expected: str) -> _T:
    """Return the answer as an instance of `kind`, or raise `NotSolvedError`.

    Args:
        answer: The learner's answer.
        kind: The expected class.
        expected: The expected kind of answer, in words.
    """
    if not isinstance(answer, kind):
        raise NotSolvedError(f"this is {_kind_of(answer)}, but the exercise asks for {expected}.")
    return answer


def several(answer: object, kind: type[_T], count: int, expected: str) -> list[_T]:
    """Return the answer as a list of `count` instances of `kind`, or raise `NotSolvedError`.

    Args:
        answer: The learner's answer.
        kind: The expected class of each item.
        count: The expected number of items.
        expected: The expected kind of answer, in words.
    """
    if not isinstance(answer, (list, tuple)):
        raise NotSolvedError(f"this is {_kind_of(answer)}, but the exercise asks for {expected}.")
    items: list[object] = list(answer)  # pyright: ignore[reportUnknownArgumentType]
    if len(items) != count or not all(isinstance(item, kind) for item in items):
        kinds = ", ".join(_kind_of(item) for item in items[:4]) or "nothing"
        raise NotSolvedError(f"it contains {kinds}, but the exercise asks for {expected}.")
    return [item for item in items if isinstance(item, kind)]


def a_number(answer: object, expected: str) -> float:
    """Return the answer as a number, or raise `NotSolvedError`; True and False are not numbers."""
    if isinstance(answer, bool) or not isinstance(answer, (int, float)):
        raise NotSolvedError(f"this is {_kind_of(answer)}, but the exercise asks for {expected}.")
    return float(answer)


def quoted(text: str) -> str:
    """Return an agent's text in quotation marks: one line, truncated, without control characters."""
    line = "".join(char if char.isprintable() else " " for char in text)
    return f"“{line[:_LONGEST_QUOTE]}{'…' if len(line) > _LONGEST_QUOTE else ''}”"


def _kind_of(answer: object) -> str:
    name = type(answer).__name__
    return {"str": "a string", "int": "a number", "float": "a number", "list": "a list", "NoneType": "nothing yet"}.get(
        name, f"{'an' if name[:1] in 'AEIOU' else 'a'} {name}"
    )
