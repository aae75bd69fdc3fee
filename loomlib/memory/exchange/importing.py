"""An export into a memory: previewed, then written; whoever stops it goes on later, and nothing comes twice."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from ...aws import memory_writing as writing
from ...dispatch import call
from ...errors import SettingsError
from ...jobs.written import written
from ..displays import frame_of, html_rows, text_rows
from ..reading import MemoryReader
from .import_result import ImportResult
from .journal import ImportJournal
from .reading import check_whole, read_lines, read_manifest

Progress = Callable[[str], None]
COLUMNS: Final = ("what", "in the export", "here already", "to write")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ImportPreview:
    """What an import would write; made by `memory.import_(path)`. Nothing is, until `.confirm()`."""

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
    told: Progress | None = None
    """Whom the preview told how far it was, and `confirm` tells unless it is given another."""

    @property
    def events(self) -> int:
        """How many events would be written."""
        return self.counts.get("event", 0) - self.present.get("event", 0)

    @property
    def records(self) -> int:
        """How many records would be written."""
        return self.counts.get("record", 0) - self.present.get("record", 0)

    def confirm(self, *, extract: bool = False, progress: Progress | None = None) -> ImportResult:
        """Write what is not here. With `extract` strategies see the events, and make records beside the imported ones.

        An import that was stopped goes on where it stopped, also from a copy of this preview made later.
        """
        with written("What was imported, noted beside the export,", self.path):
            return call("ImportPreview.confirm", self, extract=extract, progress=progress or self.told)

    def rows(self) -> list[dict[str, Any]]:
        """Events and records."""
        return [
            {
                "what": f"{kind}s",
                "in the export": self.counts.get(kind, 0),
                "here already": self.present.get(kind, 0),
                "to write": self.counts.get(kind, 0) - self.present.get(kind, 0),
            }
            for kind in ("event", "record")
        ]

    def frame(self) -> Any:
        """Events and records."""
        return frame_of(self.rows(), COLUMNS)

    def note(self) -> str:
        """What must be known beforehand."""
        redacted = "secrets and personal data were struck out" if self.is_redacted else "NOT redacted"
        said = f"{redacted}; nothing is written until .confirm()"
        return " · ".join([said, *self.warnings, *self.labels])

    def __repr__(self) -> str:
        title = f"Import of {self.source} into {self.reader.memory.name}"
        return text_rows(title, self.note(), self.rows(), COLUMNS)

    def _repr_html_(self) -> str:
        title = f"Import of {self.source} into {self.reader.memory.name}"
        return html_rows(title, self.note(), self.rows(), COLUMNS)


def preview_import(
    reader: MemoryReader,
    path: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
    labels: tuple[str, ...] = (),
) -> ImportPreview:
    """Read the whole file, and what of it the memory has already. Raises `SettingsError` for a file that is no export,
    or was cut or changed."""
    manifest, checksum = read_manifest(path), check_whole(path)
    counts: Counter[str] = Counter()
    oldest: datetime | None = None
    sessions: dict[tuple[str, str], None] = {}
    strategies: set[str] = set()
    places: dict[str, str] = {}
    for line in read_lines(path):
        counts[line["kind"]] += 1
        if line["kind"] == "event":
            at = moment_of(line["eventTimestamp"])
            oldest = at if oldest is None else min(oldest, at)
            sessions[line["actorId"], line["sessionId"]] = None
            places[line["eventId"]] = "event"
        else:
            strategies.add(str(line.get("strategy") or ""))
            places[line["memoryRecordId"]] = "record"
    done = set(ImportJournal.of(path, reader.memory.memory_id, checksum).done)
    if manifest["memory"].get("id") == reader.memory.memory_id:
        done |= _here(reader, sessions, progress)
    already = frozenset(done & places.keys())
    return ImportPreview(
        reader=reader,
        path=Path(path),
        checksum=checksum,
        source=str(manifest["memory"].get("name", "")),
        counts=dict(counts),
        already=already,
        present=dict(Counter(places[each] for each in already)),
        warnings=tuple(_warnings(reader, manifest, oldest, strategies - {""})),
        is_redacted=manifest.get("redacted") is True,
        labels=labels,
        told=progress,
    )


def moment_of(text: Any) -> datetime:
    """A line's time. Raises `SettingsError` where it is none."""
    try:
        at = datetime.fromisoformat(str(text))
    except ValueError as error:
        raise SettingsError(f"The export has a time that is none: {error}") from error
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _here(reader: MemoryReader, sessions: dict[tuple[str, str], None], progress: Progress | None) -> set[str]:
    """The ids that the memory itself still has: an export that comes home doubles nothing."""
    memory, found = reader.memory, set[str]()
    for actor, session in sessions:
        shapes = writing.iter_event_shapes(
            reader.clients, memory.memory_id, actor, session, payloads=False, region=memory.region
        )
        found |= {str(each["eventId"]) for each in shapes}
    return found | {each.record_id for each in reader.records(progress=progress)}


def _warnings(
    reader: MemoryReader, manifest: dict[str, Any], oldest: datetime | None, strategies: set[str]
) -> list[str]:
    found: list[str] = []
    days = reader.memory.event_expiry_days
    if days is not None and oldest is not None and datetime.now(UTC) - oldest > timedelta(days=days):
        found.append(f"events older than {days} days expire at once here")
    if missing := sorted(strategies - {each.name for each in reader.memory.strategies}):
        found.append(f"the memory has no strategy {', '.join(missing)}: those records will belong to none")
    return found
