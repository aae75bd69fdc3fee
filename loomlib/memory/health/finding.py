"""What a look at a memory's health found: findings with evidence and a mend, and what was looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from ..faces import frame_of, html_rows, text_rows

if TYPE_CHECKING:
    import pandas as pd

    from .growth import Growth

KINDS: Final = (
    "leak", "secret", "personal_data", "contradiction", "stale", "duplicate", "unused_strategy", "growth",
)  # fmt: skip
SEVERITIES: Final = ("problem", "warning", "note")
"""`problem`: wrong as it is. `warning`: probably wrong, or will be. `note`: worth knowing."""
FINDING_COLUMNS: Final = ("severity", "kind", "what", "certainty", "count", "where", "evidence", "mend", "ids")
_SHOWN_EVIDENCE: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A record or event that shows it. `said` is without secrets and personal data, cut, and never markup."""

    id: str
    what: str = "record"
    said: str = field(default="", repr=False)
    at: datetime | None = None
    namespace: str = ""
    actor_id: str = ""
    session_id: str = ""

    def text(self) -> str:
        """In a line."""
        when = f"{self.at:%Y-%m-%d} " if self.at else ""
        place = self.namespace or "/".join(filter(None, (self.actor_id, self.session_id)))
        return f"{when}{self.what} in {place}: {self.said}" if place else f"{when}{self.what}: {self.said}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong, with the evidence for it and how to mend it.

    `certainty` is "told" (it stands there, or the service tells it) or "inferred" (by a rule on language, or by
    similarity). `count` is how many there are; `evidence` may show only the first.
    """

    kind: str
    severity: str
    what: str
    fix: str
    evidence: tuple[Evidence, ...] = ()
    count: int = 1
    certainty: str = "told"
    crosses_tenants: bool = False

    def row(self) -> dict[str, Any]:
        """As a table has it."""
        shown = [each.text() for each in self.evidence[:_SHOWN_EVIDENCE]]
        left = len(self.evidence) - len(shown)
        return {
            "severity": self.severity,
            "kind": self.kind,
            "what": self.what,
            "certainty": self.certainty,
            "count": self.count,
            "where": ", ".join(dict.fromkeys(each.namespace or each.actor_id for each in self.evidence))[:200],
            "evidence": "\n".join([*shown, *([f"and {left} more"] if left else [])]),
            "mend": self.fix,
            "ids": ", ".join(each.id for each in self.evidence if each.id),
        }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HealthReport:
    """A memory's health; made by `memory.health()`. Findings come with the worst first.

    `skipped` says what could not be looked at, such as more records than were asked for.
    """

    memory_id: str
    name: str
    looked_at: datetime
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
        seen = f"{self.records:,} records and {self.events:,} events of {actors} looked at"
        said = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in self.counts().items())
        skipped = f". Not looked at: {'; '.join(self.skipped)}" if self.skipped else ""
        return f"{said or 'Nothing to fix'} · {seen}{skipped}"

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
