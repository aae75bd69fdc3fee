"""Events as the extractor sees them: who said what, and which turns are closed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One conversational part of an event: `index` is its place there, `role` "USER", "ASSISTANT", "TOOL", "OTHER"."""

    event_id: str
    index: int
    role: str
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event: `seq` is its place in the journal, `variables` fill namespace templates beside the usual ones."""

    seq: int
    memory_id: str
    actor_id: str
    session_id: str
    event_id: str
    timestamp_ms: int
    messages: tuple[Message, ...]
    skipped: bool = False
    variables: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def closes_turn(self) -> bool:
        """Whether the assistant has the last word in it."""
        return bool(self.messages) and self.messages[-1].role == "ASSISTANT"


COLUMNS = "seq, memory_id, actor_id, session_id, event_id, timestamp_ms, body, extraction"


def read_event(row: sqlite3.Row | Sequence[Any]) -> Event:
    """The event of a row of `COLUMNS`. Blobs say nothing to the extractor."""
    seq, memory_id, actor_id, session_id, event_id, timestamp_ms, body, extraction = tuple(row)
    config: dict[str, Any] = json.loads(extraction) if extraction else {}
    messages: list[Message] = []
    for index, part in enumerate(json.loads(body)):
        said: Mapping[str, Any] | None = part.get("conversational")
        if said and (text := _spoken(said["content"].get("text") or "")):
            messages.append(Message(event_id=event_id, index=index, role=said["role"], text=text))
    return Event(
        seq=seq,
        memory_id=memory_id,
        actor_id=actor_id,
        session_id=session_id,
        event_id=event_id,
        timestamp_ms=timestamp_ms,
        messages=tuple(messages),
        skipped=config.get("mode") == "SKIP",
        variables=config.get("namespaceVariables") or {},
    )


def _spoken(text: str) -> str:
    """What was said: Strands' session manager stores its whole message as JSON, of which the texts were said."""
    if not text.startswith('{"'):
        return text
    try:
        document = json.loads(text)
        content = document["message"]["content"]
        return "\n".join(str(block["text"]) for block in cast("list[Any]", content) if "text" in block)
    except (ValueError, TypeError, KeyError, RecursionError):
        return text
