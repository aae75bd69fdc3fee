"""Preview of an import. A confirmed import can be interrupted and resumed, and writes nothing twice."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, Final

from ...aws import memory_writing as writing
from ...dispatch import call
from ...errors import SettingsError
from ...jobs.output_files import file_errors
from ...presentation.formats import join, number, plural
from ..displays import TableReport
from ..namespaces import has_placeholder
from ..reading import MemoryReader
from .import_result import ImportResult
from .journal import SETTLED_AFTER_S, ImportJournal
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
        gone: What an earlier import wrote and has since been deleted from the memory: ids there by ids in the export.
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
    gone: Mapping[str, str] = field(default_factory=dict[str, str])

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
    namespaces: set[str] = set()
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
            namespaces.update(line["namespaces"])
    journal = ImportJournal.of(path, reader.memory.memory_id, checksum)
    is_own = manifest["memory"].get("id") == reader.memory.memory_id
    stored = _ids_in_memory(reader, sessions, namespaces, progress) if is_own or journal.done else set[str]()
    gone = {old: new for old in journal.settled if (new := journal.done[old]) not in stored}
    recent = [old for old, new in journal.done.items() if old not in journal.settled and new not in stored]
    imported_ids = (journal.done.keys() - gone.keys()) | (stored if is_own else set[str]())
    present_ids = frozenset(imported_ids & kinds.keys())
    return ImportPreview(
        reader=reader,
        path=Path(path),
        checksum=checksum,
        source=str(manifest["memory"].get("name", "")),
        counts=dict(counts),
        already=present_ids,
        gone=gone,
        present=dict(Counter(kinds[id] for id in present_ids)),
        warnings=tuple(_warnings(reader, manifest, oldest, strategies - {""}, len(recent))),
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


def _ids_in_memory(
    reader: MemoryReader, sessions: Iterable[tuple[str, str]], namespaces: Iterable[str], progress: Progress | None
) -> set[str]:
    """Return the ids that the memory still contains, so that an import duplicates nothing.

    Args:
        reader: Reads the memory.
        sessions: Actors and sessions of the export.
        namespaces: Namespaces of the export; the memory's strategies need not have templates for them.
        progress: Called with a sentence while records are read.
    """
    memory, ids = reader.memory, set[str]()
    for actor, session in sessions:
        shapes = writing.iter_event_shapes(
            reader.clients, memory.memory_id, actor, session, payloads=False, region=memory.region
        )
        ids |= {str(shape["eventId"]) for shape in shapes}
    ids |= {record.record_id for record in reader.records(progress=progress)}
    for start in sorted({namespace.partition("/")[0] for namespace in namespaces} - {""}):
        if not has_placeholder(start):
            ids |= {record.record_id for record in reader.records(start)}
    return ids


def _warnings(
    reader: MemoryReader, manifest: dict[str, Any], oldest: datetime | None, strategies: set[str], recent: int
) -> list[str]:
    warnings: list[str] = []
    if recent:
        warnings.append(
            f"{number(recent)} of the events and records that were imported in the last "
            f"{number(SETTLED_AFTER_S / 60, 0)} minutes are not listed; if they were deleted, import again later"
        )
    days = reader.memory.event_expiry_days
    if days is not None and oldest is not None and datetime.now(UTC) - oldest > timedelta(days=days):
        warnings.append(f"events older than {plural(days, 'day')} expire at once in this memory")
    if missing := sorted(strategies - {strategy.name for strategy in reader.memory.strategies}):
        warnings.append(
            f"the memory has no strategy {join(missing, 'or')}: its records are imported without a strategy"
        )
    return warnings
