"""One question with its answer as it comes: what is shown of it, and what was left out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from loomlib.agents import Chunk, note_of

if TYPE_CHECKING:
    from loomlib import Invocation

LONGEST_SHOWN: Final = 200_000
"""Characters of an answer that a page is given; all of them are in the invocation's `.text`."""
_LONGEST_VALUE: Final = 4_000
_MOST_NOTES: Final = 500


@dataclass(slots=True, kw_only=True)
class Turn:
    """A question, and what has come of its answer so far."""

    id: int
    prompt: str
    text: str = ""
    length: int = 0
    status: str = "streaming"
    session: str = ""
    sentence: str = ""
    invocation: int | None = None
    notes: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    tools: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    figures: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    @classmethod
    def of(cls, id: int, invocation: Invocation) -> Turn:
        """A turn that was stored before."""
        record = invocation.record
        turn = cls(id=id, prompt=record.prompt or "", status=record.status, session=record.session_id)
        turn._add(record.response)
        turn.end(invocation)
        return turn

    def end(self, invocation: Invocation) -> None:
        """The outcome. What its reader stopped is no failure."""
        record = invocation.record
        stopped = record.failure == "cancelled"
        self.status = "stopped" if stopped else record.status
        self.sentence = "Stopped; what had come is kept." if stopped else invocation.sentence()
        self.invocation = record.id or self.invocation

    def take(self, chunk: Chunk) -> list[dict[str, Any]]:
        """Note a piece of the answer; returns what a view is told about it."""
        told: list[dict[str, Any]] = []
        if chunk.text and (shown := self._add(chunk.text)):
            told.append({"kind": "text", "text": shown})
        note = None if chunk.text else note_of(chunk.data)
        if note is not None and len(self.notes) < _MOST_NOTES:
            item = {"kind": note.kind, **short_values(note.values)}
            self.notes.append(item)
            told.append(item)
        return told

    def _add(self, text: str) -> str:
        shown = text[: max(0, LONGEST_SHOWN - self.length)]
        self.length += len(text)
        self.text += shown
        return shown

    def told(self, *, text: bool = True) -> dict[str, Any]:
        """The turn as a message to a view."""
        return {
            "turn": self.id,
            "prompt": self.prompt[:LONGEST_SHOWN],
            **({"text": self.text} if text else {}),
            "left_out": max(0, self.length - LONGEST_SHOWN),
            "status": self.status,
            "session": self.session,
            "sentence": self.sentence,
            "invocation": self.invocation,
            "notes": self.notes if text else [],
            "tools": self.tools,
            "figures": self.figures,
        }


def short_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """An agent's values as texts that a page can bear."""
    return {key: short_text(value) for key, value in values.items()}


def short_text(value: object) -> str:
    """A value as text: JSON where it is no text already, cut when long."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}… ({len(text) - _LONGEST_VALUE:,} more)"
