"""Forgetting an actor: events first, so that nothing more is extracted from them, then records; then looking again."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from ...aws import memory_writing as writing
from ...errors import AwsError
from ..reading import MemoryReader
from .actor_records import UNSURE, actor_records, event_ids, session_ids
from .preview import ForgetPreview
from .result import ForgetResult, count_left

Progress = Callable[[str], None]
_AT_ONCE: Final = 8
_ROUNDS: Final = 4
_PAGE: Final = 200


def forget_all(preview: ForgetPreview, *, progress: Progress | None = None) -> ForgetResult:
    """Delete what is an actor's, until a look finds nothing more (or the same that could not be deleted)."""
    reader, actor_id = preview.reader, preview.actor_id
    gone_events: set[str] = set()
    gone_records: set[str] = set()
    failures: dict[str, str] = {}
    mine: set[str] = set()
    for _ in range(_ROUNDS):
        sessions = session_ids(reader, actor_id)
        before = len(gone_events) + len(gone_records)
        events = [(session, each) for session in sessions for each in event_ids(reader, actor_id, session)]
        mine |= {each for _, each in events}
        # By their sources too, so before the events are gone.
        found = [
            each for each in actor_records(reader, actor_id, sessions, mine, progress=progress) if each.how != UNSURE
        ]
        _delete_events(reader, actor_id, events, gone_events, failures, progress)
        _delete_records(reader, [each.record.record_id for each in found], gone_records, failures, progress)
        if len(gone_events) + len(gone_records) == before:
            break
    left_events, left_records, unsure = count_left(reader, actor_id, mine)
    return ForgetResult(
        reader=reader,
        actor_id=actor_id,
        events=len(gone_events),
        records=len(gone_records),
        left_events=left_events,
        left_records=left_records,
        unsure=unsure,
        failures=tuple(failures.values()),
        known_events=frozenset(mine),
        labels=preview.labels,
    )


def _delete_events(
    reader: MemoryReader,
    actor_id: str,
    events: list[tuple[str, str]],
    gone: set[str],
    failures: dict[str, str],
    progress: Progress | None,
) -> None:
    memory = reader.memory

    def delete(each: tuple[str, str]) -> str:
        session_id, event_id = each
        try:
            writing.delete_event(reader.clients, memory.memory_id, actor_id, session_id, event_id, region=memory.region)
        except AwsError as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for start in range(0, len(events), _PAGE):
            page = events[start : start + _PAGE]
            for (_, event_id), error in zip(page, pool.map(delete, page), strict=True):
                _note(event_id, error, gone, failures)
            if progress is not None:
                progress(f"{start + len(page):,} of {len(events):,} events of {actor_id} deleted")


def _delete_records(
    reader: MemoryReader, record_ids: list[str], gone: set[str], failures: dict[str, str], progress: Progress | None
) -> None:
    memory = reader.memory
    for start in range(0, len(record_ids), writing.BATCH):
        page = record_ids[start : start + writing.BATCH]
        try:
            stayed = writing.delete_records(reader.clients, memory.memory_id, page, region=memory.region)
        except AwsError as error:
            stayed = dict.fromkeys(page, str(error))
        for record_id in page:
            _note(record_id, stayed.get(record_id, ""), gone, failures)
        if progress is not None:
            progress(f"{start + len(page):,} of {len(record_ids):,} records deleted")


def _note(id: str, error: str, gone: set[str], failures: dict[str, str]) -> None:
    if error:
        failures[id] = error
    else:
        failures.pop(id, None)
        gone.add(id)
