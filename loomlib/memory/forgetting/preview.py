"""What forgetting an actor would delete, shown before anything is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ...dispatch import call
from ...redaction import Redactor
from ..displays import frame_of, html_rows, safe_id, text_rows
from ..reading import MemoryReader
from .actor_records import UNSURE, actor_records, event_ids, session_ids, shared_templates
from .result import ForgetResult

if TYPE_CHECKING:
    import pandas as pd

Progress = Callable[[str], None]
COLUMNS: Final = ("what", "where", "how", "count", "sample")
_SAMPLE_CHARACTERS: Final = 120
_TOLD_EVERY: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetCount:
    """So many events of a session, or records of a namespace; `how` they are known to be the actor's."""

    what: str
    where: str
    how: str
    count: int
    sample: str = field(default="", repr=False)

    def row(self) -> dict[str, Any]:
        """As a table has it."""
        return {name: getattr(self, name) for name in COLUMNS}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ForgetPreview:
    """What would be deleted; made by `memory.forget(actor)`. Nothing is, until `.confirm()`."""

    reader: MemoryReader
    actor_id: str
    parts: tuple[ForgetCount, ...]
    shared: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    told: Progress | None = None
    """Whom the preview told how far it was, and `confirm` tells unless it is given another."""

    @property
    def events(self) -> int:
        """How many events would be deleted."""
        return sum(each.count for each in self.parts if each.what == "events")

    @property
    def records(self) -> int:
        """How many records would be deleted."""
        return sum(each.count for each in self.parts if each.what == "records" and each.how != UNSURE)

    @property
    def unsure(self) -> int:
        """How many records might be another actor's, and would stay."""
        return sum(each.count for each in self.parts if each.how == UNSURE)

    def confirm(self, *, progress: Progress | None = None) -> ForgetResult:
        """Delete everything that belongs to the actor now, and check the result.

        This cannot be undone; `memory.export(path, actors=[...])` makes a copy first.
        """
        return call("ForgetPreview.confirm", self, progress=progress or self.told)

    def note(self) -> str:
        """What must be known beside it."""
        if not self.parts:
            return f"Nothing of {self.actor_id} is here: memory.actors() lists who has events"
        kept = f"{self.unsure:,} records may be another's and would stay" if self.unsure else ""
        shared = (
            f"in {', '.join(self.shared)}, which name no actor, only records whose sources are told were found"
            if self.shared
            else ""
        )
        said = f"{self.events:,} events and {self.records:,} records would be deleted; nothing is until .confirm()"
        return " · ".join(filter(None, (said, kept, shared, *self.labels)))

    def rows(self) -> list[dict[str, Any]]:
        """One row a session and namespace."""
        return [each.row() for each in self.parts]

    def frame(self) -> pd.DataFrame:
        """One row a session and namespace."""
        return frame_of(self.rows(), COLUMNS)

    def __repr__(self) -> str:
        title = f"Forgetting {self.actor_id} in {self.reader.memory.name}"
        return text_rows(title, self.note(), self.rows(), COLUMNS)

    def _repr_html_(self) -> str:
        title = f"Forgetting {self.actor_id} in {self.reader.memory.name}"
        return html_rows(title, self.note(), self.rows(), COLUMNS)


def preview_forgetting(
    reader: MemoryReader, actor_id: str, *, progress: Progress | None = None, labels: tuple[str, ...] = ()
) -> ForgetPreview:
    """Count what is an actor's, with samples in which secrets and personal data are struck out."""
    redactor = Redactor()
    parts: list[ForgetCount] = []
    events: list[str] = []
    sessions = session_ids(reader, actor_id)
    for session_id in sessions:
        found = list(event_ids(reader, actor_id, session_id))
        events += found
        if progress is not None and len(events) // _TOLD_EVERY > (len(events) - len(found)) // _TOLD_EVERY:
            progress(f"{len(events):,} events of {actor_id} found")
        if found:
            newest = next(reader.events(actor_id, session=session_id, limit=1), None)
            sample = _sample(redactor, newest.text) if newest else ""
            where = f"session {safe_id(session_id)}"
            parts.append(ForgetCount(what="events", where=where, how="own session", count=len(found), sample=sample))
    counts: Counter[tuple[str, str]] = Counter()
    samples: dict[tuple[str, str], str] = {}
    for each in actor_records(reader, actor_id, sessions, events, progress=progress):
        key = (", ".join(each.record.namespaces), each.how)
        counts[key] += 1
        if key not in samples:
            samples[key] = _sample(redactor, each.record.text)
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
        told=progress,
    )


def _sample(redactor: Redactor, text: str) -> str:
    plain = " ".join(redactor.redact(text).text.split())
    return plain if len(plain) <= _SAMPLE_CHARACTERS else f"{plain[: _SAMPLE_CHARACTERS - 1]}…"
