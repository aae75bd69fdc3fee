"""Latency over time: ended invocations in bins of equal width, each with its n."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..statistics import Estimate, estimate_percentile, estimate_share
from ..store import CallTimes, TimedCall
from .figures import CALLER_FAILURES
from .window import Window

_WIDTHS_S: Final = (
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800,
)  # fmt: skip
_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)
_LATEST: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Invocations sent within one bin; durations in ms are those of complete responses."""

    start: datetime
    end: datetime
    n: int
    failed: int
    p50: Estimate
    p90: Estimate
    error_rate: Estimate

    def row(self) -> dict[str, Any]:
        """Return the bin as one row of a table."""
        return {
            "start": self.start, "end": self.end, "n": self.n, "failed": self.failed,
            "p50_ms": self.p50.value, "p50_low_ms": self.p50.low, "p50_high_ms": self.p50.high,
            "p90_ms": self.p90.value, "p90_low_ms": self.p90.low, "p90_high_ms": self.p90.high,
            "error_rate": self.error_rate.value,
        }  # fmt: skip


def latency_bins(calls: Sequence[TimedCall] | CallTimes, window: Window, *, bins: int = 30) -> tuple[Bin, ...]:
    """Return the invocations in bins, including empty ones.

    A bin is a round width (1 s, 5 min, 2 h …) and starts at a multiple of it since midnight UTC. One that would reach
    beyond the years 1 to 9999 is cut there.

    Args:
        calls: Invocations in the order in which they were sent.
        window: The time window; where it is open, the bins cover the invocations.
        bins: Approximate upper limit of the number of bins.
    """
    if bins < 1:
        raise ValueError(f"bins must be at least 1, not {bins}")
    times = calls if isinstance(calls, CallTimes) else CallTimes.of(calls)
    by_caller = np.array([failure in CALLER_FAILURES for failure in times.failures], dtype=np.bool_)
    counted = ~by_caller[times.kinds] if len(times.kinds) else np.array([], dtype=np.bool_)
    asked_s, failed = times.asked_s[counted], times.failed[counted]
    if not len(asked_s):
        return ()
    durations_ms = np.where(failed, np.nan, times.durations_ms[counted])
    first = window.since.timestamp() if window.since is not None else float(asked_s[0])
    last = max(float(asked_s[-1]), window.until.timestamp() if window.until is not None else float(asked_s[-1]))
    width = _width((last - first) / bins)
    begin = math.floor(first / width) * width
    count = math.floor((last - begin) / width) + 1
    places = np.maximum(0, np.floor((asked_s - begin) / width).astype(np.int64))
    # The calls are in order, and so are their bins.
    ends = np.searchsorted(places, np.arange(count + 1))
    if window.until is not None and ends[-2] == ends[-1] and begin + (count - 1) * width >= window.until.timestamp():
        count -= 1
    return tuple(
        _bin(begin + place * width, width, durations_ms[low:high], int(failed[low:high].sum()))
        for place, (low, high) in enumerate(itertools.pairwise(ends[: count + 1]))
    )


def _width(wanted_s: float) -> float:
    return next((float(width) for width in _WIDTHS_S if width >= wanted_s), math.ceil(wanted_s / 604_800) * 604_800.0)


def _bin(start_s: float, width_s: float, durations_ms: NDArray[np.float64], failed: int) -> Bin:
    ordered = np.sort(durations_ms[~np.isnan(durations_ms)])
    n = len(durations_ms)
    return Bin(
        start=_moment(start_s),
        end=_moment(start_s + width_s),
        n=n,
        failed=failed,
        p50=estimate_percentile(ordered, 0.5),
        p90=estimate_percentile(ordered, 0.9),
        error_rate=estimate_share(failed, n),
    )


def _moment(at_s: float) -> datetime:
    """Return a time as a datetime, which holds the years 1 to 9999."""
    if at_s >= _LATEST.timestamp():
        return _LATEST
    return _EARLIEST if at_s <= _EARLIEST.timestamp() else datetime.fromtimestamp(at_s, UTC)
