"""Redacted snapshots of a memory, to compare its state at two times.

AgentCore stores no earlier states of a memory, so a comparison needs a snapshot that was taken in time.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

from ..aws import memory_writing as writing
from ..errors import SettingsError
from ..jobs.output_files import whole_file
from ..presentation.formats import plural, timestamp
from ..redaction import Redactor
from .displays import safe_id
from .reading import MemoryReader

FORMAT: Final = "loom memory snapshot"
_EXPECTED: Final = "a file that snapshot.save(path) wrote"
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordState:
    """A record at the time of a snapshot; its text is redacted."""

    namespace: str
    changed_at: str
    text: str = field(repr=False)
    strategy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MemorySnapshot:
    """The redacted state of a memory at one time; returned by `memory.snapshot()`.

    Attributes:
        memory_id: The memory's id.
        name: The memory's name.
        taken_at: When it was taken.
        records: The records by id.
        events: Number of events by actor and session; None when they were not counted.
    """

    memory_id: str
    name: str
    taken_at: datetime
    records: Mapping[str, RecordState]
    events: Mapping[tuple[str, str], int] | None

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it to a file that only its owner can read; `read_snapshot(path)` reads it."""
        target = Path(path)
        content = {
            "format": FORMAT,
            "version": 1,
            "memory_id": self.memory_id,
            "name": self.name,
            "taken_at": self.taken_at.isoformat(),
            "records": {
                key: [state.namespace, state.changed_at, state.text, state.strategy]
                for key, state in self.records.items()
            },
            "events": None
            if self.events is None
            else [[actor, session, count] for (actor, session), count in self.events.items()],
        }
        with whole_file("The snapshot", target) as file:
            json.dump(content, file)
        return target

    def __repr__(self) -> str:
        events = "events not counted" if self.events is None else plural(sum(self.events.values()), "event")
        return (
            f"<MemorySnapshot of {self.name} at {timestamp(self.taken_at)}: "
            f"{plural(len(self.records), 'record')}, {events}>"
        )


def take_snapshot(reader: MemoryReader, *, events: bool = True, progress: Progress | None = None) -> MemorySnapshot:
    """Take a snapshot of a memory.

    Args:
        reader: Reads the memory.
        events: Whether to count the events of each session (one request per session).
        progress: Called with a sentence while records are read.
    """
    redactor, memory = Redactor(), reader.memory
    names = {strategy.strategy_id: strategy.name for strategy in memory.strategies}
    taken_at = datetime.now(UTC)
    records = {
        record.record_id: RecordState(
            namespace=", ".join(map(safe_id, record.namespaces)),
            changed_at=(record.updated_at or record.created_at).isoformat(),
            text=redactor.redact(record.text).text,
            strategy=names.get(record.strategy_id, record.strategy_id),
        )
        for record in reader.records(progress=progress)
    }
    counts: dict[tuple[str, str], int] = {}
    for actor in reader.actors() if events else ():
        for session in reader.sessions(actor):
            shapes = writing.iter_event_shapes(
                reader.clients, memory.memory_id, actor, session.session_id, payloads=False, region=memory.region
            )
            if count := sum(1 for _ in shapes):
                place = safe_id(actor), safe_id(session.session_id)  # redacted ids may be the same
                counts[place] = counts.get(place, 0) + count
    return MemorySnapshot(
        memory_id=memory.memory_id,
        name=memory.name,
        taken_at=taken_at,
        records=records,
        events=counts if events else None,
    )


def read_snapshot(path: str | os.PathLike[str]) -> MemorySnapshot:
    """Read a saved snapshot.

    Raises:
        SettingsError: The file cannot be read or is not a snapshot.
    """
    try:
        parsed: Any = json.loads(Path(path).read_text("utf-8"))
        if not isinstance(parsed, dict) or cast("dict[str, Any]", parsed).get("format") != FORMAT:
            raise ValueError("it has another format")
        content = cast("dict[str, Any]", parsed)
        return MemorySnapshot(
            memory_id=str(content["memory_id"]),
            name=str(content["name"]),
            taken_at=datetime.fromisoformat(content["taken_at"]),
            records={
                str(key): RecordState(namespace=where, changed_at=at, text=text, strategy=strategy)
                for key, (where, at, text, strategy) in content["records"].items()
            },
            events=None
            if content["events"] is None
            else {(str(actor), str(session)): int(count) for actor, session, count in content["events"]},
        )
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SettingsError(f"The snapshot cannot be read: {reason}", on=str(path), try_=_EXPECTED) from error
    except KeyError as error:
        raise SettingsError(
            f"The file is not a snapshot of a memory: no {error}", on=str(path), try_=_EXPECTED
        ) from error
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise SettingsError(f"The file is not a snapshot of a memory: {error}", on=str(path), try_=_EXPECTED) from error
