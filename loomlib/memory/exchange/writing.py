"""Writes an import: several events at a time, records in batches, each request with a client token.

Order matters for an event on a branch, for events of a session with the same time, and for all events when records are
extracted from them. Those wait for the events before them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby, islice
from typing import Any, Final, cast

from ...aws import memory_writing as service
from ...aws.memory_shapes import SOURCE_EVENTS_KEY, metadata_event_id
from ...errors import LoomError
from ...presentation.formats import plural
from .import_result import ImportResult
from .importing import ImportPreview, time_of
from .journal import ImportJournal
from .reading import read_lines, read_manifest

Progress = Callable[[str], None]
_PROGRESS_EVENTS: Final = 100
_EVENTS_AT_ONCE: Final = 64
_WRITERS: Final = 8
_MOST_FAILURES: Final = 20


def write_import(preview: ImportPreview, *, extract: bool, progress: Progress | None) -> ImportResult:
    """Write the events and records that the memory does not contain yet.

    Args:
        preview: What to import.
        extract: Whether strategies extract records from the events.
        progress: Called with a sentence while it writes.
    """
    memory = preview.reader.memory
    strategies = _strategies(preview)
    counts, before, failed = {"event": 0, "record": 0}, {"event": 0, "record": 0}, {"event": 0, "record": 0}
    failures: list[str] = []
    sources: dict[str, str] = {}
    reported = 0
    with (
        ImportJournal.of(preview.path, memory.memory_id, preview.checksum) as journal,
        ThreadPoolExecutor(_WRITERS, thread_name_prefix="loom-import") as writers,
    ):
        skipped = preview.already | {old for old, new in journal.done.items() if preview.gone.get(old) != new}
        for batch in _batches(read_lines(preview.path), in_order=extract):
            kind = str(batch[0]["kind"])
            todo = [line for line in batch if _id_of(line) not in skipped]
            before[kind] += len(batch) - len(todo)
            if not todo:
                continue
            if kind == "event":
                requests = [_event_request(preview, journal, line, extract) for line in todo]
                refused, error = _write_events(preview, journal, todo, requests, writers)
            else:
                sources = sources or {
                    metadata_event_id(old): metadata_event_id(new) for old, new in journal.done.items()
                }
                refused, error = _write_records(preview, journal, todo, strategies, sources)
            counts[kind] += len(todo) - len(refused)
            failed[kind] += len(refused)
            failures += refused.values() if kind == "event" or error is None else [str(error)]
            if error is not None and len(failures) >= _MOST_FAILURES:
                raise error
            if progress is not None and (kind == "record" or counts["event"] >= reported + _PROGRESS_EVENTS):
                reported = counts["event"]
                progress(f"{plural(counts['event'], 'event')} and {plural(counts['record'], 'record')} imported")
    return ImportResult(
        name=memory.name,
        events=counts["event"],
        records=counts["record"],
        events_before=before["event"],
        records_before=before["record"],
        failures=tuple(failures),
        failed_events=failed["event"],
        failed_records=failed["record"],
        labels=preview.labels,
    )


def _batches(lines: Iterator[dict[str, Any]], *, in_order: bool) -> Iterator[list[dict[str, Any]]]:
    """Yield batches of events that do not depend on each other, and of at most `service.BATCH` records."""
    for kind, group in groupby(lines, key=lambda line: str(line["kind"])):
        if kind != "event":
            while batch := list(islice(group, service.BATCH)):
                yield batch
            continue
        wave = dict[tuple[str, ...], dict[str, Any]]()
        for line in group:
            key = (str(line["actorId"]), str(line["sessionId"]), str(line["eventTimestamp"]))
            if wave and (in_order or line.get("branch") or key in wave or len(wave) >= _EVENTS_AT_ONCE):
                yield list(wave.values())
                wave = {}
            if line.get("branch"):
                yield [line]
            else:
                wave[key] = line
        if wave:
            yield list(wave.values())


def _id_of(line: Mapping[str, Any]) -> str:
    return str(line["eventId"] if line["kind"] == "event" else line["memoryRecordId"])


def _token(preview: ImportPreview, *ids: str) -> str:
    return hashlib.sha256("\n".join([preview.reader.memory.memory_id, preview.checksum, *ids]).encode()).hexdigest()


def _former(preview: ImportPreview, lines: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the former ids of lines that were deleted: with the same client token they would not be written again."""
    return [preview.gone[old] for line in lines if (old := _id_of(line)) in preview.gone]


