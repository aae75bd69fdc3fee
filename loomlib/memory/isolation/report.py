"""What a check of isolation found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..displays import frame_of, html_rows, text_rows

COLUMNS: Final = ("crosses", "reader", "owner", "pattern", "call", "mend")


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """A read of `reader` that brought what is `owner`'s; `call` is the call with its parameters, `crosses` is "tenant"
    or "actor"."""

    reader: str
    owner: str
    crosses: str
    call: str
    pattern: str = ""
    leaked_id: str = ""
    fix: str = ""

    def row(self) -> dict[str, Any]:
        """As a table has it."""
        return {name: getattr(self, "fix" if name == "mend" else name) for name in COLUMNS}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class IsolationReport:
    """Whether a read crosses from one actor or tenant to another; made by `memory.check_isolation()`.

    `not_checked` names what could not be tried, `left_behind` what could not be cleaned up.
    """

    memory_id: str
    name: str
    seed: int
    actors: tuple[str, ...]
    patterns: tuple[str, ...]
    reads: int
    crossings: tuple[Crossing, ...] = ()
    not_checked: tuple[str, ...] = ()
    left_behind: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def is_isolated(self) -> bool:
        """Whether all was tried and nothing crossed."""
        return not self.crossings and not self.not_checked

    @property
    def across_tenants(self) -> tuple[Crossing, ...]:
        """The crossings from one tenant to another."""
        return tuple(each for each in self.crossings if each.crosses == "tenant")

    @property
    def crossed_reads(self) -> int:
        """How many of the reads crossed; one read may bring what is of several others."""
        return _reads(self.crossings)

    def sentence(self) -> str:
        """What was found, in words."""
        tried = f"{self.reads:,} reads by {len(self.actors)} actors with ids alike (seed {self.seed})"
        found = (
            f"{self.crossed_reads:,} of them crossed, {_reads(self.across_tenants):,} from tenant to tenant"
            if self.crossings
            else "none crossed"
        )
        missed = f"not checked: {'; '.join(self.not_checked)}" if self.not_checked else ""
        left = f"left behind: {'; '.join(self.left_behind)}" if self.left_behind else ""
        return " · ".join(filter(None, (f"{tried}: {found}", missed, left, *self.labels)))

    def rows(self) -> list[dict[str, Any]]:
        """One row a crossing."""
        return [each.row() for each in self.crossings]

    def frame(self) -> Any:
        """One row a crossing."""
        return frame_of(self.rows(), COLUMNS)

    def __repr__(self) -> str:
        return text_rows(f"Isolation of {self.name}", self.sentence(), self.rows(), COLUMNS[:5])

    def _repr_html_(self) -> str:
        return html_rows(f"Isolation of {self.name}", self.sentence(), self.rows(), COLUMNS)


def _reads(crossings: Sequence[Crossing]) -> int:
    """How many reads they are of."""
    return len({(each.reader, each.pattern, each.call) for each in crossings})
