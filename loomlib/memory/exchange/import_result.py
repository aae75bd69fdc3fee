"""The result of an import."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final

from ..displays import TableReport

COLUMNS: Final = ("what", "written", "here before", "failed")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ImportResult(TableReport):
    """The result of an import: what was written, and what the memory already contained.

    Attributes:
        name: The memory's name.
        events: Number of events written.
        records: Number of records written.
        events_before: Number of the export's events that the memory already had.
        records_before: Number of the export's records that the memory already had.
        failures: Messages of failed requests.
        failed_events: Number of events that were not written.
        failed_records: Number of records that were not written.
        labels: Provenance labels.
    """

    columns: ClassVar = COLUMNS
    name: str
    events: int
    records: int
    events_before: int
    records_before: int
    failures: tuple[str, ...] = ()
    failed_events: int = 0
    failed_records: int = 0
    labels: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The title of its displays."""
        return f"Imported into {self.name}"

    @property
    def is_complete(self) -> bool:
        """Whether the memory now contains everything in the export."""
        return not self.failed_events and not self.failed_records

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for events and one for records."""
        return [
            dict(zip(COLUMNS, ("events", self.events, self.events_before, self.failed_events), strict=True)),
            dict(zip(COLUMNS, ("records", self.records, self.records_before, self.failed_records), strict=True)),
        ]

    def note(self) -> str:
        """Return whether it is complete, and the first failures."""
        failed = f"failed: {'; '.join(self.failures[:3])}; import again to resume" if self.failures else "complete"
        return " · ".join([failed, *self.labels])
