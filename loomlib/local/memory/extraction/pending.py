"""Events waiting for extraction, by session."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from ..journal import JournalEntry, find_entries, open_journal, read_journal
from .strategy import Strategy, strategy_of

REDACTION_TAG: Final = "loom:redaction"
_CHUNK: Final = 2_000
_MOST_WAITING: Final = 50_000
"""Largest number of events in memory: after a long pause, a million may be waiting."""
_OPEN_TURN_FACTOR: Final = 3
"""A turn without an answer counts as closed after this many delays without an event."""
_OPEN_TURN_LEAST_S: Final = 2.0

PendingKey = tuple[str, str, str]
"""Memory id, actor id, session id."""


class PendingEvents:
    """Reads a home folder's journal, and keeps each session's events until they are extracted.

    `last_seq` is the seq of the last event that was read. Times are of a monotonic clock, in seconds.
    """

    def __init__(self, home: Path, last_seq: int) -> None:
        self._db = open_journal(home)
        self._waiting: dict[PendingKey, list[tuple[float, JournalEntry]]] = {}
        self._more = True
        self.last_seq = last_seq

    def close(self) -> None:
        """Close the journal."""
        self._db.close()

    def read(self, now_s: float) -> bool:
        """Read a batch of new events; True if there are more and there is room for them.

        Events of a memory without extraction are skipped: as on AWS, a strategy processes only later events.
        """
        entries = read_journal(self._db, after=self.last_seq, limit=_CHUNK)
        extracting: dict[str, bool] = {}
        for entry in entries:
            self.last_seq = entry.seq
            if entry.memory_id not in extracting:
                extracting[entry.memory_id] = bool(self.strategies(entry.memory_id))
            if extracting[entry.memory_id] and entry.messages and entry.extraction.get("mode") != "SKIP":
                key = (entry.memory_id, entry.actor_id, entry.session_id)
                self._waiting.setdefault(key, []).append((now_s, entry))
        self._more = len(entries) == _CHUNK
        return self._more and sum(map(len, self._waiting.values())) < _MOST_WAITING

    def due(self, now_s: float, delay_s: float) -> Iterator[tuple[PendingKey, list[JournalEntry]]]:
        """Iterate over the sessions with turns that closed at least `delay_s` ago, each with the events of those turns.

        The events wait until `done` is called.
        """
        quiet_s = max(_OPEN_TURN_LEAST_S, _OPEN_TURN_FACTOR * delay_s) if delay_s else 0.0
        for key, waiting in list(self._waiting.items()):
            closed = 0
            for count, (arrived_s, entry) in enumerate(waiting, 1):
                if entry.closes_turn and now_s - arrived_s >= delay_s:
                    closed = count
            if now_s - waiting[-1][0] >= quiet_s:
                closed = len(waiting)
            if closed:
                yield key, [entry for _, entry in waiting[:closed]]

    def drop(self, key: PendingKey, count: int) -> None:
        """Drop the first `count` events of a session."""
        del self._waiting[key][:count]
        if not self._waiting[key]:
            del self._waiting[key]

    @property
    def watermark(self) -> int:
        """The seq up to which all events are extracted."""
        return min((waiting[0][1].seq for waiting in self._waiting.values()), default=self.last_seq + 1) - 1

    @property
    def idle(self) -> bool:
        """Whether no event is waiting, here or in the file when it was last read."""
        return not self._waiting and not self._more

    def strategies(self, memory_id: str) -> list[Strategy]:
        """Return the strategies with which a memory extracts; none if it was deleted."""
        descriptions = (self.memory(memory_id) or {}).get("strategies") or ()
        return [strategy for description in descriptions if (strategy := strategy_of(description))]

    def memory(self, memory_id: str) -> dict[str, Any] | None:
        """Return a memory as GetMemory returns it; None if it was deleted."""
        row = self._db.execute("SELECT body FROM memories WHERE id=?", (memory_id,)).fetchone()
        return json.loads(row[0]) if row else None

    def redacts(self, memory_id: str, strategy: Strategy) -> bool:
        """Return whether a strategy extracts from redacted texts: the memory's tag `loom:redaction` decides.

        Its value is `all`, or names of strategies separated by spaces. AWS has no such option; there a custom
        strategy's prompt can ask for the same.
        """
        row = self._db.execute(
            "SELECT value FROM memory_tags WHERE id=? AND name=?", (memory_id, REDACTION_TAG)
        ).fetchone()
        return row is not None and not {"all", strategy.name}.isdisjoint(row[0].split())

    def existing(self, entries: Sequence[JournalEntry]) -> list[JournalEntry]:
        """Return those of these events that were not deleted since they were read."""
        statement = "SELECT 1 FROM events WHERE seq=?"
        return [entry for entry in entries if self._db.execute(statement, (entry.seq,)).fetchone()]

    def find(self, memory_id: str, event_ids: Sequence[str]) -> list[JournalEntry]:
        """Return those of these events that still exist, oldest first."""
        return find_entries(self._db, memory_id, event_ids)
