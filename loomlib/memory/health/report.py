"""The health report of a memory: its findings, its growth, and what was checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Final

from ...presentation.formats import join, number, plural
from ..displays import TableReport
from .finding import KINDS, Finding
from .growth import Growth

FINDING_COLUMNS: Final = ("severity", "kind", "what", "certainty", "count", "where", "evidence", "fix", "ids")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HealthReport(TableReport):
    """A memory's health; returned by `memory.health()`.

    Attributes:
        memory_id: The memory's id.
        name: The memory's name.
        checked_at: When it was checked.
        events: Number of events read.
        records: Number of records read.
        actors: Number of actors.
        findings: The findings, the most severe first.
        growth: Growth and cost.
        skipped: What was not read, such as records beyond the limit.
        labels: Provenance labels.
    """

    columns: ClassVar = FINDING_COLUMNS
    text_columns: ClassVar = ("severity", "kind", "what", "count", "fix")
    html_columns: ClassVar = ("severity", "kind", "what", "certainty", "count", "evidence", "fix")
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
    def title(self) -> str:
        """The title of its displays."""
        return f"Health of {self.name}"

    @property
    def problems(self) -> tuple[Finding, ...]:
        """Findings of severity "problem"."""
        return tuple(finding for finding in self.findings if finding.severity == "problem")

    @property
    def is_healthy(self) -> bool:
        """Whether there are neither problems nor warnings."""
        return not any(finding.severity in ("problem", "warning") for finding in self.findings)

    @property
    def crossings(self) -> tuple[Finding, ...]:
        """Leaks between actors or tenants that are certain, not inferred; a gate uses them."""
        return tuple(finding for finding in self.findings if finding.kind == "leak" and finding.severity == "problem")

    def of(self, kind: str) -> tuple[Finding, ...]:
        """Return the findings of a kind.

        Raises:
            ValueError: The kind is not one of `KINDS`.
        """
        if kind not in KINDS:
            raise ValueError(f"{kind!r} is not a kind of finding; use {join(KINDS, 'or')}")
        return tuple(finding for finding in self.findings if finding.kind == kind)

    def counts(self) -> Mapping[str, int]:
        """Return the number of findings per kind that has any, in the order of `KINDS`."""
        return {kind: len(findings) for kind in KINDS if (findings := self.of(kind))}

    def sentence(self) -> str:
        """Return the findings by kind, and what was read, in a sentence."""
        read = f"{plural(self.records, 'record')} and {plural(self.events, 'event')} of {plural(self.actors, 'actor')}"
        counts = ", ".join(f"{number(count)} {kind.replace('_', ' ')}" for kind, count in self.counts().items())
        skipped = f". Not checked: {'; '.join(self.skipped)}" if self.skipped else ""
        return f"{counts or 'Nothing to fix'} · {read} checked{skipped}"

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per finding."""
        return [finding.row() for finding in self.findings]

    def note(self) -> str:
        """Return the sentence, growth and cost, and the labels."""
        cost = self.growth.sentence() if self.growth else ""
        return " · ".join(filter(None, (self.sentence(), cost, *self.labels)))
