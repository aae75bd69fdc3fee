"""What a cell of a code interpreter costs beside the same code in plain Python, and what a session's start costs."""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from statistics import median

import loomlib as loom

from .table import Row, ms

_CODE = "print(sum(number * number for number in range(10_000)))"
_CELL_AIM_MS = 20.0


def rows(cells: int = 200, sessions: int = 8) -> Iterator[Row]:
    """Cells at the client, in turn with `exec` of the same code; first cells, in turn with `python -c`."""
    with tempfile.TemporaryDirectory(prefix="loom-bench-") as folder, loom.connect(home=folder) as bench:
        with bench.tools.code_interpreter() as code:
            figures: tuple[list[float], list[float]] = ([], [])
            for turn in range(cells + 10):
                took = (_timed(lambda: code.run(_CODE).raise_for_status()), _timed(_plain))
                if turn >= 10:
                    for series, value in zip(figures, took, strict=True):
                        series.append(value)
        yield _row("cell of a code interpreter, beside plain Python", figures, cells, aim_ms=_CELL_AIM_MS)
        first_cells: tuple[list[float], list[float]] = ([], [])
        for turn in range(sessions + 1):
            with bench.tools.code_interpreter() as code:
                took = (_timed(lambda code=code: code.run(_CODE)), _timed(_process))
            if turn:  # the first fills the caches of the file system
                for series, value in zip(first_cells, took, strict=True):
                    series.append(value)
        yield _row("first cell of a new session, beside python -c", first_cells, sessions)


def _row(subject: str, figures: tuple[list[float], list[float]], n: int, *, aim_ms: float | None = None) -> Row:
    added = median(figures[0]) - median(figures[1])
    return Row(
        what=subject,
        ours=ms(figures[0]),
        reference=ms(figures[1]),
        compared=f"{added:+.1f} ms",
        aim=f"≤ + {aim_ms:g} ms" if aim_ms else "no aim",
        met=added <= aim_ms if aim_ms else None,
        n=n,
    )


def _timed(action: Callable[[], object]) -> float:
    begun = time.perf_counter()
    action()
    return (time.perf_counter() - begun) * 1000


def _plain() -> None:
    with redirect_stdout(io.StringIO()):
        exec(compile(_CODE, "<cell>", "exec"), {})


def _process() -> None:
    subprocess.run([sys.executable, "-c", _CODE], cwd=Path.cwd(), capture_output=True, check=True)
