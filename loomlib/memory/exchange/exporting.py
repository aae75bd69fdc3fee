"""Export of a memory as JSON lines: a manifest, events, records, and a last line with counts and a checksum."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Final

from ...aws import memory_writing as writing
from ...jobs.output_files import whole_file
from ...presentation.formats import number, plural
from ...redaction import Redactor
from ..displays import TableReport
from ..namespaces import all_paths
from ..reading import MemoryReader
from .redacting import ExportRedactor

Progress = Callable[[str], None]
FORMAT: Final = "loom memory export"
VERSION: Final = 1
COLUMNS: Final = ("what", "count")
_NOT_REDACTED: Final = "NOT redacted: the file contains secrets and personal data in full"
PREVIEW_COLUMNS: Final = ("kind", "where", "text")
_PROGRESS_LINES: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ExportResult(TableReport):
    """The result of an export.

    Attributes:
        path: The file.
        name: The memory's name.
        events: Number of exported events.
        records: Number of exported records.
        actors: Number of exported actors.
        redactions: Number of redacted values by kind; None when the file is not redacted.
        labels: Provenance labels.
    """

    columns: ClassVar = COLUMNS
    path: Path
    name: str
    events: int
    records: int
    actors: int
    redactions: Mapping[str, int] | None = field(default=None)
    labels: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The title of its displays."""
        return f"Export of {self.name}"

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per count."""
        redacted = [
            {"what": f"redacted: {kind}", "count": count} for kind, count in sorted((self.redactions or {}).items())
        ]
        return [
            {"what": "actors", "count": self.actors},
            {"what": "events", "count": self.events},
            {"what": "records", "count": self.records},
            *redacted,
        ]

    def note(self) -> str:
        """Return the file's name, whether it is redacted, and the labels."""
        return " · ".join([str(self.path.name), _NOT_REDACTED if self.redactions is None else "redacted", *self.labels])


def export_memory(
    reader: MemoryReader,
    path: str | os.PathLike[str],
    *,
    actors: Sequence[str] | None = None,
    redactor: Redactor | None,
    progress: Progress | None = None,
    labels: tuple[str, ...] = (),
) -> ExportResult:
    """Write a memory to a file that only its owner can read; the file appears when it is complete.

    Events are written session by session, oldest first, which is the order an import needs. One session at a time is
    held in memory.

    Args:
        reader: Reads the memory.
        path: The file to write.
        actors: Only these actors; None for all.
        redactor: Redacts secrets and personal data; None writes everything as it is.
        progress: Called with a sentence after every 500 lines.
        labels: Provenance labels of the result.
    """
    target, export_redactor = Path(path), ExportRedactor(redactor)
    counts = {"event": 0, "record": 0}
    actor_ids = list(reader.actors()) if actors is None else list(dict.fromkeys(actors))
    digest = hashlib.sha256()
    with whole_file("The export", target) as file:

        def write(line: Mapping[str, Any]) -> None:
            text = json.dumps(line, ensure_ascii=True, separators=(",", ":")) + "\n"
            digest.update(text.encode())
            file.write(text)

        write(_manifest(reader, redactor, export_redactor, actors))
        for line in _lines(reader, actor_ids, export_redactor, all_actors=actors is None):
            write(line)
            counts[line["kind"]] += 1
            if progress is not None and sum(counts.values()) % _PROGRESS_LINES == 0:
                progress(f"{plural(counts['event'], 'event')} and {plural(counts['record'], 'record')} exported")
        write({"kind": "end", "events": counts["event"], "records": counts["record"],
               "redactions": export_redactor.counts, "sha256": digest.hexdigest()})  # fmt: skip
    return ExportResult(
        path=target,
        name=reader.memory.name,
        events=counts["event"],
        records=counts["record"],
        actors=len(actor_ids),
        redactions=None if redactor is None else export_redactor.counts,
        labels=labels,
    )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ExportPreview(TableReport):
    """The first lines of an export, as it would write them.

    Attributes:
        name: The memory's name.
        lines: The lines.
        redactions: Number of redacted values in these lines by kind; None when they are not redacted.
        labels: Provenance labels.
    """

    columns: ClassVar = PREVIEW_COLUMNS
    name: str
    lines: tuple[Mapping[str, Any], ...]
    redactions: Mapping[str, int] | None = field(default=None)
    labels: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The title of its displays."""
        return f"Preview of an export of {self.name}"

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per line."""
        return [
            {
                "kind": line["kind"],
                "where": ", ".join(line["namespaces"]) if line["kind"] == "record" else _session(line),
                "text": line["text"] if line["kind"] == "record" else "; ".join(map(_part_text, line["payload"])),
            }
            for line in self.lines
        ]

    def note(self) -> str:
        """Return the number of lines, what was redacted in them, and the labels."""
        if self.redactions is None:
            redaction = _NOT_REDACTED
        else:
            counts = ", ".join(f"{number(count)} {kind}" for kind, count in sorted(self.redactions.items()))
            redaction = f"redacted; in these lines: {counts or 'nothing'}"
        return " · ".join([f"the first {plural(len(self.lines), 'line')}", redaction, *self.labels])