def _event_request(
    preview: ImportPreview, journal: ImportJournal, line: Mapping[str, Any], extract: bool
) -> dict[str, Any]:
    """Return the parameters of CreateEvent."""
    request: dict[str, Any] = {
        "memoryId": preview.reader.memory.memory_id,
        "actorId": line["actorId"],
        "sessionId": line["sessionId"],
        "eventTimestamp": time_of(line["eventTimestamp"]),
        "payload": line["payload"],
        "clientToken": _token(preview, str(line["eventId"]), str(extract), *_former(preview, [line])),
    }
    if line.get("metadata"):
        request["metadata"] = line["metadata"]
    if not extract:
        request["extractionMode"] = "SKIP"
    if branch := line.get("branch"):
        root = str(branch.get("rootEventId") or "")
        request["branch"] = {"name": branch["name"], **({"rootEventId": journal.done.get(root, root)} if root else {})}
    return request


def _write_events(
    preview: ImportPreview,
    journal: ImportJournal,
    lines: Sequence[Mapping[str, Any]],
    requests: Sequence[Mapping[str, Any]],
    writers: ThreadPoolExecutor,
) -> tuple[dict[str, str], LoomError | None]:
    """Return why events were rejected, by id, and the last error. Written events are journaled at once."""
    reader = preview.reader

    def write(request: Mapping[str, Any]) -> str | LoomError:
        try:
            return str(service.create_event(reader.clients, request, region=reader.memory.region)["eventId"])
        except LoomError as error:
            return error

    refused, last = dict[str, str](), None
    for line, outcome in zip(lines, writers.map(write, requests), strict=True):
        if isinstance(outcome, str):
            journal.add({_id_of(line): outcome})
        else:
            refused[_id_of(line)], last = str(outcome), outcome
    return refused, last


def _write_records(
    preview: ImportPreview,
    journal: ImportJournal,
    lines: Sequence[Mapping[str, Any]],
    strategies: Mapping[str, str],
    sources: Mapping[str, str],
) -> tuple[dict[str, str], LoomError | None]:
    """Return why records were rejected, by id, and the error if the whole batch failed."""
    reader, shapes = preview.reader, list[dict[str, Any]]()
    for number, line in enumerate(lines):
        old_strategy = str(line.get("memoryStrategyId") or "")
        new_strategy = strategies.get(old_strategy, "")
        shape: dict[str, Any] = {
            "requestIdentifier": f"r{number}",
            "namespaces": [
                _replace_part(str(namespace), old_strategy, new_strategy) for namespace in line["namespaces"]
            ],
            "content": {"text": line["text"]},
            "timestamp": time_of(line.get("timestamp") or line["createdAt"]),
        }
        if new_strategy:
            shape["memoryStrategyId"] = new_strategy
        if metadata := _metadata(line.get("metadata") or {}, sources):
            shape["metadata"] = metadata
        shapes.append(shape)
    token = _token(preview, *map(_id_of, lines), *_former(preview, lines))
    try:
        new_ids, refused = service.create_records(
            reader.clients, reader.memory.memory_id, shapes, token=token, region=reader.memory.region
        )
    except LoomError as error:
        return dict.fromkeys(map(_id_of, lines), str(error)), error
    journal.add({_id_of(line): new_ids[f"r{n}"] for n, line in enumerate(lines) if f"r{n}" in new_ids})
    return refused, None


def _strategies(preview: ImportPreview) -> dict[str, str]:
    """Map ids of exported strategies to this memory's strategies of the same name."""
    ids = {strategy.name: strategy.strategy_id for strategy in preview.reader.memory.strategies}
    exported = cast("list[dict[str, Any]]", read_manifest(preview.path).get("strategies") or [])
    return {str(item["strategyId"]): ids[str(item["name"])] for item in exported if item["name"] in ids}


def _replace_part(namespace: str, old: str, new: str) -> str:
    """Replace the exported strategy's id in a namespace by that of this memory's strategy."""
    return "/".join(new if part == old and old and new else part for part in namespace.split("/"))


def _metadata(metadata: Mapping[str, Any], sources: Mapping[str, str]) -> dict[str, Any]:
    converted: dict[str, Any] = {}
    for key, wrapped in metadata.items():
        ((form, value),) = wrapped.items()
        if form == "dateTimeValue":
            value = time_of(value)
        if key == SOURCE_EVENTS_KEY and isinstance(value, list):
            value = [sources.get(str(source), str(source)) for source in cast("list[Any]", value)]
        converted[key] = {form: value}
    return converted
