"""What an exercise is: a task, hints that give away more and more, and a judge that looks at the real thing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from ..workbench import Workbench

_T = TypeVar("_T")
_LONGEST_QUOTE = 120


class NotYet(Exception):
    """What is still missing of an answer, as a sentence for the learner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exercise:
    """`judge` returns why an answer is right, and raises `NotYet` with what is missing."""

    id: str
    title: str
    hints: tuple[str, ...]
    judge: Callable[[object, Workbench], str]


def expect(holds: bool, otherwise: str) -> None:
    """Raises `NotYet(otherwise)` unless it holds."""
    if not holds:
        raise NotYet(otherwise)


def an(answer: object, kind: type[_T], said: str) -> _T:
    """The answer, when it is of that kind; otherwise `NotYet` says what it should be, in words."""
    if not isinstance(answer, kind):
        raise NotYet(f"this is {_kind_of(answer)}, and the exercise wants {said}.")
    return answer


def several(answer: object, kind: type[_T], count: int, said: str) -> list[_T]:
    """The answer, when it is so many of that kind, in a list or tuple."""
    if not isinstance(answer, (list, tuple)):
        raise NotYet(f"this is {_kind_of(answer)}, and the exercise wants {said}.")
    found: list[object] = list(answer)  # pyright: ignore[reportUnknownArgumentType]
    if len(found) != count or not all(isinstance(each, kind) for each in found):
        kinds = ", ".join(_kind_of(each) for each in found[:4]) or "nothing"
        raise NotYet(f"there is {kinds} in it, and the exercise wants {said}.")
    return [each for each in found if isinstance(each, kind)]


def a_number(answer: object, said: str) -> float:
    """The answer as a number; True and False are none."""
    if isinstance(answer, bool) or not isinstance(answer, (int, float)):
        raise NotYet(f"this is {_kind_of(answer)}, and the exercise wants {said}.")
    return float(answer)


def quoted(text: str) -> str:
    """An agent's text inside a sentence: one line, cut, without control characters."""
    line = "".join(char if char.isprintable() else " " for char in text)
    return f"“{line[:_LONGEST_QUOTE]}{'…' if len(line) > _LONGEST_QUOTE else ''}”"


def _kind_of(answer: object) -> str:
    name = type(answer).__name__
    return {"str": "a text", "int": "a number", "float": "a number", "list": "a list", "NoneType": "nothing yet"}.get(
        name, f"{'an' if name[:1] in 'AEIOU' else 'a'} {name}"
    )
