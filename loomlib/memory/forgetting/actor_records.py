"""Everything that is an actor's in a memory: events by session, and records by how they are known to be the actor's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from ...aws import memory as service
from ...aws import memory_writing as writing
from ...aws.memory_shapes import MemoryRecord, metadata_event_id
from ..namespaces import RecordLocation, actor_locations, all_paths, fill_template, location_of
from ..reading import MemoryReader

Progress = Callable[[str], None]

OWN, BY_SOURCE, UNSURE = "own namespace", "told sources", "unsure"
"""In a namespace of the actor's; elsewhere, but told to come from the actor's events alone; perhaps another's."""
_TOLD_EVERY: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorRecord:
    """A record, and how it is known to be the actor's: `OWN`, `BY_SOURCE`, or `UNSURE` (which is never deleted)."""

    record: MemoryRecord
    how: str
    because: str = ""


def session_ids(reader: MemoryReader, actor_id: str) -> list[str]:
    """The actor's sessions, those that were emptied too: they stay listed for about a day."""
    return [each.session_id for each in reader.sessions(actor_id)]


def event_ids(reader: MemoryReader, actor_id: str, session_id: str) -> Iterator[str]:
    """The ids of a session's events, without their payloads."""
    region = reader.memory.region
    shapes = writing.iter_event_shapes(
        reader.clients, reader.memory.memory_id, actor_id, session_id, payloads=False, region=region
    )
    return (str(each["eventId"]) for each in shapes)


def sessions_with_events(reader: MemoryReader, actor_id: str) -> list[str]:
    """The actor's sessions that the service says have events."""
    found = service.iter_sessions(
        reader.clients, reader.memory.memory_id, actor_id, with_events=True, region=reader.memory.region
    )
    return [each.session_id for each in found]


def actor_records(
    reader: MemoryReader,
    actor_id: str,
    sessions: Iterable[str],
    events: Iterable[str],
    *,
    progress: Progress | None = None,
) -> Iterator[ActorRecord]:
    """The actor's records, each once.

    Found by the strategies' templates, by sessions where a template names only these, and by the source events that
    the service tells (`events` are the actor's). What might as well be another actor's is `UNSURE`.
    """
    mine = {metadata_event_id(each) for each in events}
    strangers = _strangers(reader, actor_id)
    seen: set[str] = set()
    places = [*actor_locations(reader.memory, actor_id), *_of_sessions(reader, actor_id, sessions)]
    for place in places:
        for record in _listed(reader, place):
            if record.record_id in seen or not place.holds(record):
                continue
            seen.add(record.record_id)
            other = next((each for each in strangers if _could_be(reader, record, each)), "")
            yield ActorRecord(
                record=record, how=UNSURE if other else OWN, because=f"it could be {other}'s" if other else ""
            )
            _tell(progress, len(seen))
    for path in all_paths(reader.memory):
        for record in _listed(reader, RecordLocation(template="", path=path)):
            if (
                record.record_id in seen
                or not (stated := {metadata_event_id(id) for id in record.stated_sources}) & mine
            ):
                continue
            seen.add(record.record_id)
            alone = stated <= mine
            because = "told to come from events of this actor" + ("" if alone else " and of others")
            yield ActorRecord(record=record, how=BY_SOURCE if alone else UNSURE, because=because)
            _tell(progress, len(seen))


def shared_templates(reader: MemoryReader) -> list[str]:
    """Templates that name neither an actor nor a session: what lies there cannot be told by its place."""
    return [
        template
        for strategy in reader.memory.strategies
        for template in strategy.namespaces
        if "{actorId}" not in template and "{sessionId}" not in template
    ]


def _listed(reader: MemoryReader, place: RecordLocation) -> Iterator[MemoryRecord]:
    return service.iter_records(
        reader.clients,
        reader.memory.memory_id,
        namespace=place.namespace,
        path=place.path,
        region=reader.memory.region,
    )


def _of_sessions(reader: MemoryReader, actor_id: str, sessions: Iterable[str]) -> Iterator[RecordLocation]:
    """Namespaces that name a session and no actor, as long as no other actor has a session of that id."""
    templates = [
        (template, strategy.strategy_id)
        for strategy in reader.memory.strategies
        for template in strategy.namespaces
        if "{sessionId}" in template and "{actorId}" not in template
    ]
    if not templates:
        return
    others = {each.session_id for who in reader.actors() if who != actor_id for each in reader.sessions(who)}
    for session_id in sessions:
        if session_id not in others:
            for template, strategy_id in templates:
                place = location_of(fill_template(template, sessionId=session_id, memoryStrategyId=strategy_id))
                if place is not None:
                    yield place


def _strangers(reader: MemoryReader, actor_id: str) -> list[str]:
    """Actors whose namespaces may be taken for this one's: one id is the other's with more behind a slash."""
    return [
        each
        for each in reader.actors()
        if each != actor_id and (each.startswith(actor_id + "/") or actor_id.startswith(each + "/"))
    ]


def _could_be(reader: MemoryReader, record: MemoryRecord, other: str) -> bool:
    return any(place.holds(record) for place in actor_locations(reader.memory, other))


def _tell(progress: Progress | None, count: int) -> None:
    if progress is not None and count % _TOLD_EVERY == 0:
        progress(f"{count:,} records of the actor found")
