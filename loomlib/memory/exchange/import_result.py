"""The result of an import."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from ..displays import frame_of, html_rows, text_rows

COLUMNS: Final = ("what", "written", "here before", "failed")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ImportResult:
    """What an import wrote, and what it found here before."""

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
    def is_complete(self) -> bool:
        """Whether everything of the export is in the memory now."""
        return not self.failed_events and not self.failed_records

    def rows(self) -> list[dict[str, Any]]:
        """Events and records."""
        return [
            dict(zip(COLUMNS, ("events", self.events, self.events_before, self.failed_events), strict=True)),
            dict(zip(COLUMNS, ("records", self.records, self.records_before, self.failed_records), strict=True)),
        ]

    def frame(self) -> Any:
        """Events and records."""
        return frame_of(self.rows(), COLUMNS)

    def note(self) -> str:
        """Whether all is there."""
        failed = f"failed: {'; '.join(self.failures[:3])}; import again to go on" if self.failures else "complete"
        return " · ".join([failed, *self.labels])

    def __repr__(self) -> str:
        return text_rows(f"Imported into {self.name}", self.note(), self.rows(), COLUMNS)

    def _repr_html_(self) -> str:
        return html_rows(f"Imported into {self.name}", self.note(), self.rows(), COLUMNS)
