"""A scripted conversation: the user's turns in each session, the facts that they state or change, and the questions.

A fact has a key ("allergy") and a value ("shellfish"). A turn that states it again with another value updates it; a
turn that takes it back leaves it without a value. Earlier values are former values from then on.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, cast

from loomlib.errors import StudyError

FORMAT: Final = "loom.recall-life/1"
KEPT, UPDATED, TAKEN_BACK, IDLE = "kept", "updated", "taken back", "idle"
KINDS: Final = (KEPT, UPDATED, TAKEN_BACK, IDLE)
"""What a question asks for: a fact that never changed, one that did, one that was taken back, or nothing remembered."""

_STORED_NAMES: Final = {"text": "said", "reply": "answered"}
_FOLDER: Final = Path(__file__).parent / "lives"
_ENDING: Final = ".life.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedTurn:
    """A turn of the user, and the reply.

    Attributes:
        text: What the user says.
        reply: What the assistant replies.
        fact: Key of the fact that the turn states or takes back; empty for small talk.
        value: The fact's value.
        ends: Whether the turn takes the fact back.
    """

    text: str
    reply: str = "Noted, thank you."
    fact: str = ""
    value: str = ""
    ends: bool = False

    def __post_init__(self) -> None:
        if not self.text.strip() or not self.reply.strip():
            raise ValueError("a turn needs a text and a reply")
        if bool(self.fact) != bool(self.value or self.ends) or (self.ends and self.value):
            raise ValueError(f"a turn must either state a fact's value or end it: {self.text!r}")
        if self.value and not contains(self.text, self.value):
            raise ValueError(f"the turn does not contain {self.value!r}: {self.text!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedQuestion:
    """A question asked when a session begins.

    Attributes:
        session: Number of that session, from 2.
        text: The question.
        fact: Key of the fact that it asks for; empty for a question that needs no memory.
        query: What a model that decides to search would search for; empty for the question itself.
    """

    session: int
    text: str
    fact: str = ""
    query: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A question with its expected answer.

    Attributes:
        conversation: Name of the conversation.
        index: Number of the question in its conversation, from 0.
        session: Session in which it is asked.
        text: The question.
        query: The search query.
        fact: Key of the fact.
        kind: One of `KINDS`.
        expected: The current value; empty when there is none.
        former: Earlier values.
        age: Sessions since the value was last stated or taken back, the one with the question included.
    """

    conversation: str
    index: int
    session: int
    text: str
    query: str
    fact: str
    kind: str
    expected: str = ""
    former: tuple[str, ...] = ()
    age: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedConversation:
    """A user's sessions, oldest first, and the questions."""

    name: str
    sessions: tuple[tuple[ScriptedTurn, ...], ...]
    questions: tuple[ScriptedQuestion, ...]

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", self.name):
            raise ValueError(f"a conversation's name must consist of letters, digits, - and _: {self.name!r}")
        if not self.sessions or not self.questions:
            raise ValueError(f"a conversation needs sessions and questions: {self.name}")
        self.probes()

    def probes(self) -> tuple[Probe, ...]:
        """Return the questions in the order in which they are asked, with their expected answers."""
        ordered = sorted(enumerate(self.questions), key=lambda item: item[1].session)
        return tuple(self._probe(index, question) for index, question in ordered)

    def turns(self, before: int) -> Iterator[tuple[int, int, ScriptedTurn]]:
        """Yield every turn of the sessions before session `before`: session number, turn number (from 1), turn."""
        for number, session in enumerate(self.sessions[: before - 1], start=1):
            for place, turn in enumerate(session, start=1):
                yield number, place, turn

    def values(self, before: int) -> dict[str, tuple[str, tuple[str, ...]]]:
        """Return each fact stated before session `before`: its current value ("" for none) and its former values."""
        stated: dict[str, list[str]] = {}
        for _, _, turn in self.turns(before):
            if turn.fact:
                stated.setdefault(turn.fact, []).append(turn.value)
        return {
            fact: (values[-1], tuple(value for value in dict.fromkeys(values) if value and value != values[-1]))
            for fact, values in stated.items()
        }

    def _probe(self, index: int, question: ScriptedQuestion) -> Probe:
        session, fact = question.session, question.fact
        if not 2 <= session <= len(self.sessions) + 1:
            raise ValueError(f"a question must be asked in session 2 to {len(self.sessions) + 1}, not {session}")
        common: dict[str, Any] = {"conversation": self.name, "index": index, "session": session, "text": question.text}
        common |= {"query": question.query or question.text, "fact": fact}
        if not fact:
            return Probe(**common, kind=IDLE)
        if fact not in self.values(session):
            raise ValueError(f"a question in session {session} asks for {fact!r}, which was not stated before")
        expected, former = self.values(session)[fact]
        last = max(number for number, _, turn in self.turns(session) if turn.fact == fact)
        kind = TAKEN_BACK if not expected else UPDATED if former else KEPT
        return Probe(**common, kind=kind, expected=expected, former=former, age=session - last)

    def stored(self) -> dict[str, Any]:
        """Return the conversation as JSON-ready values."""
        return {
            "format": FORMAT,
            "name": self.name,
            "sessions": [[_stored(turn) for turn in session] for session in self.sessions],
            "questions": [_stored(question) for question in self.questions],
        }

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> ScriptedConversation:
        """Return a stored conversation; raise `StudyError` with what is wrong."""
        if stored.get("format") != FORMAT:
            raise StudyError(
                f"The format of the conversation is not {FORMAT}",
                on=str(stored.get("name") or "its file"),
                try_=f'"format": "{FORMAT}", if the file was written for this release',
            )
        try:
            return cls(
                name=str(stored["name"]),
                sessions=tuple(tuple(ScriptedTurn(**_read(turn)) for turn in turns) for turns in stored["sessions"]),
                questions=tuple(ScriptedQuestion(**_read(question)) for question in stored["questions"]),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise StudyError(
                f"The conversation cannot be read: {error}",
                on=str(stored.get("name", "")),
                try_="correct that place; the shipped conversations show the format",
            ) from error


def shipped_conversations() -> tuple[str, ...]:
    """Return the names of the shipped conversations."""
    return tuple(sorted(path.name.removesuffix(_ENDING) for path in _FOLDER.glob(f"*{_ENDING}")))


def read_conversation(source: str | os.PathLike[str]) -> ScriptedConversation:
    """Read a shipped conversation by its name, or a conversation from a file.

    Examples:
        >>> read_conversation("shellfish").questions[-1].fact
        'allergy'
    """
    name = os.fspath(source)
    path = _FOLDER / f"{name}{_ENDING}" if name in shipped_conversations() else Path(name).expanduser()
    try:
        stored = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        shipped_names = ", ".join(shipped_conversations())
        raise StudyError(
            "The conversation cannot be read", on=name, try_=f"a file, or one of {shipped_names}"
        ) from error
    if not isinstance(stored, dict):
        raise StudyError("A conversation is a JSON object", on=name, try_=f'{{"format": "{FORMAT}", …}}')
    return ScriptedConversation.read(cast("dict[str, Any]", stored))


def contains(text: str, value: str) -> bool:
    """Return whether `text` contains `value` as whole words, ignoring case.

    Examples:
        >>> contains("Allergic to Shellfish.", "shellfish"), contains("Ulmer Str. 1", "Ulm")
        (True, False)
    """
    return bool(value) and _pattern(value).search(_folded(text)) is not None


@lru_cache(maxsize=4096)
def _pattern(value: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(_folded(value))}(?!\w)")


def _folded(text: str) -> str:
    return " ".join(text.replace("’", "'").casefold().split())


def _stored(part: ScriptedTurn | ScriptedQuestion) -> dict[str, Any]:
    """Return the part's values by their stored names, without the empty ones."""
    return {_STORED_NAMES.get(name, name): value for name, value in asdict(part).items() if value not in ("", False)}


def _read(stored: Mapping[str, Any]) -> dict[str, Any]:
    names = {old: name for name, old in _STORED_NAMES.items()}
    return {names.get(name, name): value for name, value in stored.items()}
