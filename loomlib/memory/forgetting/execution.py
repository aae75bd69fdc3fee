"""Delete an actor's events, then records, and verify it; events first, so that nothing more is extracted."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from ...aws import memory_writing as writing
from ...errors import AwsError
from ...presentation.formats import number, plural
from ..reading import MemoryReader
from .actor_records import UNSURE, actor_records, event_ids, session_ids
from .preview import ForgetPreview
from .result import ForgetResult, count_left

Progress = Callable[[str], None]
_WORKERS: Final = 8
_ROUNDS: Final = 4
_PAGE: Final = 200


def forget_all(preview: ForgetPreview, *, progress: Progress | None = None) -> ForgetResult:
    """Delete an actor's events and records until a search finds none, or only what could not be deleted.

    Args:
        preview: The confirmed preview.
        progress: Called with a sentence while it deletes.
    """
    reader, actor_id = preview.reader, preview.actor_id
    deleted_events: set[str] = set()
    deleted_records: set[str] = set()
    failures: dict[str, str] = {}
    own_events: set[str] = set()
    for _ in range(_ROUNDS):
        sessions = session_ids(reader, actor_id)
        before = len(deleted_events) + len(deleted_records)
        events = [(session, event_id) for session in sessions for event_id in event_ids(reader, actor_id, session)]
        own_events |= {event_id for _, event_id in events}
        # Before the events are deleted, because records are also found by their source events.
        records = actor_records(reader, actor_id, sessions, own_events, progress=progress)
        record_ids = [item.record.record_id for item in records if item.how != UNSURE]
        _delete_events(reader, actor_id, events, deleted_events, failures, progress)
        _delete_records(reader, record_ids, deleted_records, failures, progress)
        if len(deleted_events) + len(deleted_records) == before:
            break
    left_events, left_records, unsure = count_left(reader, actor_id, own_events)
    return ForgetResult(
        reader=reader,
        actor_id=actor_id,
        events=len(deleted_events),
        records=len(deleted_records),
        left_events=left_events,
        left_records=left_records,
        unsure=unsure,
        failures=tuple(failures.values()),
        known_events=frozenset(own_events),
        labels=preview.labels,
    )


def _delete_events(
    reader: MemoryReader,
    actor_id: str,
    events: list[tuple[str, str]],
    deleted: set[str],
    failures: dict[str, str],
    progress: Progress | None,
) -> None:
    memory = reader.memory

    def delete(event: tuple[str, str]) -> str:
        session_id, event_id = event
        try:
            writing.delete_event(reader.clients, memory.memory_id, actor_id, session_id, event_id, region=memory.region)
        except AwsError as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(_WORKERS) as pool:
        for start in range(0, len(events), _PAGE):
            page = events[start : start + _PAGE]
            for (_, event_id), error in zip(page, pool.map(delete, page), strict=True):
                _note(event_id, error, deleted, failures)
            if progress is not None:
                progress(f"{number(start + len(page))} of {plural(len(events), 'event')} of {actor_id} deleted")


def _delete_records(
    reader: MemoryReader, record_ids: list[str], deleted: set[str], failures: dict[str, str], progress: Progress | None
) -> None:
    memory = reader.memory
    for start in range(0, len(record_ids), writing.BATCH):
        page = record_ids[start : start + writing.BATCH]
        try:
            remaining = writing.delete_records(reader.clients, memory.memory_id, page, region=memory.region)
        except AwsError as error:
            remaining = dict.fromkeys(page, str(error))
        for record_id in page:
            _note(record_id, remaining.get(record_id, ""), deleted, failures)
        if progress is not None:
            progress(f"{number(start + len(page))} of {plural(len(record_ids), 'record')} deleted")


def _note(id: str, error: str, deleted: set[str], failures: dict[str, str]) -> None:
    if error:
        failures[id] = error
    else:
        failures.pop(id, None)
        deleted.add(id)
