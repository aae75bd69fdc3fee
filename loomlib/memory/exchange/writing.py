"""The writing half of an import: events several at a time, records in batches, each with a request token.

An event that others may stand on waits for those before it: of a branch, of a moment that another has too, and any at
all where they are extracted, which goes by the order of their coming.
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
from .import_result import ImportResult
from .importing import ImportPreview, moment_of
from .journal import ImportJournal
from .reading import read_lines, read_manifest

Progress = Callable[[str], None]
_TOLD_EVERY: Final = 100
_EVENTS_AT_ONCE: Final = 64
_WRITERS: Final = 8
_MOST_FAILURES: Final = 20


def write_import(preview: ImportPreview, *, extract: bool, progress: Progress | None) -> ImportResult:
    """Write what is not there."""
    memory = preview.reader.memory
    strategies = _strategies(preview)
    written, before, failed = {"event": 0, "record": 0}, {"event": 0, "record": 0}, {"event": 0, "record": 0}
    failures: list[str] = []
    sources: dict[str, str] = {}
    told = 0
    with (
        ImportJournal.of(preview.path, memory.memory_id, preview.checksum) as journal,
        ThreadPoolExecutor(_WRITERS, thread_name_prefix="loom-import") as writers,
    ):
        skipped = preview.already | journal.done.keys()
        for batch in _batches(read_lines(preview.path), in_order=extract):
            kind = str(batch[0]["kind"])
            todo = [each for each in batch if _id_of(each) not in skipped]
            before[kind] += len(batch) - len(todo)
            if not todo:
                continue
            if kind == "event":
                asked = [_event(preview, journal, each, extract) for each in todo]
                refused, error = _write_events(preview, journal, todo, asked, writers)
            else:
                sources = sources or {
                    metadata_event_id(old): metadata_event_id(new) for old, new in journal.done.items()
                }
                refused, error = _write_records(preview, journal, todo, strategies, sources)
            written[kind] += len(todo) - len(refused)
            failed[kind] += len(refused)
            failures += refused.values() if kind == "event" or error is None else [str(error)]
            if error is not None and len(failures) >= _MOST_FAILURES:
                raise error
            if progress is not None and (kind == "record" or written["event"] >= told + _TOLD_EVERY):
                told = written["event"]
                progress(f"{written['event']:,} events and {written['record']:,} records imported")
    return ImportResult(
        name=memory.name,
        events=written["event"],
        records=written["record"],
        events_before=before["event"],
        records_before=before["record"],
        failures=tuple(failures),
        failed_events=failed["event"],
        failed_records=failed["record"],
        labels=preview.labels,
    )


def _batches(lines: Iterator[dict[str, Any]], *, in_order: bool) -> Iterator[list[dict[str, Any]]]:
    """Events that none of the others stands on, or one of which some may; records a hundred at a time."""
    for kind, some in groupby(lines, key=lambda each: str(each["kind"])):
        if kind != "event":
            while batch := list(islice(some, service.BATCH)):
                yield batch
            continue
        wave = dict[tuple[str, ...], dict[str, Any]]()
        for line in some:
            place = (str(line["actorId"]), str(line["sessionId"]), str(line["eventTimestamp"]))
            if wave and (in_order or line.get("branch") or place in wave or len(wave) >= _EVENTS_AT_ONCE):
                yield list(wave.values())
                wave = {}
            if line.get("branch"):
                yield [line]
            else:
                wave[place] = line
        if wave:
            yield list(wave.values())


def _id_of(line: Mapping[str, Any]) -> str:
    return str(line["eventId"] if line["kind"] == "event" else line["memoryRecordId"])


def _token(preview: ImportPreview, *ids: str) -> str:
    return hashlib.sha256("\n".join([preview.reader.memory.memory_id, preview.checksum, *ids]).encode()).hexdigest()


def _event(preview: ImportPreview, journal: ImportJournal, line: Mapping[str, Any], extract: bool) -> dict[str, Any]:
    """What CreateEvent is asked for."""
    asked: dict[str, Any] = {
        "memoryId": preview.reader.memory.memory_id,
        "actorId": line["actorId"],
        "sessionId": line["sessionId"],
        "eventTimestamp": moment_of(line["eventTimestamp"]),
        "payload": line["payload"],
        "clientToken": _token(preview, str(line["eventId"]), str(extract)),
    }
    if line.get("metadata"):
        asked["metadata"] = line["metadata"]
    if not extract:
        asked["extractionMode"] = "SKIP"
    if branch := line.get("branch"):
        root = str(branch.get("rootEventId") or "")
        asked["branch"] = {"name": branch["name"], **({"rootEventId": journal.done.get(root, root)} if root else {})}
    return asked


def _write_events(
    preview: ImportPreview,
    journal: ImportJournal,
    lines: Sequence[Mapping[str, Any]],
    asked: Sequence[Mapping[str, Any]],
    writers: ThreadPoolExecutor,
) -> tuple[dict[str, str], LoomError | None]:
    """Why which were refused, and the last such error. What was written is noted as it comes."""
    reader = preview.reader

    def write(one: Mapping[str, Any]) -> str | LoomError:
        try:
            return str(service.create_event(reader.clients, one, region=reader.memory.region)["eventId"])
        except LoomError as error:
            return error

    refused, last = dict[str, str](), None
    for line, made in zip(lines, writers.map(write, asked), strict=True):
        if isinstance(made, str):
            journal.note({_id_of(line): made})
        else:
            refused[_id_of(line)], last = str(made), made
    return refused, last


def _write_records(
    preview: ImportPreview,
    journal: ImportJournal,
    lines: Sequence[Mapping[str, Any]],
    strategies: Mapping[str, str],
    sources: Mapping[str, str],
) -> tuple[dict[str, str], LoomError | None]:
    """Why which were refused, and the error where it was all of them."""
    reader, asked = preview.reader, list[dict[str, Any]]()
    for number, line in enumerate(lines):
        old_strategy = str(line.get("memoryStrategyId") or "")
        new_strategy = strategies.get(old_strategy, "")
        shape: dict[str, Any] = {
            "requestIdentifier": f"r{number}",
            "namespaces": [_moved(str(each), old_strategy, new_strategy) for each in line["namespaces"]],
            "content": {"text": line["text"]},
            "timestamp": moment_of(line.get("timestamp") or line["createdAt"]),
        }
        if new_strategy:
            shape["memoryStrategyId"] = new_strategy
        if metadata := _metadata(line.get("metadata") or {}, sources):
            shape["metadata"] = metadata
        asked.append(shape)
    token = _token(preview, *map(_id_of, lines))
    try:
        made, refused = service.create_records(
            reader.clients, reader.memory.memory_id, asked, token=token, region=reader.memory.region
        )
    except LoomError as error:
        return dict.fromkeys(map(_id_of, lines), str(error)), error
    journal.note({_id_of(line): made[f"r{n}"] for n, line in enumerate(lines) if f"r{n}" in made})
    return refused, None


def _strategies(preview: ImportPreview) -> dict[str, str]:
    """The strategies here by the ids of the export's that have the same name."""
    here = {each.name: each.strategy_id for each in preview.reader.memory.strategies}
    told = cast("list[dict[str, Any]]", read_manifest(preview.path).get("strategies") or [])
    return {str(each["strategyId"]): here[str(each["name"])] for each in told if each["name"] in here}


def _moved(namespace: str, old: str, new: str) -> str:
    """The namespace with this memory's strategy id where the other's was a part of it."""
    return "/".join(new if part == old and old and new else part for part in namespace.split("/"))


def _metadata(metadata: Mapping[str, Any], sources: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, wrapped in metadata.items():
        ((form, value),) = wrapped.items()
        if form == "dateTimeValue":
            value = moment_of(value)
        if key == SOURCE_EVENTS_KEY and isinstance(value, list):
            value = [sources.get(str(each), str(each)) for each in cast("list[Any]", value)]
        found[key] = {form: value}
    return found
