"""The result of forgetting an actor: what was deleted, and whether a later search found anything left."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from ...presentation.formats import plural
from ..displays import TableReport
from ..reading import MemoryReader
from .actor_records import UNSURE, actor_records, event_ids, session_ids, sessions_with_events

COLUMNS: Final = ("what", "deleted", "left")
MAY_STILL_HOLD: Final = (
    "the session and actor ids themselves, which stay listed for about a day after their last event",
    "logs and traces of agents that answered the actor, until their own retention ends",
    "invocations in the store of Loom's home folder",
    "logs of model invocations and streams of memory records, where they are enabled",
    "backups of the service, which AWS manages and does not show",
    "records that a running extraction writes later (.verify() searches again)",
    "exports that were made earlier",
)
"""Where data of a forgotten actor may still be stored, out of reach of the memory's operations."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ForgetResult(TableReport):
    """The result of a deletion, and of the search after it.

    Attributes:
        reader: Reads the memory.
        actor_id: The actor.
        events: Number of deleted events.
        records: Number of deleted records.
        left_events: Number of events that are still stored, counted event by event (emptied sessions stay listed).
        left_records: Number of the actor's records that are still stored.
        unsure: Number of records that may belong to another actor; they are not deleted.
        failures: Messages of failed requests.
        known_events: Ids of all the actor's events, which identify records that a running extraction writes later.
        labels: Provenance labels.
    """

    columns: ClassVar = COLUMNS
    reader: MemoryReader
    actor_id: str
    events: int
    records: int
    left_events: int
    left_records: int
    unsure: int = 0
    failures: tuple[str, ...] = ()
    known_events: frozenset[str] = frozenset()
    labels: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The title of its displays."""
        return f"{self.actor_id} in {self.reader.memory.name}"

    @property
    def is_verified(self) -> bool:
        """Whether the search afterwards found no data of the actor."""
        return not self.left_events and not self.left_records

    @property
    def may_still_hold(self) -> tuple[str, ...]:
        """Where data of the actor may remain stored."""
        verb = "was" if self.unsure == 1 else "were"
        remaining = f"{plural(self.unsure, 'record')} that may belong to another actor and {verb} not deleted"
        unsure = (remaining,) if self.unsure else ()
        return (*unsure, *MAY_STILL_HOLD)

    def verify(self) -> ForgetResult:
        """Search again, because a running extraction may have written records in the meantime."""
        left_events, left_records, unsure = count_left(self.reader, self.actor_id, self.known_events)
        return ForgetResult(
            reader=self.reader,
            actor_id=self.actor_id,
            events=self.events,
            records=self.records,
            left_events=left_events,
            left_records=left_records,
            unsure=unsure,
            failures=self.failures,
            known_events=self.known_events,
            labels=self.labels,
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for events and one for records."""
        return [
            {"what": "events", "deleted": self.events, "left": self.left_events},
            {"what": "records", "deleted": self.records, "left": self.left_records},
        ]

    def note(self) -> str:
        """Return whether the deletion is verified, the first failure, and where data may remain stored."""
        remaining = f"{plural(self.left_events, 'event')} and {plural(self.left_records, 'record')}"
        state = (
            "verified: a second search found nothing"
            if self.is_verified
            else f"NOT complete: {remaining} are still stored"
        )
        failed = f"{plural(len(self.failures), 'failure')}, the first: {self.failures[0]}" if self.failures else ""
        elsewhere = "may still be stored: " + "; ".join(self.may_still_hold)
        return " · ".join(filter(None, (state, failed, elsewhere, *self.labels)))


def count_left(reader: MemoryReader, actor_id: str, events: Iterable[str] = ()) -> tuple[int, int, int]:
    """Count the stored data of an actor.

    Args:
        reader: Reads the memory.
        actor_id: The actor.
        events: Ids of deleted events of the actor, to find records that were extracted from them.

    Returns:
        The number of events, of records, and of records that may belong to another actor.
    """
    sessions = list(dict.fromkeys([*sessions_with_events(reader, actor_id), *session_ids(reader, actor_id)]))
    stored = [event_id for session in sessions for event_id in event_ids(reader, actor_id, session)]
    records = list(actor_records(reader, actor_id, sessions, [*stored, *events]))
    unsure = sum(record.how == UNSURE for record in records)
    return len(stored), len(records) - unsure, unsure
