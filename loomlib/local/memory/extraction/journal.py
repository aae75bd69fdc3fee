"""The events that wait for extraction, read from the journal of short-term memory in its order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from loomlib.local.memory.journal import open_journal

from .messages import COLUMNS, Event, read_event
from .namespaces import Strategy, strategy_of

_AT_ONCE: Final = 2_000
_MOST_WAITING: Final = 50_000
"""Events held at a time: a service that comes back may have a million to catch up with."""
_OPEN_TURN_FACTOR: Final = 3
"""A turn that nobody answered counts as closed after this many delays of silence."""
_OPEN_TURN_LEAST_S: Final = 2.0

SessionKey = tuple[str, str, str]
"""memory, actor, session"""


@dataclass(slots=True)
class _Waiting:
    events: list[tuple[float, Event]] = field(default_factory=list[tuple[float, Event]])


class Journal:
    """Reads a home's events and never writes them. `seen` is the last event read, as a place in the journal."""

    def __init__(self, home: Path, seen: int) -> None:
        self._db = open_journal(home)
        self._waiting: dict[SessionKey, _Waiting] = {}
        self._more = True
        self.seen = seen

    def close(self) -> None:
        self._db.close()

    def read(self, now_s: float) -> bool:
        """Take in new events, a portion at a time; whether to go on. `now_s` is a monotonic clock's.

        Events of a memory that extracts nothing are passed over: as on AWS, a strategy sees what comes after it.
        """
        rows = self._db.execute(
            f"SELECT {COLUMNS} FROM events WHERE seq>? ORDER BY seq LIMIT ?",  # noqa: S608
            (self.seen, _AT_ONCE),
        ).fetchall()
        extracting: dict[str, bool] = {}
        for row in rows:
            self.seen, memory_id = row[0], row[1]
            if memory_id not in extracting:
                extracting[memory_id] = bool(self.strategies(memory_id))
            if not extracting[memory_id]:
                continue
            event = read_event(row)
            if event.messages and not event.skipped:
                key = (event.memory_id, event.actor_id, event.session_id)
                self._waiting.setdefault(key, _Waiting()).events.append((now_s, event))
        self._more = len(rows) == _AT_ONCE
        return self._more and sum(len(each.events) for each in self._waiting.values()) < _MOST_WAITING

    def due(self, now_s: float, delay_s: float) -> Iterator[tuple[SessionKey, list[Event]]]:
        """The sessions with turns that closed `delay_s` ago or more, each with those turns' events; they wait on until
        `done`."""
        quiet_s = max(_OPEN_TURN_LEAST_S, _OPEN_TURN_FACTOR * delay_s) if delay_s else 0.0
        for key, waiting in list(self._waiting.items()):
            closed = 0
            for count, (came_s, event) in enumerate(waiting.events, 1):
                if event.closes_turn and now_s - came_s >= delay_s:
                    closed = count
            if now_s - waiting.events[-1][0] >= quiet_s:
                closed = len(waiting.events)
            if closed:
                yield key, [event for _, event in waiting.events[:closed]]

    def done(self, key: SessionKey, count: int) -> None:
        """The first `count` events of a session are dealt with."""
        waiting = self._waiting[key]
        del waiting.events[:count]
        if not waiting.events:
            del self._waiting[key]

    @property
    def watermark(self) -> int:
        """Everything up to here is dealt with."""
        first = (waiting.events[0][1].seq for waiting in self._waiting.values())
        return min(first, default=self.seen + 1) - 1

    @property
    def idle(self) -> bool:
        """Whether nothing waits, here or in the file as it was last read."""
        return not self._waiting and not self._more

    def strategies(self, memory_id: str) -> list[Strategy]:
        """The strategies by which a memory extracts; none when it was deleted."""
        shown = (self.memory(memory_id) or {}).get("strategies") or ()
        return [found for each in shown if (found := strategy_of(each))]

    def memory(self, memory_id: str) -> dict[str, Any] | None:
        """A memory as GetMemory shows it; None when it was deleted."""
        row = self._db.execute("SELECT body FROM memories WHERE id=?", (memory_id,)).fetchone()
        return json.loads(row[0]) if row else None

    def events(self, memory_id: str, event_ids: Sequence[str]) -> list[Event]:
        """Those of these events that still exist, in the order in which they came."""
        found = [
            self._db.execute(
                f"SELECT {COLUMNS} FROM events WHERE seq=? AND memory_id=? AND event_id=?",  # noqa: S608
                (int(each.partition("#")[2], 16), memory_id, each),
            ).fetchone()
            for each in event_ids
        ]
        return sorted((read_event(row) for row in found if row), key=lambda event: event.seq)
