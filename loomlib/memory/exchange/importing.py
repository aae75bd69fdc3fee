"""Preview of an import. A confirmed import can be interrupted and resumed, and writes nothing twice."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, Final

from ...aws import memory_writing as writing
from ...dispatch import call
from ...errors import SettingsError
from ...jobs.output_files import file_errors
from ...presentation.formats import join, plural
from ..displays import TableReport
from ..reading import MemoryReader
from .import_result import ImportResult
from .journal import ImportJournal
from .reading import check_complete, read_lines, read_manifest

Progress = Callable[[str], None]
COLUMNS: Final = ("what", "in the export", "here already", "to write")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ImportPreview(TableReport):
    """Preview of an import; returned by `memory.import_(path)`. Only `.confirm()` writes.

    Attributes:
        reader: Reads the memory to import into.
        path: The export's file.
        checksum: The export's checksum.
        source: Name of the exported memory.
        counts: Number of lines in the export, by kind ("event", "record").
        already: Ids of those that the memory already has.
        present: Their number, by kind.
        warnings: What to know before confirming.
        is_redacted: Whether the export is redacted.
        labels: Provenance labels.
        progress: The preview's progress callback, which `confirm` uses unless it gets its own.
    """

    columns: ClassVar = COLUMNS
    reader: MemoryReader
    path: Path
    checksum: str
    source: str
    counts: dict[str, int]
    already: frozenset[str]
    present: dict[str, int]
    warnings: tuple[str, ...]
    is_redacted: bool
    labels: tuple[str, ...] = ()
    progress: Progress | None = None

    @property
    def title(self) -> str:
        """The title of its displays."""
        return f"Import of {self.source} into {self.reader.memory.name}"

    @property
    def events(self) -> int:
        """Number of events that would be written."""
        return self.counts.get("event", 0) - self.present.get("event", 0)

    @property
    def records(self) -> int:
        """Number of records that would be written."""
        return self.counts.get("record", 0) - self.present.get("record", 0)

    def confirm(self, *, extract: bool = False, progress: Progress | None = None) -> ImportResult:
        """Write what the memory does not contain yet; an interrupted import resumes where it stopped.

        Args:
            extract: Whether the memory's strategies also extract records from the imported events.
            progress: Called with a sentence while it writes.
        """
        with file_errors("The journal of the import, next to the export,", self.path):
            return call("ImportPreview.confirm", self, extract=extract, progress=progress or self.progress)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for events and one for records."""
        return [
            {
                "what": f"{kind}s",
                "in the export": self.counts.get(kind, 0),
                "here already": self.present.get(kind, 0),
                "to write": self.counts.get(kind, 0) - self.present.get(kind, 0),
            }
            for kind in ("event", "record")
        ]

    def note(self) -> str:
        """Return whether the export is redacted, the warnings and the labels."""
        redacted = "secrets and personal data are redacted" if self.is_redacted else "NOT redacted"
        return " · ".join([f"{redacted}; only .confirm() writes", *self.warnings, *self.labels])


def preview_import(
    reader: MemoryReader,
    path: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
    labels: tuple[str, ...] = (),
) -> ImportPreview:
    """Read an export, and determine what the memory already contains of it.

    Args:
        reader: Reads the memory to import into.
        path: The export's file.
        progress: Called with a sentence while records are read.
        labels: Provenance labels of the result.

    Raises:
        SettingsError: The file is not an export, or was truncated or changed.
    """
    manifest, checksum = read_manifest(path), check_complete(path)
    counts: Counter[str] = Counter()
    oldest: datetime | None = None
    sessions: dict[tuple[str, str], None] = {}
    strategies: set[str] = set()
    kinds: dict[str, str] = {}
    for line in read_lines(path):
        counts[line["kind"]] += 1
        if line["kind"] == "event":
            at = time_of(line["eventTimestamp"])
            oldest = at if oldest is None else min(oldest, at)
            sessions[line["actorId"], line["sessionId"]] = None
            kinds[line["eventId"]] = "event"
        else:
            strategies.add(str(line.get("strategy") or ""))
            kinds[line["memoryRecordId"]] = "record"
    imported_ids = set(ImportJournal.of(path, reader.memory.memory_id, checksum).done)
    if manifest["memory"].get("id") == reader.memory.memory_id:
        imported_ids |= _ids_in_memory(reader, sessions, progress)
    present_ids = frozenset(imported_ids & kinds.keys())
    return ImportPreview(
        reader=reader,
        path=Path(path),
        checksum=checksum,
        source=str(manifest["memory"].get("name", "")),
        counts=dict(counts),
        already=present_ids,
        present=dict(Counter(kinds[id] for id in present_ids)),
        warnings=tuple(_warnings(reader, manifest, oldest, strategies - {""})),
        is_redacted=manifest.get("redacted") is True,
        labels=labels,
        progress=progress,
    )


def time_of(text: Any) -> datetime:
    """Parse a time of an export; without a zone it is UTC.

    Raises:
        SettingsError: The text is not a time.
    """
    try:
        at = datetime.fromisoformat(str(text))
    except ValueError as error:
        raise SettingsError(
            "The export has an invalid time", on=repr(str(text)[:80]), try_="a time such as 2026-11-22T05:00:00+00:00"
        ) from error
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _ids_in_memory(reader: MemoryReader, sessions: dict[tuple[str, str], None], progress: Progress | None) -> set[str]:
    """Return the ids that the memory still contains, so that importing its own export duplicates nothing."""
    memory, ids = reader.memory, set[str]()
    for actor, session in sessions:
        shapes = writing.iter_event_shapes(
            reader.clients, memory.memory_id, actor, session, payloads=False, region=memory.region
        )
        ids |= {str(shape["eventId"]) for shape in shapes}
    return ids | {record.record_id for record in reader.records(progress=progress)}


def _warnings(
    reader: MemoryReader, manifest: dict[str, Any], oldest: datetime | None, strategies: set[str]
) -> list[str]:
    warnings: list[str] = []
    days = reader.memory.event_expiry_days
    if days is not None and oldest is not None and datetime.now(UTC) - oldest > timedelta(days=days):
        warnings.append(f"events older than {plural(days, 'day')} expire at once in this memory")
    if missing := sorted(strategies - {strategy.name for strategy in reader.memory.strategies}):
        warnings.append(
            f"the memory has no strategy {join(missing, 'or')}: its records are imported without a strategy"
        )
    return warnings
