"""The result of forgetting an actor: what was deleted, and what a check afterwards found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ..displays import frame_of, html_rows, text_rows
from ..reading import MemoryReader
from .actor_records import UNSURE, actor_records, event_ids, session_ids, sessions_with_events

if TYPE_CHECKING:
    import pandas as pd

COLUMNS: Final = ("what", "deleted", "left")
MAY_STILL_HOLD: Final = (
    "the session and actor ids themselves, which stay listed for about a day after their last event",
    "log groups and traces of agents that spoke with the actor, by their own retention",
    "the store of invocations in Loom's home folder",
    "logs of model invocations, and streams of memory records, where these are switched on",
    "backups of the service, which AWS keeps by its own rules and shows nobody",
    "what an extraction that was under way writes later: .verify() looks again",
    "exports made before",
)
"""Where something of an actor may be after it was forgotten, for no operation of the memory reaches it."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ForgetResult:
    """What was deleted, and what a second look found.

    A session that was emptied stays listed: `left_events` are counted event by event. `known_events` are the ids of all
    that were seen, by which records are known that an extraction under way writes later.
    """

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
    def is_verified(self) -> bool:
        """Whether the second look found nothing of the actor's."""
        return not self.left_events and not self.left_records

    @property
    def may_still_hold(self) -> tuple[str, ...]:
        """Where something of the actor may be still."""
        unsure = (f"{self.unsure:,} records that may be another actor's, left alone",) if self.unsure else ()
        return (*unsure, *MAY_STILL_HOLD)

    def verify(self) -> ForgetResult:
        """The same with a look of now: extractions under way may have written since."""
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
        """Events and records."""
        return [
            {"what": "events", "deleted": self.events, "left": self.left_events},
            {"what": "records", "deleted": self.records, "left": self.left_records},
        ]

    def frame(self) -> pd.DataFrame:
        """Events and records."""
        return frame_of(self.rows(), COLUMNS)

    def note(self) -> str:
        """What was found, and what may be elsewhere."""
        seen = "verified: a second look found nothing" if self.is_verified else "NOT all is gone"
        failed = f"{len(self.failures)} failures, the first: {self.failures[0]}" if self.failures else ""
        elsewhere = "out of reach: " + "; ".join(self.may_still_hold)
        return " · ".join(filter(None, (seen, failed, elsewhere, *self.labels)))

    def __repr__(self) -> str:
        return text_rows(f"{self.actor_id} in {self.reader.memory.name}", self.note(), self.rows(), COLUMNS)

    def _repr_html_(self) -> str:
        return html_rows(f"{self.actor_id} in {self.reader.memory.name}", self.note(), self.rows(), COLUMNS)


def count_left(reader: MemoryReader, actor_id: str, events: Iterable[str] = ()) -> tuple[int, int, int]:
    """How many events and records of an actor there are, and how many records that may be another's."""
    sessions = list(dict.fromkeys([*sessions_with_events(reader, actor_id), *session_ids(reader, actor_id)]))
    here = [each for session in sessions for each in event_ids(reader, actor_id, session)]
    found = list(actor_records(reader, actor_id, sessions, [*here, *events]))
    unsure = sum(each.how == UNSURE for each in found)
    return len(here), len(found) - unsure, unsure
