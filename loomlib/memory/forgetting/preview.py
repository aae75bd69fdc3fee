"""Preview of what forgetting an actor would delete."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from ...dispatch import call
from ...presentation.formats import join, plural
from ...redaction import Redactor
from ..displays import TableReport, safe_id
from ..reading import MemoryReader
from .actor_records import UNSURE, actor_records, event_ids, session_ids, shared_templates
from .result import ForgetResult

Progress = Callable[[str], None]
COLUMNS: Final = ("what", "where", "how", "count", "sample")
_SAMPLE_CHARACTERS: Final = 120
_PROGRESS_EVENTS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetCount:
    """Number of an actor's events in a session, or records in a namespace.

    Attributes:
        what: "events" or "records".
        where: The session or namespace.
        how: How they are known to belong to the actor.
        count: How many.
        sample: The start of one of them, redacted.
    """

    what: str
    where: str
    how: str
    count: int
    sample: str = field(default="", repr=False)

    def row(self) -> dict[str, Any]:
        """Return the count as a table row."""
        return {name: getattr(self, name) for name in COLUMNS}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ForgetPreview(TableReport):
    """Preview of a deletion; returned by `memory.forget(actor)`. Only `.confirm()` deletes.

    Attributes:
        reader: Reads the memory.
        actor_id: The actor.
        parts: Counts by session and namespace.
        shared: Namespace templates that name no actor.
        labels: Provenance labels.
        progress: The preview's progress callback, which `confirm` uses unless it gets its own.
    """

    columns: ClassVar = COLUMNS
    reader: MemoryReader
    actor_id: str
    parts: tuple[ForgetCount, ...]
    shared: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    progress: Progress | None = None

    @property
    def title(self) -> str:
        """The title of its displays."""
        return f"Forgetting {self.actor_id} in {self.reader.memory.name}"

    @property
    def events(self) -> int:
        """Number of events that would be deleted."""
        return sum(part.count for part in self.parts if part.what == "events")

    @property
    def records(self) -> int:
        """Number of records that would be deleted."""
        return sum(part.count for part in self.parts if part.what == "records" and part.how != UNSURE)

    @property
    def unsure(self) -> int:
        """Number of records that may belong to another actor and would not be deleted."""
        return sum(part.count for part in self.parts if part.how == UNSURE)

    def confirm(self, *, progress: Progress | None = None) -> ForgetResult:
        """Delete everything that belongs to the actor now, and check the result.

        This cannot be undone; `memory.export(path, actors=[...])` makes a copy first.
        """
        return call("ForgetPreview.confirm", self, progress=progress or self.progress)

    def note(self) -> str:
        """Return what would be deleted, what would not, and the labels."""
        if not self.parts:
            return f"Nothing of {self.actor_id} is stored; memory.actors() lists who has events"
        unsure = (
            f"{plural(self.unsure, 'record')} may belong to another actor and would not be deleted"
            if self.unsure
            else ""
        )
        shared = (
            f"{join(self.shared)} names no actor, so only records with stated sources are found there"
            if len(self.shared) == 1
            else f"{join(self.shared)} name no actor, so only records with stated sources are found there"
            if self.shared
            else ""
        )
        counts = f"{plural(self.events, 'event')} and {plural(self.records, 'record')}"
        deleted = f"{counts} would be deleted; only .confirm() deletes"
        return " · ".join(filter(None, (deleted, unsure, shared, *self.labels)))

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per session and namespace."""
        return [part.row() for part in self.parts]


def preview_forgetting(
    reader: MemoryReader, actor_id: str, *, progress: Progress | None = None, labels: tuple[str, ...] = ()
) -> ForgetPreview:
    """Count the stored data of an actor, with redacted samples.

    Args:
        reader: Reads the memory.
        actor_id: The actor.
        progress: Called with a sentence while it searches.
        labels: Provenance labels of the result.
    """
    redactor = Redactor()
    parts: list[ForgetCount] = []
    events: list[str] = []
    sessions = session_ids(reader, actor_id)
    for session_id in sessions:
        ids = list(event_ids(reader, actor_id, session_id))
        events += ids
        if progress is not None and len(events) // _PROGRESS_EVENTS > (len(events) - len(ids)) // _PROGRESS_EVENTS:
            progress(f"{plural(len(events), 'event')} of {actor_id} found")
        if ids:
            newest = next(reader.events(actor_id, session=session_id, limit=1), None)
            sample = _sample(redactor, newest.text) if newest else ""
            where = f"session {safe_id(session_id)}"
            parts.append(ForgetCount(what="events", where=where, how="own session", count=len(ids), sample=sample))
    counts: Counter[tuple[str, str]] = Counter()
    samples: dict[tuple[str, str], str] = {}
    for item in actor_records(reader, actor_id, sessions, events, progress=progress):
        key = (", ".join(item.record.namespaces), item.how)
        counts[key] += 1
        if key not in samples:
            samples[key] = _sample(redactor, item.record.text)
    parts += [
        ForgetCount(what="records", where=safe_id(where), how=how, count=count, sample=samples[where, how])
        for (where, how), count in sorted(counts.items())
    ]
    return ForgetPreview(
        reader=reader,
        actor_id=actor_id,
        parts=tuple(parts),
        shared=tuple(shared_templates(reader)),
        labels=labels,
        progress=progress,
    )


def _sample(redactor: Redactor, text: str) -> str:
    plain = " ".join(redactor.redact(text).text.split())
    return plain if len(plain) <= _SAMPLE_CHARACTERS else f"{plain[: _SAMPLE_CHARACTERS - 1]}…"
