"""What the cases of a run took: dollars, model tokens, milliseconds, each only where it is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ..runs.eval_run import EvalRun

USD, TOKENS, MS = "USD", "model tokens", "ms"
_LABELS: Final[Mapping[str, str]] = {USD: "cost, USD", TOKENS: "model tokens, both directions", MS: "whole answer, ms"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenRow:
    """One case (by its place in the set) and repeat."""

    place: int
    repeat: int
    duration_ms: float | None
    tokens: int | None
    cost: float | None

    def value(self, unit: str) -> float | None:
        """In one unit, None where that is not known."""
        return {USD: self.cost, TOKENS: self.tokens, MS: self.duration_ms}[unit]


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """All of a run's; `unit` is the one that says most and is known of most answers."""

    rows: tuple[TakenRow, ...]

    @property
    def unit(self) -> str:
        """Dollars, else tokens, else milliseconds: the first that is known of half the answers."""
        return next((unit for unit in (USD, TOKENS) if self.is_known(unit)), MS)

    @property
    def label(self) -> str:
        """The unit in words."""
        return _LABELS[self.unit]

    def is_known(self, unit: str) -> bool:
        """Whether it is known of at least half the answers, and not always zero."""
        values = [value for row in self.rows if (value := row.value(unit)) is not None]
        return bool(values) and 2 * len(values) >= len(self.rows) and any(values)

    def median(self, unit: str) -> float | None:
        """The typical answer's."""
        values = [value for row in self.rows if (value := row.value(unit)) is not None]
        return median(values) if values else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Typical:
    """The median of each run, in a unit that all of them know."""

    unit: str
    of: Mapping[str, float | None]

    @property
    def label(self) -> str:
        """The unit in words."""
        return _LABELS[self.unit]


def taken_by(run: EvalRun) -> Taken:
    """What each answered case and repeat of a run took."""
    with run.store.open() as store:
        rows = store.eval_answers.figures_of_run(run.id)
    return Taken(
        rows=tuple(
            TakenRow(place=p, repeat=r, duration_ms=d, tokens=None if i is None or o is None else i + o, cost=c)
            for r, p, d, i, o, c in rows
        )
    )


def typical(runs: Mapping[str, Taken]) -> Typical:
    """The medians of several runs in the first unit that is known of all of them."""
    unit = next((unit for unit in (USD, TOKENS) if all(each.is_known(unit) for each in runs.values())), MS)
    return Typical(unit=unit, of={name: each.median(unit) for name, each in runs.items()})
