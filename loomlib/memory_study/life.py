"""A scripted life: what an actor says in each session, which facts that plants or changes, and what is asked.

A fact has a key ("allergy") and a value ("shellfish"). A turn that tells it again with another value updates it, one
that takes it back leaves it without a value; what was true before is from then on a former value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Final, cast

from loomlib.errors import StudyError

FORMAT: Final = "loom.recall-life/1"
KEPT, UPDATED, TAKEN_BACK, IDLE = "kept", "updated", "taken back", "idle"
KINDS: Final = (KEPT, UPDATED, TAKEN_BACK, IDLE)
"""What a question asks for: a fact that never changed, one that did, one that was taken back, or nothing remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What the actor says and what is answered. With `fact` it tells that `value`, or with `ends` takes it back."""

    said: str
    answered: str = "Noted, thank you."
    fact: str = ""
    value: str = ""
    ends: bool = False

    def __post_init__(self) -> None:
        if not self.said.strip() or not self.answered.strip():
            raise ValueError("a turn has something said and something answered")
        if bool(self.fact) != bool(self.value or self.ends) or (self.ends and self.value):
            raise ValueError(f"a turn tells a fact's value or ends it: {self.said!r}")
        if self.value and not holds(self.said, self.value):
            raise ValueError(f"the turn does not say {self.value!r}: {self.said!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Asked when session `session` begins, after all that was told before it. Without `fact` it needs no memory.

    `query` is what a model that decides to look would search for; empty for the question as it is said.
    """

    session: int
    said: str
    fact: str = ""
    query: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A question with what must come of it: the value that holds now ("" when none does), and those that held before.

    `age` counts the sessions since the value was last told or taken back, the asking one included.
    """

    life: str
    index: int
    session: int
    said: str
    query: str
    fact: str
    kind: str
    expected: str = ""
    former: tuple[str, ...] = ()
    age: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """An actor's sessions, the first one first, and the questions."""

    name: str
    sessions: tuple[tuple[Turn, ...], ...]
    questions: tuple[Question, ...]

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", self.name):
            raise ValueError(f"a life's name is letters, digits, - and _: {self.name!r}")
        if not self.sessions or not self.questions:
            raise ValueError(f"a life has sessions and questions: {self.name}")
        self.probes()

    def probes(self) -> tuple[Probe, ...]:
        """The questions in the order in which they are asked, with what is right by then."""
        placed = sorted(enumerate(self.questions), key=lambda each: each[1].session)
        return tuple(self._probe(index, each) for index, each in placed)

    def told(self, before: int) -> Iterator[tuple[int, int, Turn]]:
        """Every turn of the sessions before `before`: its session's number, its own, and the turn (both from 1)."""
        for number, session in enumerate(self.sessions[: before - 1], start=1):
            for place, turn in enumerate(session, start=1):
                yield number, place, turn

    def _probe(self, index: int, question: Question) -> Probe:
        if not 2 <= question.session <= len(self.sessions) + 1:
            raise ValueError(f"a question is asked in session 2 to {len(self.sessions) + 1}, not {question.session}")
        common: dict[str, Any] = {"life": self.name, "index": index, "session": question.session, "said": question.said}
        common |= {"query": question.query or question.said, "fact": question.fact}
        if not question.fact:
            return Probe(**common, kind=IDLE)
        told = [(number, turn) for number, _, turn in self.told(question.session) if turn.fact == question.fact]
        if not told:
            raise ValueError(f"{question.fact!r} is asked in session {question.session} and was never told before")
        now = told[-1][1].value
        former = tuple(dict.fromkeys(turn.value for _, turn in told if turn.value and turn.value != now))
        kind = TAKEN_BACK if not now else UPDATED if former else KEPT
        age = question.session - told[-1][0]
        return Probe(**common, kind=kind, expected=now, former=former, age=age)

    def stored(self) -> dict[str, Any]:
        """The life as JSON-ready values."""
        return {
            "format": FORMAT,
            "name": self.name,
            "sessions": [[_short(asdict(turn)) for turn in session] for session in self.sessions],
            "questions": [_short(asdict(each)) for each in self.questions],
        }

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Life:
        """The life of `stored()`. Raises `StudyError` with what is wrong."""
        if stored.get("format") != FORMAT:
            raise StudyError(f"This is no {FORMAT}", on=str(stored.get("name") or "a life"))
        try:
            return cls(
                name=str(stored["name"]),
                sessions=tuple(tuple(Turn(**turn) for turn in session) for session in stored["sessions"]),
                questions=tuple(Question(**each) for each in cast("list[dict[str, Any]]", stored["questions"])),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise StudyError(f"The life cannot be read: {error}", on=str(stored.get("name", ""))) from error


def holds(text: str, value: str) -> bool:
    """Whether `text` says `value`, in whole words, whatever the case.

    >>> holds("Allergic to Shellfish.", "shellfish"), holds("Ulmer Str. 1", "Ulm")
    (True, False)
    """
    return bool(value) and _pattern(value).search(_flat(text)) is not None


@lru_cache(maxsize=4096)
def _pattern(value: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(_flat(value))}(?!\w)")


def _flat(text: str) -> str:
    return " ".join(text.replace("’", "'").casefold().split())


def _short(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in ("", False)}
