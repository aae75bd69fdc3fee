"""AG-UI: what a state's delta costs in a small state and in a large one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median
from typing import Any, Final

from loomlib.agents.agui import AguiFold

from .table import Row

_SMALL: Final = 100
_LARGE: Final = 20_000
_DELTAS: Final = 500
_REPEATS: Final = 7
_MOST: Final = 2.0


def rows() -> Iterator[Row]:
    """A delta costs what it changes, so that a stream of them costs what they all hold."""
    small = [_delta_us(_SMALL) for _ in range(_REPEATS)]
    large = [_delta_us(_LARGE) for _ in range(_REPEATS)]
    ratio = median(large) / median(small)
    yield Row(
        what=f"a STATE_DELTA to a state of {_LARGE:,} rows, beside one of {_SMALL}",
        ours=f"{median(large):.1f} µs",
        reference=f"{median(small):.1f} µs",
        compared=f"× {ratio:.2f}",
        aim=f"≤ × {_MOST:.0f}",
        met=ratio <= _MOST,
        n=_DELTAS * _REPEATS,
    )


def _delta_us(count: int) -> float:
    fold = AguiFold({"rows": [_row(number) for number in range(count)], "n": 0})
    fold.feed({"type": "RUN_STARTED", "threadId": "t", "runId": "r"})
    began = time.perf_counter()
    for number in range(_DELTAS):
        changes: list[dict[str, Any]] = [
            {"op": "replace", "path": f"/rows/{number % count}/text", "value": "changed"},
            {"op": "replace", "path": "/n", "value": number},
        ]
        fold.feed({"type": "STATE_DELTA", "delta": changes})
    elapsed_s = time.perf_counter() - began
    if fold.run().problems or fold.run().state["n"] != _DELTAS - 1:
        raise RuntimeError("the deltas did not apply")
    return elapsed_s / _DELTAS * 1e6


def _row(number: int) -> dict[str, Any]:
    return {"number": number, "text": "as it was", "tags": ["one", "two"]}
