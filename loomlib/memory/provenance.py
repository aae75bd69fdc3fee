"""Where a record came from: the events that the service tells, else those that say the same, labelled as inferred."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import islice
from typing import Any, Final

from ..aws.memory_shapes import MemoryEvent, MemoryRecord, metadata_event_id
from ..embeddings import MODEL_NAME, embed
from ..presentation.formats import plural
from .namespaces import NamespaceOwner, owner_of
from .reading import MemoryReader

PROVENANCE_STATES: Final = ("told", "told_but_gone", "inferred", "nothing_alike", "no_events")
"""`told` by the service; told, but its events expired or were deleted; inferred by similarity; nothing found."""

ALIKE_FROM: Final = 0.5
"""The least cosine at which a sentence counts as a source. With the shipped embeddings restatements of a fact lie at
0.55 to 0.95, unrelated sentences below 0.15 (tests/service/memory/test_inspection_provenance.py has pairs)."""
SCANNED_EVENTS: Final = 20_000
"""Events looked at for one record unless told otherwise."""

_AT_ONCE: Final = 500
_LATER: Final = timedelta(minutes=5)  # clocks differ
_TAG: Final = re.compile(r"<[^<>]*>")
_TELLING: Final = 12  # characters; "Noted." is like every other "Noted."
_MOST_STATEMENTS: Final = 100
_SENTENCE: Final = re.compile(r"(?<=[.!?\n])\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEvent:
    """An event that a record came from, with the sentence of it that says the same.

    `certainty` is "told" or "inferred"; `score` is the cosine of `said` and the record's nearest sentence.
    """

    event: MemoryEvent
    certainty: str
    score: float | None = None
    said: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """A record's sources, the surest first. `state` is one of `PROVENANCE_STATES`; `scanned` counts events read."""

    record: MemoryRecord
    state: str
    sources: tuple[SourceEvent, ...] = ()
    owner: NamespaceOwner | None = None
    scanned: int = 0
    is_truncated: bool = False
    missing: tuple[str, ...] = ()

    def sentence(self) -> str:
        """How it is known, in words."""
        scanned = f"{plural(self.scanned, 'event')} read"
        if self.is_truncated:
            scanned += ", the limit; scan= sets a higher one"
        how = {
            "told": f"The service tells {len(self.sources)} source event{'s' if len(self.sources) != 1 else ''}",
            "told_but_gone": "The service tells source events, but none of them is found: expired or deleted",
            "inferred": f"Inferred by similarity ({MODEL_NAME}, from {ALIKE_FROM:g} on), the service tells no sources",
            "nothing_alike": "The service tells no sources, and no event says anything alike",
            "no_events": "There are no events left that it could have come from",
        }[self.state]
        gone = f"; {len(self.missing)} more are expired or deleted" if self.state == "told" and self.missing else ""
        by = f" · extracted by: {self.record.extractor}" if self.record.extractor else ""
        return f"{how}{gone} · {scanned}{by}"

    def table(self) -> list[dict[str, Any]]:
        """One row a source."""
        return [
            {
                "certainty": each.certainty,
                "score": each.score,
                "timestamp": each.event.timestamp,
                "actor_id": each.event.actor_id,
                "memory_session_id": each.event.session_id,
                "said": each.said,
                "branch": each.event.branch,
                "event_id": each.event.event_id,
            }
            for each in self.sources
        ]


def find_provenance(
    reader: MemoryReader,
    record: MemoryRecord,
    *,
    top: int = 5,
    scan: int = SCANNED_EVENTS,
    progress: Callable[[str], None] | None = None,
) -> Provenance:
    """The events that a record came from; at most `scan` events are read, and `top` inferred sources given.

    Events are looked for with the actor (and session) that the record's namespace names; where it names none, with
    every actor.
    """
    owner = next(filter(None, (owner_of(each, reader.memory.strategies) for each in record.namespaces)), None)
    actor = owner.actor_id or None if owner else None
    session = owner.session_id or None if owner and actor else None
    scanned = _Counted(reader.events(actor, session=session, limit=scan, progress=progress))
    if record.stated_sources:
        sources, missing = _told(record, scanned)
        state = "told" if sources else "told_but_gone"
    else:
        missing = ()
        sources = _inferred(record, scanned, top)
        state = "inferred" if sources else "nothing_alike" if scanned.count else "no_events"
    return Provenance(
        record=record,
        state=state,
        sources=tuple(sources),
        owner=owner,
        scanned=scanned.count,
        is_truncated=scanned.count >= scan,
        missing=missing,
    )


class _Counted:
    def __init__(self, events: Iterable[MemoryEvent]) -> None:
        self._events, self.count = iter(events), 0

    def __iter__(self) -> _Counted:
        return self

    def __next__(self) -> MemoryEvent:
        event = next(self._events)
        self.count += 1
        return event


def _told(record: MemoryRecord, events: Iterable[MemoryEvent]) -> tuple[list[SourceEvent], tuple[str, ...]]:
    wanted = {metadata_event_id(each) for each in record.stated_sources}
    found: list[MemoryEvent] = []
    for event in events:
        if metadata_event_id(event.event_id) in wanted:
            wanted.discard(metadata_event_id(event.event_id))
            found.append(event)
            if not wanted:
                break
    best = _best_sentences(record.text, found)
    sources = [
        SourceEvent(event=event, certainty="told", score=score, said=said)
        for event, (score, said) in zip(found, best, strict=True)
    ]
    return sorted(sources, key=lambda each: each.event.timestamp), tuple(sorted(wanted))


def _inferred(record: MemoryRecord, events: Iterable[MemoryEvent], top: int) -> list[SourceEvent]:
    latest = max(record.created_at, record.updated_at or record.created_at) + _LATER
    sources: list[SourceEvent] = []
    source = iter(events)
    while part := list(islice(source, _AT_ONCE)):
        possible = [event for event in part if event.timestamp <= latest]
        for event, (score, said) in zip(possible, _best_sentences(record.text, possible), strict=True):
            if score >= ALIKE_FROM:
                sources.append(SourceEvent(event=event, certainty="inferred", score=score, said=said))
        sources = sorted(sources, key=lambda each: -(each.score or 0.0))[:top]
    return sources


def _best_sentences(text: str, events: Sequence[MemoryEvent]) -> list[tuple[float, str]]:
    """For each event its sentence that is nearest to one of the record's, with the cosine; a user's go first."""
    said: list[tuple[int, str]] = []
    for number, event in enumerate(events):
        people = [each for each in event.messages if each.role == "USER"] or list(event.messages)
        said += [(number, part) for each in people for part in _SENTENCE.split(each.text) if part.strip()]
    best: list[tuple[float, str]] = [(0.0, "")] * len(events)
    if said:
        scores = (embed([part for _, part in said]) @ embed(_statements(text)).T).max(axis=1)
        for (number, part), score in zip(said, scores, strict=True):
            if float(score) > best[number][0]:
                best[number] = (min(1.0, float(score)), part.strip())
    return best


def _statements(text: str) -> list[str]:
    """What a record states, sentence by sentence: of a preference's JSON what is preferred, of a summary no tags."""
    if text.lstrip().startswith("{"):
        with suppress(ValueError):
            inner: Any = json.loads(text)
            text = str(inner.get("preference") or text) if isinstance(inner, dict) else text  # pyright: ignore[reportUnknownMemberType,reportUnknownArgumentType]
    parts = [each.strip() for each in _SENTENCE.split(_TAG.sub("\n", text)) if len(each.strip()) >= _TELLING]
    return parts[:_MOST_STATEMENTS] or [text]
