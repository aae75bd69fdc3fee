"""The calls of a step as columns: one pass over them, so that a step of many calls needs little memory."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .calls import FAILED, INTERRUPTED, NOT_SENT, LoadCall

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallColumns:
    """Calls whose end is known, in the order of their intended starts. A missing value is NaN.

    Attributes:
        index: Their numbers in the step.
        intended_s: Intended starts, in seconds from the start of the step.
        sent_s: When they were sent.
        done_s: When they ended.
        ttft_ms: Times to the first byte of complete calls, from the intended start.
        duration_ms: Durations of complete calls, from the intended start.
        gap_ms: Longest times between two chunks of complete calls; 0 for a response of one chunk.
        lag_ms: Schedule lag: how late they were sent.
        is_complete: Which of them are complete.
        failures: Failed calls, by class.
        not_sent: Calls that were never sent.
        interrupted: Calls whose end is unknown because the engine was killed or stopped. No figure includes them.
    """

    index: NDArray[np.int64]
    intended_s: FloatArray
    sent_s: FloatArray
    done_s: FloatArray
    ttft_ms: FloatArray
    duration_ms: FloatArray
    gap_ms: FloatArray
    lag_ms: FloatArray
    is_complete: BoolArray
    failures: Mapping[str, int]
    not_sent: int
    interrupted: int

    @property
    def n(self) -> int:
        """Number of calls whose end is known."""
        return int(self.index.size)


def call_columns(calls: Iterable[LoadCall], *, from_s: float = 0.0, to_s: float = math.inf) -> CallColumns:
    """Return the columns of calls.

    Args:
        calls: The calls.
        from_s: Leave out calls with an earlier intended start, in seconds from the start of the step.
        to_s: Leave out calls with this intended start or a later one.
    """
    rows: list[tuple[float, ...]] = []
    failures: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for call in calls:
        if not from_s <= call.intended_s < to_s:
            continue
        if call.state in (NOT_SENT, INTERRUPTED):
            others[call.state] += 1
            continue
        if call.state == FAILED:
            failures[call.failure or "unknown"] += 1
        is_complete = call.is_complete
        rows.append(
            (
                call.intended_s,
                call.index,
                _or_nan(call.sent_s),
                _or_nan(call.done_s),
                _or_nan(call.ttft_ms if is_complete else None),
                _or_nan(call.duration_ms),
                (call.longest_gap_ms or 0.0) if is_complete else math.nan,
                _or_nan(call.lag_ms),
                is_complete,
            )
        )
    rows.sort()
    table = np.array(rows, dtype=np.float64).reshape(-1, 9).T
    return CallColumns(
        intended_s=table[0],
        index=table[1].astype(np.int64),
        sent_s=table[2],
        done_s=table[3],
        ttft_ms=table[4],
        duration_ms=table[5],
        gap_ms=table[6],
        lag_ms=table[7],
        is_complete=table[8] > 0,
        failures=dict(failures.most_common()),
        not_sent=others[NOT_SENT],
        interrupted=others[INTERRUPTED],
    )


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
