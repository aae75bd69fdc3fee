"""A memory as a file: JSON lines, a manifest first, a count and checksum last."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final

from ...aws import memory_writing as writing
from ...jobs.written import whole_file
from ...redaction import Redactor
from ..displays import frame_of, html_rows, text_rows
from ..namespaces import all_paths
from ..reading import MemoryReader
from .redacting import ExportRedactor

Progress = Callable[[str], None]
FORMAT: Final = "loom memory export"
VERSION: Final = 1
COLUMNS: Final = ("what", "count")
PREVIEW_COLUMNS: Final = ("kind", "where", "text")
_TOLD_EVERY: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ExportResult:
    """What was written where. `struck_out` counts what was, by kind; None: nothing was looked for."""

    path: Path
    name: str
    events: int
    records: int
    actors: int
    struck_out: Mapping[str, int] | None = field(default=None)
    labels: tuple[str, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """Counts."""
        struck = [{"what": f"struck out: {kind}", "count": n} for kind, n in sorted((self.struck_out or {}).items())]
        return [
            {"what": "actors", "count": self.actors},
            {"what": "events", "count": self.events},
            {"what": "records", "count": self.records},
            *struck,
        ]

    def frame(self) -> Any:
        """Counts as a DataFrame."""
        return frame_of(self.rows(), COLUMNS)

    def note(self) -> str:
        """What must be known beside it."""
        plain = "NOT redacted: whoever has the file has all secrets in it" if self.struck_out is None else "redacted"
        return " · ".join([str(self.path.name), plain, *self.labels])

    def __repr__(self) -> str:
        return text_rows(f"Export of {self.name}", self.note(), self.rows(), COLUMNS)

    def _repr_html_(self) -> str:
        return html_rows(f"Export of {self.name}", self.note(), self.rows(), COLUMNS)


def export_memory(
    reader: MemoryReader,
    path: str | os.PathLike[str],
    *,
    actors: Sequence[str] | None = None,
    redactor: Redactor | None,
    progress: Progress | None = None,
    labels: tuple[str, ...] = (),
) -> ExportResult:
    """Write a memory (of these `actors` alone) to a file that only its owner reads; it appears when it is whole.

    Events come session by session, the oldest first, as an import must make them: a session is held in memory at once.
    """
    target, cleaner = Path(path), ExportRedactor(redactor)
    counts = {"event": 0, "record": 0}
    people = list(reader.actors()) if actors is None else list(dict.fromkeys(actors))
    digest = hashlib.sha256()
    with whole_file("The export", target) as file:

        def write(line: Mapping[str, Any]) -> None:
            text = json.dumps(line, ensure_ascii=True, separators=(",", ":")) + "\n"
            digest.update(text.encode())
            file.write(text)

        write(_manifest(reader, redactor, cleaner, actors))
        for line in _lines(reader, people, cleaner, everybody=actors is None):
            write(line)
            counts[line["kind"]] += 1
            if progress is not None and sum(counts.values()) % _TOLD_EVERY == 0:
                progress(f"{counts['event']:,} events and {counts['record']:,} records exported")
        write({"kind": "end", "events": counts["event"], "records": counts["record"],
               "struck_out": cleaner.counts, "sha256": digest.hexdigest()})  # fmt: skip
    return ExportResult(
        path=target,
        name=reader.memory.name,
        events=counts["event"],
        records=counts["record"],
        actors=len(people),
        struck_out=None if redactor is None else cleaner.counts,
        labels=labels,
    )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ExportPreview:
    """The first `lines` as an export would write them; `struck_out` counts what was in these, None: not looked for."""

    name: str
    lines: tuple[Mapping[str, Any], ...]
    struck_out: Mapping[str, int] | None = field(default=None)
    labels: tuple[str, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """One row a line."""
        return [
            {
                "kind": line["kind"],
                "where": ", ".join(line["namespaces"]) if line["kind"] == "record" else _place(line),
                "text": line["text"] if line["kind"] == "record" else "; ".join(map(_words, line["payload"])),
            }
            for line in self.lines
        ]

    def note(self) -> str:
        """What must be known beside it."""
        if self.struck_out is None:
            said = "NOT redacted: whoever has the file has all secrets in it"
        else:
            struck = ", ".join(f"{count} {kind}" for kind, count in sorted(self.struck_out.items()))
            said = f"redacted; struck out in these lines: {struck or 'nothing'}"
        return " · ".join([f"the first {len(self.lines)} lines", said, *self.labels])

    def __repr__(self) -> str:
        return text_rows(f"Preview of an export of {self.name}", self.note(), self.rows(), PREVIEW_COLUMNS)

    def _repr_html_(self) -> str:
        return html_rows(f"Preview of an export of {self.name}", self.note(), self.rows(), PREVIEW_COLUMNS)


def preview_export(
    reader: MemoryReader,
    *,
    actors: Sequence[str] | None = None,
    redactor: Redactor | None,
    lines: int = 20,
    labels: tuple[str, ...] = (),
) -> ExportPreview:
    """The first events and records as `export_memory` would write them, half of each; nothing is written."""
    cleaner, half = ExportRedactor(redactor), max(1, lines // 2)
    people = reader.actors() if actors is None else list(dict.fromkeys(actors))
    found = list(islice(_event_lines(reader, people, cleaner), half))
    named = people if isinstance(people, list) else ()
    found += islice(_record_lines(reader, named, cleaner, everybody=actors is None), lines - len(found))
    struck_out = None if redactor is None else cleaner.counts
    return ExportPreview(name=reader.memory.name, lines=tuple(found), struck_out=struck_out, labels=labels)


def _words(part: Mapping[str, Any]) -> str:
    said = part.get("conversational")
    if said is None:
        return json.dumps(part, ensure_ascii=False)
    return f"{str(said['role']).lower()}: {said['content']['text']}"


def _place(line: Mapping[str, Any]) -> str:
    return f"{line['actorId']} / {line['sessionId']}"


def _manifest(
    reader: MemoryReader, redactor: Redactor | None, cleaner: ExportRedactor, actors: Sequence[str] | None
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
        "actors": None if actors is None else [cleaner.name(each) for each in actors],
        "redacted": redactor is not None,
        "rules": sorted({each.name for each in redactor.rules}) if redactor else [],
        "exported_at": datetime.now(UTC).isoformat(),
    }


def _lines(
    reader: MemoryReader, actors: Sequence[str], cleaner: ExportRedactor, *, everybody: bool
) -> Iterator[dict[str, Any]]:
    yield from _event_lines(reader, actors, cleaner)
    yield from _record_lines(reader, actors, cleaner, everybody=everybody)


def _event_lines(reader: MemoryReader, actors: Iterable[str], cleaner: ExportRedactor) -> Iterator[dict[str, Any]]:
    memory, clients = reader.memory, reader.clients
    for actor in actors:
        for session in reader.sessions(actor):
            shapes = writing.iter_event_shapes(
                clients, memory.memory_id, actor, session.session_id, region=memory.region
            )
            yield from reversed([cleaner.event(each) for each in shapes])


def _record_lines(
    reader: MemoryReader, actors: Iterable[str], cleaner: ExportRedactor, *, everybody: bool
) -> Iterator[dict[str, Any]]:
    memory, clients = reader.memory, reader.clients
    strategies = {each.strategy_id: each.name for each in memory.strategies}
    wanted = None if everybody else {each.record_id for actor in actors for each in reader.records(actor=actor)}
    seen: set[str] = set()
    for path in all_paths(memory):
        for shape in writing.iter_record_shapes(clients, memory.memory_id, path, region=memory.region):
            record_id = str(shape["memoryRecordId"])
            if record_id not in seen and (wanted is None or record_id in wanted):
                seen.add(record_id)
                yield cleaner.record(shape, strategies)
