"""Findings about a memory's health, with evidence and a fix."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

KINDS: Final = (
    "leak", "secret", "personal_data", "contradiction", "stale", "duplicate", "unused_strategy", "growth",
)  # fmt: skip
SEVERITIES: Final = ("problem", "warning", "note")
"""`problem`: wrong as it is. `warning`: probably wrong, or will be. `note`: worth knowing."""
_SHOWN_EVIDENCE: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEvidence:
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
    evidence: tuple[MemoryEvidence, ...] = ()
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
