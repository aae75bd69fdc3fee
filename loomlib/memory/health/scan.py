"""A memory's records and events, read once for all health checks, and their redacted excerpts."""

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
"""The most records, and events, that are read by default."""
_EXCERPT_CHARACTERS: Final = 160

Progress = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class MemoryScan:
    """Records and events of a memory at one time.

    Attributes:
        memory: The memory.
        records: Its records.
        events: Its events.
        actors: Its actors' ids.
        now: The time of the check.
        redactor: Redacts excerpts.
        truncated: What reached its limit: "records", "events".
    """

    memory: MemoryDescription
    records: tuple[MemoryRecord, ...]
    events: tuple[MemoryEvent, ...]
    actors: tuple[str, ...]
    now: datetime
    redactor: Redactor = field(repr=False)
    truncated: frozenset[str] = frozenset()

    @cached_property
    def namespaces(self) -> Mapping[str, list[MemoryRecord]]:
        """Records by namespace, oldest first."""
        by_namespace: defaultdict[str, list[MemoryRecord]] = defaultdict(list)
        for record in sorted(self.records, key=changed_at):
            for namespace in record.namespaces:
                by_namespace[namespace].append(record)
        return by_namespace

    @cached_property
    def owners(self) -> Mapping[str, NamespaceOwner | None]:
        """The owner of each namespace, or None."""
        return {namespace: owner_of(namespace, self.memory.strategies) for namespace in self.namespaces}

    @cached_property
    def events_of(self) -> Mapping[str, list[MemoryEvent]]:
        """Events by actor."""
        by_actor: defaultdict[str, list[MemoryEvent]] = defaultdict(list)
        for event in self.events:
            by_actor[event.actor_id].append(event)
        return by_actor

    @cached_property
    def actor_of_event(self) -> Mapping[str, str]:
        """The actor of each event, by the event id as records state it."""
        return {metadata_event_id(event.event_id): event.actor_id for event in self.events}

    def redacted(self, text: str) -> str:
        """Redact and shorten a text for display."""
        plain = " ".join(self.redactor.redact(text).text.split())
        return plain if len(plain) <= _EXCERPT_CHARACTERS else f"{plain[: _EXCERPT_CHARACTERS - 1]}…"

    def record_evidence(self, record: MemoryRecord, excerpt: str | None = None) -> MemoryEvidence:
        """Return a record as evidence; `excerpt` is a part of its text."""
        return MemoryEvidence(
            id=record.record_id,
            excerpt=self.redacted(record.text if excerpt is None else excerpt),
            at=changed_at(record),
            namespace=", ".join(safe_id(namespace) for namespace in record.namespaces),
        )

    def event_evidence(self, event: MemoryEvent, excerpt: str | None = None) -> MemoryEvidence:
        """Return an event as evidence; `excerpt` is a part of its text."""
        return MemoryEvidence(
            id=event.event_id,
            what="event",
            excerpt=self.redacted(event.text if excerpt is None else excerpt),
            at=event.timestamp,
            actor_id=safe_id(event.actor_id),
            session_id=safe_id(event.session_id),
        )


def changed_at(record: MemoryRecord) -> datetime:
    """Return when a record was last written."""
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
    """Read a memory's records, events and actors.

    Args:
        reader: Reads the memory.
        now: The time of the check.
        redactor: Redacts excerpts.
        records: The maximum number of records; None for all.
        events: The maximum number of events; None for all.
        progress: Called with a sentence while it reads.
    """
    all_records = tuple(reader.records(limit=records, progress=progress))
    actors = tuple(reader.actors(progress=progress))
    all_events = tuple(reader.events(limit=events, progress=progress))
    counts = {"records": (records, len(all_records)), "events": (events, len(all_events))}
    return MemoryScan(
        memory=reader.memory,
        records=all_records,
        events=all_events,
        actors=actors,
        now=now,
        redactor=redactor,
        truncated=frozenset(name for name, (limit, count) in counts.items() if limit is not None and count >= limit),
    )
