"""Findings about a memory's health, with evidence and a fix."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

KINDS: Final = (
    "leak", "secret", "personal_data", "contradiction", "stale", "duplicate", "unused_strategy", "growth",
)  # fmt: skip
SEVERITIES: Final = ("problem", "warning", "note")
"""`problem`: certainly wrong. `warning`: probably wrong, now or later. `note`: for information."""
_SHOWN_EVIDENCE: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEvidence:
    """A record, event or other item that shows a finding.

    Attributes:
        id: Its id.
        what: "record", "event", "strategy", "extraction" or "growth".
        excerpt: The start of its text, redacted.
        at: When it was written.
        namespace: Namespaces of a record.
        actor_id: Actor of an event.
        session_id: Session of an event.
    """

    id: str
    what: str = "record"
    excerpt: str = field(default="", repr=False)
    at: datetime | None = None
    namespace: str = ""
    actor_id: str = ""
    session_id: str = ""

    def text(self) -> str:
        """Return it as one line."""
        when = f"{self.at:%Y-%m-%d} " if self.at else ""
        place = self.namespace or "/".join(filter(None, (self.actor_id, self.session_id)))
        return f"{when}{self.what} in {place}: {self.excerpt}" if place else f"{when}{self.what}: {self.excerpt}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A result of a health check.

    Attributes:
        kind: One of `KINDS`.
        severity: One of `SEVERITIES`.
        what: What is wrong.
        fix: How to fix it.
        evidence: The records or events that show it; may be only the first.
        count: Number of records or events concerned.
        certainty: "stated" (in the data, or stated by the service) or "inferred" (by rules on language or similarity).
        crosses_tenants: Whether the finding involves data of more than one tenant.
    """

    kind: str
    severity: str
    what: str
    fix: str
    evidence: tuple[MemoryEvidence, ...] = ()
    count: int = 1
    certainty: str = "stated"
    crosses_tenants: bool = False

    def row(self) -> dict[str, Any]:
        """Return the finding as a table row; `mend` is the old name of `fix`, for one release."""
        lines = [item.text() for item in self.evidence[:_SHOWN_EVIDENCE]]
        hidden = len(self.evidence) - len(lines)
        return {
            "severity": self.severity,
            "kind": self.kind,
            "what": self.what,
            "certainty": self.certainty,
            "count": self.count,
            "where": ", ".join(dict.fromkeys(item.namespace or item.actor_id for item in self.evidence))[:200],
            "evidence": "\n".join([*lines, *([f"and {hidden} more"] if hidden else [])]),
            "fix": self.fix,
            "ids": ", ".join(item.id for item in self.evidence if item.id),
            "mend": self.fix,
        }
