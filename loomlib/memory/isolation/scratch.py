"""Temporary records and events of an isolation test, in their own namespace, and their removal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ...aws import memory_writing as writing
from ...aws.memory import iter_records
from ...errors import LoomError
from ..reading import MemoryReader
from .subjects import IsolationSubject

CANARY = "isolation canary that belongs to nobody else"
SESSION = "shared-session"


@dataclass(slots=True)
class ScratchData:
    """Test data that an isolation test has written.

    Attributes:
        reader: Reads the memory.
        root: The namespace above all records.
        records: Owners of the records by id.
        events: Owners of the events by id.
        speakers: Actors for which an event was requested.
    """

    reader: MemoryReader
    root: str
    records: dict[str, IsolationSubject] = field(default_factory=dict[str, IsolationSubject])
    events: dict[str, IsolationSubject] = field(default_factory=dict[str, IsolationSubject])
    speakers: list[IsolationSubject] = field(default_factory=list[IsolationSubject])

    def write_records(self, places: Sequence[tuple[IsolationSubject, str]], token: str) -> None:
        """Write one record into each namespace.

        Args:
            places: Owners and namespaces.
            token: Prefix of the client tokens.
        """
        memory = self.reader.memory
        for number, batch in enumerate(_batched(places, writing.BATCH)):
            shapes = [
                {
                    "requestIdentifier": f"r{place}",
                    "namespaces": [namespace],
                    "content": {"text": CANARY},
                    "timestamp": datetime.now(UTC),
                }
                for place, (_, namespace) in enumerate(batch)
            ]
            new_ids, refused = writing.create_records(
                self.reader.clients, memory.memory_id, shapes, token=f"{token}-{number}", region=memory.region
            )
            self.records.update(
                {new_ids[f"r{place}"]: who for place, (who, _) in enumerate(batch) if f"r{place}" in new_ids}
            )
            if refused:
                raise LoomError(
                    "A record of the isolation test was refused",
                    on=next(iter(refused.values())),
                    try_="patterns=, with namespaces that the memory accepts",
                )

    def write_events(self, subjects: Sequence[IsolationSubject], token: str) -> None:
        """Write one event for each actor, all in sessions with the same id, without extraction.

        Args:
            subjects: The actors.
            token: Prefix of the client tokens.
        """
        memory = self.reader.memory
        for number, who in enumerate(subjects):
            request: Mapping[str, Any] = {
                "memoryId": memory.memory_id,
                "actorId": who.actor_id,
                "sessionId": SESSION,
                "eventTimestamp": datetime.now(UTC),
                "payload": [{"conversational": {"role": "USER", "content": {"text": CANARY}}}],
                "clientToken": f"{token}-e{number}",
                "extractionMode": "SKIP",
            }
            self.speakers.append(who)
            event = writing.create_event(self.reader.clients, request, region=memory.region)
            self.events[str(event["eventId"])] = who

    def clean(self) -> list[str]:
        """Delete all test data, including writes that got no response.

        Returns:
            What could not be deleted, with the reason.
        """
        memory, failures = self.reader.memory, list[str]()
        for event_id, who in [*self.events.items(), *self._unanswered(failures)]:
            try:
                writing.delete_event(
                    self.reader.clients, memory.memory_id, who.actor_id, SESSION, event_id, region=memory.region
                )
            except LoomError as error:
                failures.append(f"event {event_id} of {who.actor_id}: {error}")
        try:
            records = iter_records(self.reader.clients, memory.memory_id, path=self.root, region=memory.region)
            ids = list(dict.fromkeys([*self.records, *(record.record_id for record in records)]))
            remaining = writing.delete_records(self.reader.clients, memory.memory_id, ids, region=memory.region)
            failures += [f"record {record_id}: {reason}" for record_id, reason in remaining.items()]
        except LoomError as error:
            failures.append(f"records below {self.root}: {error}")
        return failures

    def _unanswered(self, failures: list[str]) -> list[tuple[str, IsolationSubject]]:
        """Return the events of actors whose write got no response."""
        memory, unanswered = self.reader.memory, list[tuple[str, IsolationSubject]]()
        for who in self.speakers:
            if who in self.events.values():
                continue
            try:
                shapes = writing.iter_event_shapes(
                    self.reader.clients, memory.memory_id, who.actor_id, SESSION, payloads=False, region=memory.region
                )
                unanswered += [(str(shape["eventId"]), who) for shape in shapes if shape["actorId"] == who.actor_id]
            except LoomError as error:
                failures.append(f"events of {who.actor_id}: {error}")
        return unanswered


def _batched(places: Sequence[tuple[IsolationSubject, str]], size: int) -> list[Sequence[tuple[IsolationSubject, str]]]:
    return [places[start : start + size] for start in range(0, len(places), size)]
