"""The report of an isolation test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from ...presentation.formats import number, plural
from ..displays import TableReport

COLUMNS: Final = ("crosses", "reader", "owner", "pattern", "call", "fix")


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """A read as one actor that returned another actor's data.

    Attributes:
        reader: The actor that read.
        owner: The actor whose data it returned.
        crosses: "tenant" or "actor".
        call: The operation with its parameters.
        pattern: The namespace pattern of a record.
        leaked_id: Id of the returned record or event.
        fix: How to fix it.
    """

    reader: str
    owner: str
    crosses: str
    call: str
    pattern: str = ""
    leaked_id: str = ""
    fix: str = ""

    def row(self) -> dict[str, Any]:
        """Return the crossing as a table row; `mend` is the old name of `fix`, for one release."""
        return {name: getattr(self, name) for name in COLUMNS} | {"mend": self.fix}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class IsolationReport(TableReport):
    """Whether any read returned another actor's or tenant's data; returned by `memory.check_isolation()`.

    Attributes:
        memory_id: The memory's id.
        name: The memory's name.
        seed: Seed of the test actors' ids.
        actors: The test actors' ids.
        patterns: The tested namespace patterns.
        reads: Number of reads.
        crossings: The reads that returned another actor's data.
        not_checked: What could not be tested.
        left_behind: What could not be deleted afterwards.
        labels: Provenance labels.
    """

    columns: ClassVar = COLUMNS
    text_columns: ClassVar = COLUMNS[:5]
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
    def title(self) -> str:
        """The title of its displays."""
        return f"Isolation of {self.name}"

    @property
    def is_isolated(self) -> bool:
        """Whether everything was tested and no read returned another's data."""
        return not self.crossings and not self.not_checked

    @property
    def across_tenants(self) -> tuple[Crossing, ...]:
        """The crossings between tenants."""
        return tuple(crossing for crossing in self.crossings if crossing.crosses == "tenant")

    @property
    def crossed_reads(self) -> int:
        """Number of reads that crossed; one read may return data of several actors."""
        return _reads(self.crossings)

    def sentence(self) -> str:
        """Return the result in a sentence."""
        tested = (
            f"{plural(self.reads, 'read')} by {plural(len(self.actors), 'actor')} with similar ids (seed {self.seed})"
        )
        result = (
            f"{number(self.crossed_reads)} of them returned another actor's data, "
            f"{number(_reads(self.across_tenants))} of these another tenant's"
            if self.crossings
            else "none returned another actor's data"
        )
        missed = f"not checked: {'; '.join(self.not_checked)}" if self.not_checked else ""
        leftovers = f"could not be deleted: {'; '.join(self.left_behind)}" if self.left_behind else ""
        return " · ".join(filter(None, (f"{tested}: {result}", missed, leftovers, *self.labels)))

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per crossing."""
        return [crossing.row() for crossing in self.crossings]

    def note(self) -> str:
        """Return the result in a sentence."""
        return self.sentence()


def _reads(crossings: Sequence[Crossing]) -> int:
    """Return the number of reads that these crossings come from."""
    return len({(crossing.reader, crossing.pattern, crossing.call) for crossing in crossings})
