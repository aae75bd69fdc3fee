"""The fields of an eval set that a file format cannot represent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A field that changes when it is written and read back: of the `cases` by id, or of the set itself when empty."""

    field: str
    reason: str
    cases: tuple[str, ...] = ()

    def __str__(self) -> str:
        some = ", ".join(ascii(id)[1:-1] for id in self.cases[:3])
        subject = (
            "the set" if not self.cases else some if len(self.cases) <= 3 else f"{some} and {len(self.cases) - 3} more"
        )
        return f"{self.field} ({subject}): {self.reason}"


@dataclass(frozen=True, slots=True)
class Losses:
    """The losses on writing; false when empty. A set's notes are not content and are not compared."""

    format: str
    items: tuple[Loss, ...] = ()

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Loss]:
        return iter(self.items)

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that were lost, each once."""
        return tuple(dict.fromkeys(loss.field for loss in self.items))

    def __str__(self) -> str:
        if not self.items:
            return f"written as {self.format}; nothing was lost"
        return "\n".join(
            (f"written as {self.format}; these fields cannot be written:", *(f"  {loss}" for loss in self.items))
        )

    __repr__ = __str__
