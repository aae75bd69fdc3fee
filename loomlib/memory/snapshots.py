"""What a memory held at a moment, without secrets, so that two moments can be compared.

AgentCore keeps no former states: whoever wants to know later takes a snapshot now.
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
from ..jobs.written import whole_file
from ..redaction import Redactor
from .displays import safe_id
from .reading import MemoryReader

FORMAT: Final = "loom memory snapshot"
_WRITTEN: Final = "a file that .save() of a snapshot wrote"
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordState:
    """A record as it was: its text without secrets and personal data."""

    namespace: str
    changed_at: str
    text: str = field(repr=False)
    strategy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MemorySnapshot:
    """A memory at a moment; made by `memory.snapshot()`. `events` counts by actor and session; None: not counted."""

    memory_id: str
    name: str
    taken_at: datetime
    records: Mapping[str, RecordState]
    events: Mapping[tuple[str, str], int] | None

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it to a file that only its owner reads; `read_snapshot(path)` brings it back."""
        target = Path(path)
        said = {
            "format": FORMAT,
            "version": 1,
            "memory_id": self.memory_id,
            "name": self.name,
            "taken_at": self.taken_at.isoformat(),
            "records": {
                key: [each.namespace, each.changed_at, each.text, each.strategy] for key, each in self.records.items()
            },
            "events": None
            if self.events is None
            else [[actor, session, count] for (actor, session), count in self.events.items()],
        }
        with whole_file("The snapshot", target) as file:
            json.dump(said, file)
        return target

    def __repr__(self) -> str:
        events = "uncounted" if self.events is None else f"{sum(self.events.values()):,}"
        return (
            f"<MemorySnapshot of {self.name} at {self.taken_at:%Y-%m-%d %H:%M:%S}: {len(self.records):,} records, "
            f"{events} events>"
        )


def take_snapshot(reader: MemoryReader, *, events: bool = True, progress: Progress | None = None) -> MemorySnapshot:
    """Read all records, and count events by session unless not `events`."""
    redactor, memory = Redactor(), reader.memory
    names = {each.strategy_id: each.name for each in memory.strategies}
    taken_at = datetime.now(UTC)
    records = {
        each.record_id: RecordState(
            namespace=", ".join(map(safe_id, each.namespaces)),
            changed_at=(each.updated_at or each.created_at).isoformat(),
            text=redactor.redact(each.text).text,
            strategy=names.get(each.strategy_id, each.strategy_id),
        )
        for each in reader.records(progress=progress)
    }
    counts: dict[tuple[str, str], int] = {}
    for actor in reader.actors() if events else ():
        for session in reader.sessions(actor):
            shapes = writing.iter_event_shapes(
                reader.clients, memory.memory_id, actor, session.session_id, payloads=False, region=memory.region
            )
            if count := sum(1 for _ in shapes):
                counts[safe_id(actor), safe_id(session.session_id)] = count
    return MemorySnapshot(
        memory_id=memory.memory_id,
        name=memory.name,
        taken_at=taken_at,
        records=records,
        events=counts if events else None,
    )


def read_snapshot(path: str | os.PathLike[str]) -> MemorySnapshot:
    """A snapshot that was saved. Raises `SettingsError` for a file that is none."""
    try:
        read: Any = json.loads(Path(path).read_text("utf-8"))
        if not isinstance(read, dict) or cast("dict[str, Any]", read).get("format") != FORMAT:
            raise ValueError("it has another format")
        said = cast("dict[str, Any]", read)
        return MemorySnapshot(
            memory_id=str(said["memory_id"]),
            name=str(said["name"]),
            taken_at=datetime.fromisoformat(said["taken_at"]),
            records={
                str(key): RecordState(namespace=where, changed_at=at, text=text, strategy=strategy)
                for key, (where, at, text, strategy) in said["records"].items()
            },
            events=None
            if said["events"] is None
            else {(str(actor), str(session)): int(count) for actor, session, count in said["events"]},
        )
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise SettingsError(f"The snapshot cannot be read: {why}", on=str(path), try_=_WRITTEN) from error
    except KeyError as error:
        raise SettingsError(f"The file is no snapshot of a memory: no {error}", on=str(path), try_=_WRITTEN) from error
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise SettingsError(f"The file is no snapshot of a memory: {error}", on=str(path), try_=_WRITTEN) from error
