"""Cost, tokens and duration of the cases of a run, where they are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

from loomlib.presentation.formats import milliseconds, money, number

if TYPE_CHECKING:
    from ..runs.eval_run import EvalRun

USD, TOKENS, MS = "USD", "model tokens", "ms"
_LABELS: Final[Mapping[str, str]] = {
    USD: "cost, USD",
    TOKENS: "model tokens (input and output)",
    MS: "duration of the answer, ms",
}


def amount(value: float, unit: str) -> str:
    """Return an amount of a unit as text: `$0.042`, `1 200 model tokens`, `2.35 s`."""
    return {USD: money, MS: milliseconds}[unit](value) if unit != TOKENS else f"{number(value)} {TOKENS}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseUsage:
    """Usage of one case (by its position in the set) and repeat."""

    position: int
    repeat: int
    duration_ms: float | None
    tokens: int | None
    cost: float | None

    def value(self, unit: str) -> float | None:
        """Return the value in a unit, None when unknown."""
        return {USD: self.cost, TOKENS: self.tokens, MS: self.duration_ms}[unit]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunUsage:
    """Usage of all cases of a run."""

    rows: tuple[CaseUsage, ...]

    @property
    def unit(self) -> str:
        """The unit: the first of dollars, tokens and milliseconds that is known for at least half of the answers."""
        return next((unit for unit in (USD, TOKENS) if self.is_known(unit)), MS)

    @property
    def label(self) -> str:
        """The unit with its description, for an axis."""
        return _LABELS[self.unit]

    def is_known(self, unit: str) -> bool:
        """Return whether a unit is known for at least half of the answers and not always zero."""
        values = [value for row in self.rows if (value := row.value(unit)) is not None]
        return bool(values) and 2 * len(values) >= len(self.rows) and any(values)

    def median(self, unit: str) -> float | None:
        """Return the median in a unit."""
        values = [value for row in self.rows if (value := row.value(unit)) is not None]
        return median(values) if values else None


@dataclass(frozen=True, slots=True, kw_only=True)
class MedianUsage:
    """The median of each run in a unit that is known for all of them."""

    unit: str
    of: Mapping[str, float | None]

    @property
    def label(self) -> str:
        """The unit with its description, for an axis."""
        return _LABELS[self.unit]


def usage_of(run: EvalRun) -> RunUsage:
    """Read the usage of each answered case and repeat of a run."""
    with run.store.open() as store:
        rows = store.eval_answers.figures_of_run(run.id)
    return RunUsage(
        rows=tuple(
            CaseUsage(position=p, repeat=r, duration_ms=d, tokens=None if i is None or o is None else i + o, cost=c)
            for r, p, d, i, o, c in rows
        )
    )


def median_usage(runs: Mapping[str, RunUsage]) -> MedianUsage:
    """Return the medians of several runs in the first unit that is known for all of them."""
    unit = next((unit for unit in (USD, TOKENS) if all(usage.is_known(unit) for usage in runs.values())), MS)
    return MedianUsage(unit=unit, of={name: usage.median(unit) for name, usage in runs.items()})
