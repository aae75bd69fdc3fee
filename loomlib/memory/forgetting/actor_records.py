"""Finds an actor's events by session, and an actor's records by namespace and by source event."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from ...aws import memory as service
from ...aws import memory_writing as writing
from ...aws.memory_shapes import MemoryRecord, metadata_event_id
from ...presentation.formats import number
from ..namespaces import RecordLocation, actor_locations, all_paths, fill_template, location_of
from ..reading import MemoryReader

Progress = Callable[[str], None]

OWN, BY_SOURCE, UNSURE = "own namespace", "stated sources", "unsure"
"""How a record belongs to an actor: in a namespace of the actor; elsewhere, but all its stated source events are the
actor's; or it may belong to another actor."""
_PROGRESS_RECORDS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorRecord:
    """A record of an actor.

    Attributes:
        record: The record.
        how: `OWN`, `BY_SOURCE`, or `UNSURE` (never deleted).
        because: The reason, where it is not the namespace.
    """

    record: MemoryRecord
    how: str
    because: str = ""


def session_ids(reader: MemoryReader, actor_id: str) -> list[str]:
    """Return the actor's session ids, including emptied sessions, which stay listed for about a day."""
    return [session.session_id for session in reader.sessions(actor_id)]


def event_ids(reader: MemoryReader, actor_id: str, session_id: str) -> Iterator[str]:
    """Yield the ids of a session's events; payloads are not read.

    Args:
        reader: Reads the memory.
        actor_id: The actor.
        session_id: One of the actor's sessions.
    """
    region = reader.memory.region
    shapes = writing.iter_event_shapes(
        reader.clients, reader.memory.memory_id, actor_id, session_id, payloads=False, region=region
    )
    return (str(shape["eventId"]) for shape in shapes)


def sessions_with_events(reader: MemoryReader, actor_id: str) -> list[str]:
    """Return the ids of the actor's sessions that have events, according to the service."""
    sessions = service.iter_sessions(
        reader.clients, reader.memory.memory_id, actor_id, with_events=True, region=reader.memory.region
    )
    return [session.session_id for session in sessions]


def actor_records(
    reader: MemoryReader,
    actor_id: str,
    sessions: Iterable[str],
    events: Iterable[str],
    *,
    progress: Progress | None = None,
) -> Iterator[ActorRecord]:
    """Yield the actor's records, each once.

    They are found by the strategies' templates that name the actor or only the session, and by the source events that
    the service states. A record that may belong to another actor is `UNSURE`.

    Args:
        reader: Reads the memory.
        actor_id: The actor.
        sessions: The actor's session ids.
        events: Ids of the actor's events.
        progress: Called with a sentence after every 500 records.
    """
    own_events = {metadata_event_id(event_id) for event_id in events}
    similar = _similar_actors(reader, actor_id)
    seen_ids: set[str] = set()
    locations = [*actor_locations(reader.memory, actor_id), *_session_locations(reader, actor_id, sessions)]
    for location in locations:
        for record in _records_at(reader, location):
            if record.record_id in seen_ids or not location.holds(record):
                continue
            seen_ids.add(record.record_id)
            other = next((actor for actor in similar if _may_belong_to(reader, record, actor)), "")
            yield ActorRecord(
                record=record, how=UNSURE if other else OWN, because=f"it may belong to {other}" if other else ""
            )
            _report(progress, len(seen_ids))
    for path in all_paths(reader.memory, reader.actors):
        for record in _records_at(reader, RecordLocation(template="", path=path)):
            if (
                record.record_id in seen_ids
                or not (stated := {metadata_event_id(id) for id in record.stated_sources}) & own_events
            ):
                continue
            seen_ids.add(record.record_id)
            only_own = stated <= own_events
            because = "the service states source events of this actor" + ("" if only_own else " and of others")
            yield ActorRecord(record=record, how=BY_SOURCE if only_own else UNSURE, because=because)
            _report(progress, len(seen_ids))


def shared_templates(reader: MemoryReader) -> list[str]:
    """Return the templates that name neither actor nor session, so that a record's owner is unknown."""
    return [
        template
        for strategy in reader.memory.strategies
        for template in strategy.namespaces
        if "{actorId}" not in template and "{sessionId}" not in template
    ]


def _records_at(reader: MemoryReader, location: RecordLocation) -> Iterator[MemoryRecord]:
    return service.iter_records(
        reader.clients,
        reader.memory.memory_id,
        namespace=location.namespace,
        path=location.path,
        region=reader.memory.region,
    )


def _session_locations(reader: MemoryReader, actor_id: str, sessions: Iterable[str]) -> Iterator[RecordLocation]:
    """Yield namespaces by templates that name only the session, for sessions whose id no other actor has."""
    templates = [
        (template, strategy.strategy_id)
        for strategy in reader.memory.strategies
        for template in strategy.namespaces
        if "{sessionId}" in template and "{actorId}" not in template
    ]
    if not templates:
        return
    others = {
        session.session_id for other in reader.actors() if other != actor_id for session in reader.sessions(other)
    }
    for session_id in sessions:
        if session_id not in others:
            for template, strategy_id in templates:
                location = location_of(fill_template(template, sessionId=session_id, memoryStrategyId=strategy_id))
                if location is not None:
                    yield location


def _similar_actors(reader: MemoryReader, actor_id: str) -> list[str]:
    """Return the actors whose namespaces may match this actor's.

    One id begins with the other and a slash. Where a template has another placeholder in the same path segment as
    `{actorId}`, the namespaces of any two actors may match.
    """
    templates = [template for strategy in reader.memory.strategies for template in strategy.namespaces]
    is_shared = any(map(_shares_its_name, templates))
    return [
        other
        for other in reader.actors()
        if other != actor_id and (is_shared or other.startswith(actor_id + "/") or actor_id.startswith(other + "/"))
    ]


def _shares_its_name(template: str) -> bool:
    """Return whether a template has another placeholder in the same path segment as `{actorId}`."""
    return any("{actorId}" in part and part.count("{") > 1 for part in template.split("/"))


def _may_belong_to(reader: MemoryReader, record: MemoryRecord, other: str) -> bool:
    return any(location.holds(record) for location in actor_locations(reader.memory, other))


def _report(progress: Progress | None, count: int) -> None:
    if progress is not None and count % _PROGRESS_RECORDS == 0:
        progress(f"{number(count)} records of the actor found")
