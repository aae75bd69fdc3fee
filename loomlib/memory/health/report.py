"""The health report of a memory: its findings, its growth, and what was checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from ..displays import frame_of, html_rows, text_rows
from .finding import KINDS, Finding
from .growth import Growth

if TYPE_CHECKING:
    import pandas as pd

FINDING_COLUMNS: Final = ("severity", "kind", "what", "certainty", "count", "where", "evidence", "mend", "ids")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HealthReport:
    """A memory's health; made by `memory.health()`. Findings come with the worst first.

    `skipped` says what could not be looked at, such as more records than were asked for.
    """

    memory_id: str
    name: str
    checked_at: datetime
    events: int
    records: int
    actors: int
    findings: tuple[Finding, ...] = ()
    growth: Growth | None = None
    skipped: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def problems(self) -> tuple[Finding, ...]:
        """Findings that are wrong as they are."""
        return tuple(each for each in self.findings if each.severity == "problem")

    @property
    def is_healthy(self) -> bool:
        """Whether nothing is wrong or probably wrong."""
        return not any(each.severity in ("problem", "warning") for each in self.findings)

    @property
    def crossings(self) -> tuple[Finding, ...]:
        """Leaks between actors or tenants that are told, not inferred: what a gate asks for."""
        return tuple(each for each in self.findings if each.kind == "leak" and each.severity == "problem")

    def of(self, kind: str) -> tuple[Finding, ...]:
        """The findings of one of `KINDS`."""
        if kind not in KINDS:
            raise ValueError(f"{kind!r} is no kind of finding: one of {', '.join(KINDS)}")
        return tuple(each for each in self.findings if each.kind == kind)

    def counts(self) -> Mapping[str, int]:
        """How many findings of each kind there are, in the order of `KINDS`, kinds without any left out."""
        return {kind: len(found) for kind in KINDS if (found := self.of(kind))}

    def sentence(self) -> str:
        """What was found, in words."""
        actors = f"{self.actors:,} actor{'s' * (self.actors != 1)}"
        scan = f"{self.records:,} records and {self.events:,} events of {actors} looked at"
        said = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in self.counts().items())
        skipped = f". Not looked at: {'; '.join(self.skipped)}" if self.skipped else ""
        return f"{said or 'Nothing to fix'} · {scan}{skipped}"

    def rows(self) -> list[dict[str, Any]]:
        """One row a finding."""
        return [each.row() for each in self.findings]

    def frame(self) -> pd.DataFrame:
        """One row a finding."""
        return frame_of(self.rows(), FINDING_COLUMNS)

    def note(self) -> str:
        """The sentence, labels, and what the memory costs."""
        cost = self.growth.sentence() if self.growth else ""
        return " · ".join(filter(None, (self.sentence(), cost, *self.labels)))

    def __repr__(self) -> str:
        columns = ("severity", "kind", "what", "count", "mend")
        return text_rows(f"Health of {self.name}", self.note(), self.rows(), columns)

    def _repr_html_(self) -> str:
        columns = ("severity", "kind", "what", "certainty", "count", "evidence", "mend")
        return html_rows(f"Health of {self.name}", self.note(), self.rows(), columns)
