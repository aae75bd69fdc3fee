"""What a benchmark reports: one comparison a row, both sides measured in the same minutes on the same machine."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """`ours` beside `reference`, how they compare, and the aim ("" where there is none).

    `met` is None where there is no aim; False makes the run fail.
    """

    what: str
    ours: str
    reference: str = ""
    compared: str = ""
    aim: str = ""
    met: bool | None = None
    n: int = 0


def ms(values: Sequence[float]) -> str:
    """Median with quartiles, of milliseconds."""
    if len(values) < 4:
        return f"{statistics.median(values):.2f} ms"
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.2f} [{low:.2f}–{high:.2f}] ms"


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of all do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -(-int(share * 1000) * len(ordered) // 1000) - 1))]


def show(rows: Sequence[Row]) -> None:
    """Prints `rows` as a Markdown table."""
    heads = ("what", "ours", "reference", "compared", "aim", "", "n")
    cells = [
        (
            row.what,
            row.ours,
            row.reference,
            row.compared,
            row.aim,
            "" if row.met is None else "met" if row.met else "MISSED",
            str(row.n or ""),
        )
        for row in rows
    ]
    widths = [max(len(line[column]) for line in (heads, *cells)) for column in range(len(heads))]
    for line in (heads, tuple("-" * width for width in widths), *cells):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |", flush=True)
