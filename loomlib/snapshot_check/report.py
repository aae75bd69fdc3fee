"""The result of a snapshot check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from ..presentation.formats import plural
from ..presentation.html import fragment
from ..presentation.text import text_table
from .finding import KINDS, SnapshotFinding

if TYPE_CHECKING:
    import pandas as pd

COLUMNS: Final = ("kind", "where", "source", "made_by", "kept_in", "what", "fix")
_SHOWN_ROWS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SnapshotReport:
    """What sessions restored from one snapshot of an agent would share but should not; returned by `check_snapshot()`.

    Attributes:
        name: The agent's name.
        checked_at: When it was checked.
        findings: The findings, by file and line.
        start_up_s: Seconds that the traced start-up took; tracing slows it down.
        not_checked: What could not be examined.
        labels: Provenance labels.
    """

    name: str
    checked_at: datetime
    findings: tuple[SnapshotFinding, ...]
    start_up_s: float
    not_checked: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def is_safe(self) -> bool:
        """Whether there are no findings; parts named in `not_checked` may still be unsafe."""
        return not self.findings

    def of(self, kind: str) -> tuple[SnapshotFinding, ...]:
        """Return the findings of a kind.

        Raises:
            ValueError: The kind is not one of `KINDS`.
        """
        if kind not in KINDS:
            raise ValueError(f"{kind!r} is not a kind of finding; use one of {', '.join(KINDS)}")
        return tuple(finding for finding in self.findings if finding.kind == kind)

    def counts(self) -> Mapping[str, int]:
        """Return the number of findings of each kind that has any."""
        return {kind: len(findings) for kind in KINDS if (findings := self.of(kind))}

    def sentence(self) -> str:
        """Return the result in a sentence."""
        if self.is_safe:
            result = "Nothing is shared by restored sessions that should not be"
        else:
            counts = ", ".join(f"{number} {kind}" for kind, number in self.counts().items())
            result = f"{plural(len(self.findings), 'finding')}: {counts}"
        missed = f". Not checked: {'; '.join(self.not_checked)}" if self.not_checked else ""
        return f"{result}{missed}"

    def note(self) -> str:
        """Return the sentence and the labels."""
        return " · ".join((self.sentence(), *self.labels))

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per finding."""
        return [finding.row() for finding in self.findings]

    def frame(self) -> pd.DataFrame:
        """Return the findings as a DataFrame."""
        from ..presentation.text_frame import TextFrame

        return TextFrame([[row[name] for name in COLUMNS] for row in self.rows()], columns=list(COLUMNS))

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return {
            "name": self.name,
            "checked_at": self.checked_at.isoformat(),
            "is_safe": self.is_safe,
            "sentence": self.sentence(),
            "start_up_s": self.start_up_s,
            "not_checked": list(self.not_checked),
            "labels": list(self.labels),
            "findings": self.rows(),
        }

    def __repr__(self) -> str:
        lines = [f"Snapshot safety of {self.name}", self.note()]
        if rows := self.rows():
            columns = ("kind", "where", "source", "made_by", "fix")
            values = [[row[name] for name in columns] for row in rows[:_SHOWN_ROWS]]
            lines.append(text_table(columns, values, more=len(rows) - len(values)))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        columns = ("kind", "where", "source", "made_by", "kept_in", "fix")
        rows = [[row[name] for name in columns] for row in self.rows()[:_SHOWN_ROWS]]
        return str(
            fragment(
                "loomlib.snapshot_check:report.html.j2",
                report=self,
                head=columns,
                rows=rows,
                more=len(self.findings) - len(rows),
            )
        )
