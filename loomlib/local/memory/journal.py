"""The events of a home in the order in which they were created, for the extraction of long-term memory."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from loomlib.json_values import encodable
from loomlib.local.resources import attach

from .store import FILE_NAME

_COLUMNS = (
    "seq, memory_id, actor_id, session_id, event_id, timestamp_ms, created_at, branch, body, metadata, extraction, "
    "(SELECT tenant FROM sessions WHERE number = session_number)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One conversational part of an event.

    Attributes:
        event_id: The event that contains it.
        index: Its place in the event's payload.
        role: "USER", "ASSISTANT", "TOOL" or "OTHER".
        text: The text of the message.
    """

    event_id: str
    index: int
    role: str
    text: str = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class JournalEntry:
    """One acknowledged event; times are unix milliseconds, `seq` is its position in the journal."""

    seq: int
    memory_id: str
    actor_id: str
    session_id: str
    event_id: str
    timestamp_ms: int
    created_at_ms: int
    branch: str | None
    body: str = field(repr=False)
    metadata_json: str = field(repr=False)
    extraction_json: str = field(repr=False)
    tenant: str = ""

    @cached_property
    def payload(self) -> Sequence[Mapping[str, Any]]:
        """The payload in the form of CreateEvent."""
        return json.loads(self.body)

    @cached_property
    def metadata(self) -> Mapping[str, Mapping[str, str]]:
        """The metadata in AWS's form."""
        return json.loads(self.metadata_json)

    @cached_property
    def extraction(self) -> Mapping[str, Any]:
        """Extraction options: `mode` ("SKIP") and `namespaceVariables`, where given."""
        return json.loads(self.extraction_json)

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The conversational parts that have text; blobs are left out."""
        return tuple(
            Message(event_id=self.event_id, index=index, role=part["conversational"]["role"], text=encodable(text))
            for index, part in enumerate(self.payload)
            if part.get("conversational") and (text := _spoken(part["conversational"]["content"].get("text") or ""))
        )

    @property
    def variables(self) -> Mapping[str, str]:
        """Values of the memory's own namespace variables."""
        return self.extraction.get("namespaceVariables") or {}

    @property
    def closes_turn(self) -> bool:
        """Whether its last message is from the assistant."""
        return bool(self.messages) and self.messages[-1].role == "ASSISTANT"


def open_journal(home: Path) -> sqlite3.Connection:
    """Open a read-only connection to the events of a home folder; the service creates the database."""
    address = f"{(home / FILE_NAME).absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False, timeout=10)
    connection.row_factory = sqlite3.Row
    attach(connection, home)
    return connection


def read_journal(
    connection: sqlite3.Connection, *, after: int, limit: int = 500, memory_id: str | None = None
) -> list[JournalEntry]:
    """Read existing events, the oldest first.

    Args:
        connection: A connection to `memory.db`.
        after: Only events with a larger seq.
        limit: The largest number of events.
        memory_id: Only the events of this memory; of all memories if None.
    """
    only = "AND memory_id = ?" if memory_id else ""
    statement = f"SELECT {_COLUMNS} FROM events WHERE seq > ? {only} ORDER BY seq LIMIT ?"  # noqa: S608
    return [_entry(row) for row in connection.execute(statement, (after, *([memory_id] if memory_id else ()), limit))]


def find_entries(connection: sqlite3.Connection, memory_id: str, event_ids: Sequence[str]) -> list[JournalEntry]:
    """Return those of these events of a memory that still exist, oldest first.

    Args:
        connection: The memory database.
        memory_id: The memory's id.
        event_ids: Ids of events; those that were deleted are left out.
    """
    statement = f"SELECT {_COLUMNS} FROM events WHERE seq=? AND memory_id=? AND event_id=?"  # noqa: S608
    rows = [
        connection.execute(statement, (int(event_id.partition("#")[2], 16), memory_id, event_id)).fetchone()
        for event_id in event_ids
    ]
    return sorted((_entry(row) for row in rows if row), key=lambda entry: entry.seq)


def _entry(row: sqlite3.Row) -> JournalEntry:
    *same, created_at, branch, body, metadata, extraction, tenant = row
    seq, memory_id, actor_id, session_id, event_id, timestamp_ms = same
    return JournalEntry(
        seq=seq,
        memory_id=memory_id,
        actor_id=actor_id,
        session_id=session_id,
        event_id=event_id,
        timestamp_ms=timestamp_ms,
        created_at_ms=created_at,
        branch=branch,
        body=body,
        metadata_json=metadata or "{}",
        extraction_json=extraction or "{}",
        tenant=tenant or "",
    )


def _spoken(text: str) -> str:
    """Return the spoken text.

    Strands' session manager stores its whole message as JSON, which holds text blocks.
    """
    if not text.startswith('{"'):
        return text
    try:
        content = json.loads(text)["message"]["content"]
        return "\n".join(str(block["text"]) for block in cast("list[Any]", content) if "text" in block)
    except (ValueError, TypeError, KeyError, RecursionError):
        return text
