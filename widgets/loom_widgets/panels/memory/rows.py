"""Events and records as table rows, read page by page."""

# pyright: basic

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from loomlib.presentation.formats import number

if TYPE_CHECKING:
    from loomlib.aws.memory_shapes import MemoryEvent, MemoryRecord

LONGEST_SHOWN = 100_000
"""Longest text that is sent to a view, in characters."""
_UPDATE_INTERVAL_S = 0.25
_SERVICE_KEYS = "x-loom-"


class Pages(Sequence[Mapping[str, Any]]):
    """The rows read so far from a long listing; more are read on demand.

    The panel's thread creates rows while it reads; the kernel's main thread sorts them.
    """

    def __init__(self, source: Iterator[Any], row: Callable[[Any], Mapping[str, Any]]) -> None:
        self.values: list[Any] = []
        self.is_whole = False
        self.branches: set[str] = set()
        self._rows: list[Mapping[str, Any]] = []
        self._source, self._row = source, row

    def read(self, count: int) -> Iterator[int]:
        """Read more rows, and report their number after each."""
        for _ in range(count):
            value = next(self._source, None)
            if value is None:
                self.is_whole = True
                return
            self.values.append(value)
            row = self._row(value)
            if row.get("branch"):
                self.branches.add(row["branch"])
            self._rows.append(row)
            yield len(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, at: Any) -> Any:
        return self._rows[at]

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self._rows)


class ThrottledProgress:
    """Throttled progress: shows at most one sentence per interval. `check()` ends the action if it was cancelled."""

    def __init__(self, say: Callable[[str], None], check: Callable[[], None] = lambda: None) -> None:
        self._say, self.check, self._last = say, check, 0.0

    def __call__(self, sentence: str) -> None:
        """Show a sentence, unless another one was shown very recently.

        Raises:
            ActionCancelledError: The action was cancelled.
        """
        self.check()
        if (now := time.monotonic()) - self._last >= _UPDATE_INTERVAL_S:
            self._last = now
            self._say(f"{sentence} …")

    @property
    def is_due(self) -> bool:
        """Whether the next sentence is due."""
        return time.monotonic() - self._last >= _UPDATE_INTERVAL_S


def event_row(event: MemoryEvent) -> dict[str, Any]:
    """Return a row of the table of events."""
    return {
        "at": event.timestamp.isoformat(),
        "actor": event.actor_id,
        "session": event.session_id,
        "role": "+".join(dict.fromkeys(message.role for message in event.messages)),
        "text": "\n".join(message.spoken for message in event.messages),
        "branch": event.branch,
        "metadata": ", ".join(f"{key}={value}" for key, value in event.metadata.items()),
        "id": event.event_id,
    }


def event_details(event: MemoryEvent) -> dict[str, Any]:
    """Return an event in full."""
    row = event_row(event)
    messages = [[message.role, cut(message.text)] for message in event.messages[:50]]
    metadata = [[str(key), cut(str(value))] for key, value in event.metadata.items()]
    return {**row, "text": "", "messages": messages, "metadata": metadata, "root": event.root_event_id}


def record_row(record: MemoryRecord, strategies: Mapping[str, str]) -> dict[str, Any]:
    """Return a row of the table of records."""
    return {
        "text": record.text,
        "namespace": ", ".join(record.namespaces),
        "strategy": strategies.get(record.strategy_id, record.strategy_id),
        "created": record.created_at.isoformat(),
        "updated": None if record.updated_at is None else record.updated_at.isoformat(),
        "extractor": record.extractor,
        "sources": len(record.stated_sources) or None,
        "score": record.score,
        "id": record.record_id,
    }


def record_details(record: MemoryRecord, strategies: Mapping[str, str]) -> dict[str, Any]:
    """Return a record in full."""
    own = [[str(key), cut(str(value))] for key, value in record.metadata.items() if not key.startswith(_SERVICE_KEYS)]
    return {**record_row(record, strategies), "text": cut(record.text), "metadata": own}


def cut(text: str) -> str:
    """Return a text, cut to the length that a view shows."""
    excess = len(text) - LONGEST_SHOWN
    return text if excess <= 0 else f"{text[:LONGEST_SHOWN]}… ({number(excess)} more characters)"
