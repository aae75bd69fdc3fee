"""Where a record came from: the events that the service states, else similar events, marked as inferred."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import islice
from typing import Any, Final

from ..aws.memory_shapes import MemoryEvent, MemoryRecord, metadata_event_id
from ..embeddings import MODEL_NAME, embed
from ..json_values import parse_object
from ..presentation.formats import exact, number, plural
from .namespaces import NamespaceOwner, owner_of
from .reading import MemoryReader

PROVENANCE_STATES: Final = (
    "stated", "stated_but_deleted", "stated_but_not_read", "inferred", "no_similar_event", "no_events",
)  # fmt: skip
"""`stated`: the service states the source events; `stated_but_deleted`: it does, but they expired or were deleted;
`stated_but_not_read`: it does, but the limit of events was reached before them; `inferred`: by similarity;
`no_similar_event`: no event is similar; `no_events`: the actor has no events."""

ALIKE_FROM: Final = 0.5
"""The least cosine at which a sentence counts as a source. With the shipped embeddings, restatements of a fact are at
0.55 to 0.95 and unrelated sentences below 0.15 (tests/service/memory/test_inspection_provenance.py has pairs)."""
SCANNED_EVENTS: Final = 20_000
"""The most events that are read for one record by default."""

_BATCH: Final = 500
_CLOCK_DIFFERENCE: Final = timedelta(minutes=5)
_TAG: Final = re.compile(r"<[^<>]*>")
_SHORTEST_STATEMENT: Final = 12  # characters; "Noted." is similar to every other "Noted."
_MOST_STATEMENTS: Final = 100
_NOT_READ: Final = "not among the events that were read"
_SENTENCE: Final = re.compile(r"(?<=[.!?\n])\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEvent:
    """An event that a record came from.

    Attributes:
        event: The event.
        certainty: "stated" (stated by the service) or "inferred".
        score: Cosine similarity of `excerpt` and the record's nearest sentence.
        excerpt: The event's sentence that is most similar to the record.
    """

    event: MemoryEvent
    certainty: str
    score: float | None = None
    excerpt: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """The sources of a record, the most certain first.

    Attributes:
        record: The record.
        state: One of `PROVENANCE_STATES`.
        sources: The source events.
        owner: The actor and session that the record's namespace names.
        scanned: How many events were read.
        is_truncated: Whether the limit of events was reached.
        missing: Ids of stated source events that expired or were deleted; where the limit was reached, that were not
            among the events that were read.
    """

    record: MemoryRecord
    state: str
    sources: tuple[SourceEvent, ...] = ()
    owner: NamespaceOwner | None = None
    scanned: int = 0
    is_truncated: bool = False
    missing: tuple[str, ...] = ()

    def sentence(self) -> str:
        """Describe in a sentence how the sources are known."""
        how = {
            "stated": f"The service states {plural(len(self.sources), 'source event')}",
            "stated_but_deleted": "The service states source events, but they have expired or were deleted",
            "stated_but_not_read": f"The service states source events, which are {_NOT_READ}",
            "inferred": f"Inferred by similarity ({MODEL_NAME}, cosine from {exact(ALIKE_FROM)}); "
            "the service states no sources",
            "no_similar_event": "The service states no sources, and no event is similar to the record",
            "no_events": "No sources: the actor has no events, or no longer has any",
        }[self.state]
        if self.state == "stated" and self.missing:
            why = _NOT_READ if self.is_truncated else "expired or deleted"
            how += f"; {number(len(self.missing))} more: {why}"
        scanned = f"{plural(self.scanned, 'event')} read"
        if self.is_truncated:
            scanned += ", the limit; scan= sets a higher one"
        by = f" · extracted by: {self.record.extractor}" if self.record.extractor else ""
        return f"{how} · {scanned}{by}"

    def table(self) -> list[dict[str, Any]]:
        """Return one row per source."""
        return [
            {
                "certainty": source.certainty,
                "score": source.score,
                "timestamp": source.event.timestamp,
                "actor_id": source.event.actor_id,
                "memory_session_id": source.event.session_id,
                "excerpt": source.excerpt,
                "branch": source.event.branch,
                "event_id": source.event.event_id,
            }
            for source in self.sources
        ]


def find_provenance(
    reader: MemoryReader,
    record: MemoryRecord,
    *,
    top: int = 5,
    scan: int = SCANNED_EVENTS,
    progress: Callable[[str], None] | None = None,
) -> Provenance:
    """Find the events that a record came from.

    The search covers the actor (and session) that the record's namespace names, or every actor when it names none.

    Args:
        reader: Reads the memory.
        record: The record.
        top: The maximum number of sources to infer.
        scan: The maximum number of events to read.
        progress: Called with a sentence while events are read.
    """
    owners = (owner_of(namespace, reader.memory.strategies) for namespace in record.namespaces)
    owner = next(filter(None, owners), None)
    actor = owner.actor_id or None if owner else None
    session = owner.session_id or None if owner and actor else None
    events = _CountedEvents(reader.events(actor, session=session, limit=scan, progress=progress))
    if record.stated_sources:
        sources, missing = _stated_sources(record, events)
        state = "stated" if sources else "stated_but_not_read" if events.count >= scan else "stated_but_deleted"
    else:
        missing = ()
        sources = _inferred_sources(record, events, top)
        state = "inferred" if sources else "no_similar_event" if events.count else "no_events"
    return Provenance(
        record=record,
        state=state,
        sources=tuple(sources),
        owner=owner,
        scanned=events.count,
        is_truncated=events.count >= scan,
        missing=missing,
    )


class _CountedEvents:
    def __init__(self, events: Iterable[MemoryEvent]) -> None:
        self._events, self.count = iter(events), 0

    def __iter__(self) -> _CountedEvents:
        return self

    def __next__(self) -> MemoryEvent:
        event = next(self._events)
        self.count += 1
        return event


def _stated_sources(record: MemoryRecord, events: Iterable[MemoryEvent]) -> tuple[list[SourceEvent], tuple[str, ...]]:
    """Return the stated source events, and the ids of those that are missing."""
    missing = {metadata_event_id(event_id) for event_id in record.stated_sources}
    present: list[MemoryEvent] = []
    for event in events:
        if metadata_event_id(event.event_id) in missing:
            missing.discard(metadata_event_id(event.event_id))
            present.append(event)
            if not missing:
                break
    best = _best_sentences(record.text, present)
    sources = [
        SourceEvent(event=event, certainty="stated", score=score, excerpt=sentence)
        for event, (score, sentence) in zip(present, best, strict=True)
    ]
    return sorted(sources, key=lambda source: source.event.timestamp), tuple(sorted(missing))


def _inferred_sources(record: MemoryRecord, events: Iterable[MemoryEvent], top: int) -> list[SourceEvent]:
    latest = max(record.created_at, record.updated_at or record.created_at) + _CLOCK_DIFFERENCE
    sources: list[SourceEvent] = []
    remaining = iter(events)
    while batch := list(islice(remaining, _BATCH)):
        earlier = [event for event in batch if event.timestamp <= latest]
        for event, (score, sentence) in zip(earlier, _best_sentences(record.text, earlier), strict=True):
            if score >= ALIKE_FROM:
                sources.append(SourceEvent(event=event, certainty="inferred", score=score, excerpt=sentence))
        sources = sorted(sources, key=lambda source: -(source.score or 0.0))[:top]
    return sources


def _best_sentences(text: str, events: Sequence[MemoryEvent]) -> list[tuple[float, str]]:
    """Return for each event its sentence nearest to the record, with the cosine; user messages are preferred."""
    sentences: list[tuple[int, str]] = []
    for index, event in enumerate(events):
        messages = [message for message in event.messages if message.role == "USER"] or list(event.messages)
        sentences += [(index, part) for message in messages for part in _SENTENCE.split(message.text) if part.strip()]
    best: list[tuple[float, str]] = [(0.0, "")] * len(events)
    if sentences:
        scores = (embed([part for _, part in sentences]) @ embed(_statements(text)).T).max(axis=1)
        for (index, part), score in zip(sentences, scores, strict=True):
            if float(score) > best[index][0]:
                best[index] = (min(1.0, float(score)), part.strip())
    return best


def _statements(text: str) -> list[str]:
    """Return a record's sentences; of a preference's JSON the preference, of a summary the text without tags."""
    if text.lstrip().startswith("{"):
        text = str(parse_object(text).get("preference") or text)
    parts = [part.strip() for part in _SENTENCE.split(_TAG.sub("\n", text))]
    return [part for part in parts if len(part) >= _SHORTEST_STATEMENT][:_MOST_STATEMENTS] or [text]
