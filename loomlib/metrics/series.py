"""Latency over time: ended invocations in bins of equal width, each with its n."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from ..statistics import Estimate, estimate_percentile, estimate_share
from ..store import TimedCall
from .figures import CALLER_FAILURES
from .window import Window

_WIDTHS_S: Final = (
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800,
)  # fmt: skip


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


def latency_bins(calls: Sequence[TimedCall], window: Window, *, bins: int = 30) -> tuple[Bin, ...]:
    """Return the invocations in bins, including empty ones.

    A bin is a round width (1 s, 5 min, 2 h …) and starts at a multiple of it since midnight UTC.

    Args:
        calls: Invocations in the order in which they were sent.
        window: The time window; where it is open, the bins cover the invocations.
        bins: Approximate upper limit of the number of bins.
    """
    if bins < 1:
        raise ValueError(f"bins must be at least 1, not {bins}")
    counted = [call for call in calls if call.failure not in CALLER_FAILURES]
    if not counted:
        return ()
    first = window.since.timestamp() if window.since is not None else counted[0].asked_s
    last = max(counted[-1].asked_s, window.until.timestamp() if window.until is not None else counted[-1].asked_s)
    width = _width((last - first) / bins)
    begin = math.floor(first / width) * width
    groups: list[list[TimedCall]] = [[] for _ in range(math.floor((last - begin) / width) + 1)]
    for call in counted:
        groups[max(0, math.floor((call.asked_s - begin) / width))].append(call)
    if window.until is not None and not groups[-1] and begin + (len(groups) - 1) * width >= window.until.timestamp():
        groups.pop()
    return tuple(_bin(begin + place * width, width, group) for place, group in enumerate(groups))


def _width(wanted_s: float) -> float:
    return next((float(width) for width in _WIDTHS_S if width >= wanted_s), math.ceil(wanted_s / 604_800) * 604_800.0)


def _bin(start_s: float, width_s: float, calls: Sequence[TimedCall]) -> Bin:
    durations = [call.duration_ms for call in calls if not call.failed and call.duration_ms is not None]
    failed = sum(call.failed for call in calls)
    start = datetime.fromtimestamp(start_s, UTC)
    return Bin(
        start=start,
        end=start + timedelta(seconds=width_s),
        n=len(calls),
        failed=failed,
        p50=estimate_percentile(durations, 0.5),
        p90=estimate_percentile(durations, 0.9),
        error_rate=estimate_share(failed, len(calls)),
    )
