"""What the checks look at: a memory's records and events, read once, and how texts are shown without secrets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Final

from ...aws.memory_shapes import MemoryDescription, MemoryEvent, MemoryRecord, metadata_event_id
from ...redaction import Redactor
from ..displays import safe_id
from ..namespaces import NamespaceOwner, owner_of
from ..reading import MemoryReader
from .finding import MemoryEvidence

SCANNED: Final = 20_000
"""Records, and events, looked at unless told otherwise."""
_SAID_CHARACTERS: Final = 160

Progress = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class MemoryScan:
    """A memory as it was at `now`. `truncated` are the kinds ("records", "events") of which there may be more."""

    memory: MemoryDescription
    records: tuple[MemoryRecord, ...]
    events: tuple[MemoryEvent, ...]
    actors: tuple[str, ...]
    now: datetime
    redactor: Redactor = field(repr=False)
    truncated: frozenset[str] = frozenset()

    @cached_property
    def namespaces(self) -> Mapping[str, list[MemoryRecord]]:
        """Records by their namespace, the oldest first."""
        found: defaultdict[str, list[MemoryRecord]] = defaultdict(list)
        for record in sorted(self.records, key=changed_at):
            for namespace in record.namespaces:
                found[namespace].append(record)
        return found

    @cached_property
    def owners(self) -> Mapping[str, NamespaceOwner | None]:
        """Whose each namespace is."""
        return {each: owner_of(each, self.memory.strategies) for each in self.namespaces}

    @cached_property
    def events_of(self) -> Mapping[str, list[MemoryEvent]]:
        """Events by actor."""
        found: defaultdict[str, list[MemoryEvent]] = defaultdict(list)
        for event in self.events:
            found[event.actor_id].append(event)
        return found

    @cached_property
    def actor_of_event(self) -> Mapping[str, str]:
        """The actor of an event, by its id as records tell it."""
        return {metadata_event_id(each.event_id): each.actor_id for each in self.events}

    def shown(self, text: str) -> str:
        """A text as evidence: secrets and personal data struck out, cut."""
        plain = " ".join(self.redactor.redact(text).text.split())
        return plain if len(plain) <= _SAID_CHARACTERS else f"{plain[: _SAID_CHARACTERS - 1]}…"

    def of_record(self, record: MemoryRecord, said: str | None = None) -> MemoryEvidence:
        """A record as evidence."""
        return MemoryEvidence(
            id=record.record_id,
            said=self.shown(record.text if said is None else said),
            at=changed_at(record),
            namespace=", ".join(safe_id(each) for each in record.namespaces),
        )

    def of_event(self, event: MemoryEvent, said: str | None = None) -> MemoryEvidence:
        """An event as evidence."""
        return MemoryEvidence(
            id=event.event_id,
            what="event",
            said=self.shown(event.text if said is None else said),
            at=event.timestamp,
            actor_id=safe_id(event.actor_id),
            session_id=safe_id(event.session_id),
        )


def changed_at(record: MemoryRecord) -> datetime:
    """When a record was written last."""
    return max(record.created_at, record.updated_at or record.created_at)


def scan_memory(
    reader: MemoryReader,
    *,
    now: datetime,
    redactor: Redactor,
    records: int | None = SCANNED,
    events: int | None = SCANNED,
    progress: Progress | None = None,
) -> MemoryScan:
    """Read what there is, at most so many records and events."""
    found = tuple(reader.records(limit=records, progress=progress))
    actors = tuple(reader.actors(progress=progress))
    said = tuple(reader.events(limit=events, progress=progress))
    counts = {"records": (records, len(found)), "events": (events, len(said))}
    return MemoryScan(
        memory=reader.memory,
        records=found,
        events=said,
        actors=actors,
        now=now,
        redactor=redactor,
        truncated=frozenset(name for name, (most, have) in counts.items() if most is not None and have >= most),
    )