def preview_export(
    reader: MemoryReader,
    *,
    actors: Sequence[str] | None = None,
    redactor: Redactor | None,
    lines: int = 20,
    labels: tuple[str, ...] = (),
) -> ExportPreview:
    """Return the first events and records, half of each, as `export_memory` would write them; nothing is written.

    Args:
        reader: Reads the memory.
        actors: Only these actors; None for all.
        redactor: Redacts secrets and personal data; None shows everything as it is.
        lines: The maximum number of lines.
        labels: Provenance labels of the result.
    """
    export_redactor, half = ExportRedactor(redactor), max(1, lines // 2)
    actor_ids = reader.actors() if actors is None else list(dict.fromkeys(actors))
    first = list(islice(_event_lines(reader, actor_ids, export_redactor), half))
    named_actors = actor_ids if isinstance(actor_ids, list) else ()
    first += islice(_record_lines(reader, named_actors, export_redactor, all_actors=actors is None), lines - len(first))
    redactions = None if redactor is None else export_redactor.counts
    return ExportPreview(name=reader.memory.name, lines=tuple(first), redactions=redactions, labels=labels)


def _part_text(part: Mapping[str, Any]) -> str:
    message = part.get("conversational")
    if message is None:
        return json.dumps(part, ensure_ascii=False)
    return f"{str(message['role']).lower()}: {message['content']['text']}"


def _session(line: Mapping[str, Any]) -> str:
    return f"{line['actorId']} / {line['sessionId']}"


def _manifest(
    reader: MemoryReader, redactor: Redactor | None, export_redactor: ExportRedactor, actors: Sequence[str] | None
) -> dict[str, Any]:
    memory = reader.memory
    return {
        "kind": "manifest",
        "format": FORMAT,
        "version": VERSION,
        "memory": {"id": memory.memory_id, "name": memory.name, "region": memory.region},
        "event_expiry_days": memory.event_expiry_days,
        "strategies": [
            {"name": s.name, "type": s.type, "namespaces": list(s.namespaces), "strategyId": s.strategy_id}
            for s in memory.strategies
        ],
        "actors": None if actors is None else [export_redactor.name(actor) for actor in actors],
        "redacted": redactor is not None,
        "rules": sorted({rule.name for rule in redactor.rules}) if redactor else [],
        "exported_at": datetime.now(UTC).isoformat(),
    }


def _lines(
    reader: MemoryReader, actors: Sequence[str], export_redactor: ExportRedactor, *, all_actors: bool
) -> Iterator[dict[str, Any]]:
    yield from _event_lines(reader, actors, export_redactor)
    yield from _record_lines(reader, actors, export_redactor, all_actors=all_actors)


def _event_lines(
    reader: MemoryReader, actors: Iterable[str], export_redactor: ExportRedactor
) -> Iterator[dict[str, Any]]:
    memory, clients = reader.memory, reader.clients
    for actor in actors:
        for session in reader.sessions(actor):
            shapes = writing.iter_event_shapes(
                clients, memory.memory_id, actor, session.session_id, region=memory.region
            )
            yield from reversed([export_redactor.event(shape) for shape in shapes])


def _record_lines(
    reader: MemoryReader, actors: Iterable[str], export_redactor: ExportRedactor, *, all_actors: bool
) -> Iterator[dict[str, Any]]:
    memory, clients = reader.memory, reader.clients
    strategies = {strategy.strategy_id: strategy.name for strategy in memory.strategies}
    chosen_ids = (
        None if all_actors else {record.record_id for actor in actors for record in reader.records(actor=actor)}
    )
    written_ids: set[str] = set()
    for path in all_paths(memory, reader.actors):
        for shape in writing.iter_record_shapes(clients, memory.memory_id, path, region=memory.region):
            record_id = str(shape["memoryRecordId"])
            if record_id not in written_ids and (chosen_ids is None or record_id in chosen_ids):
                written_ids.add(record_id)
                yield export_redactor.record(shape, strategies)
