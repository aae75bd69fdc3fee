"""Bootstrap replicates of measured calls: every quantity is computed for each replicate.

Row 0 of every array is the sample itself, the others are resamples of it. An estimate's value comes from row 0, its
interval from the others, so that any formula on means of measurements gets its interval in the same way: by the
expanded percentile bootstrap (Hesterberg, What Teachers Should Know About the Bootstrap, The American Statistician
69:4, 2015), whose quantiles Φ(±√(n/(n−1))·t) make up for the bootstrap's narrowness in small samples. Percentiles of
latency have intervals of their own (`mixture`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from loomlib.presentation.formats import TOO_SMALL
from loomlib.statistics.estimates import Estimate
from loomlib.statistics.percentiles import CONFIDENCE, SMALLEST_N
from loomlib.statistics.student import t_quantile

from .assumptions import Moment, StartAssumptions
from .measured import MeasuredStarts, MeteredCall
from .think_times import ThinkTimes

FloatArray = NDArray[np.float64]

RESAMPLES: Final = 2_000
BOOTSTRAP_METHOD: Final = "expanded percentile bootstrap of the measured calls"
GIVEN_METHOD: Final = "given, not measured"
_MOST_THINK_TIMES: Final = 2_000
"""Largest number of observed think times that are resampled; longer samples are thinned, which widens intervals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallReplicates:
    """Replicates of cold or of warm calls.

    Attributes:
        latency_ms: The latency of every call of the sample.
        duration_s: The mean duration of each replicate, in seconds.
        vcpu_s: The mean vCPU-seconds of each replicate; None when they were not measured.
        memory_gb: The mean memory during calls of each replicate, in GB; None when it was not measured.
        n: Number of calls.
    """

    latency_ms: FloatArray
    duration_s: FloatArray
    vcpu_s: FloatArray | None
    memory_gb: FloatArray | None
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StartReplicates:
    """Replicates of the measurements of an agent's starts, with assumptions for what was not measured.

    Attributes:
        cold: The cold calls.
        warm: The warm calls.
        warm_vcpu_s: vCPU-seconds of a warm call; None when neither measured nor assumed.
        cold_vcpu_s: vCPU-seconds of a cold call with the session's start.
        memory_gb: A session's memory while it works, in GB; None when neither measured nor assumed.
        idle_gb: A session's memory while it waits, in GB, as the platform bills it.
        n: The smaller number of cold and warm calls.
    """

    cold: CallReplicates
    warm: CallReplicates
    warm_vcpu_s: FloatArray | None
    cold_vcpu_s: FloatArray | None
    memory_gb: FloatArray | None
    idle_gb: FloatArray | None

    @property
    def n(self) -> int:
        """The smaller number of cold and warm calls."""
        return min(self.cold.n, self.warm.n)


def replicate_starts(
    measured: MeasuredStarts,
    assumptions: StartAssumptions,
    *,
    moment: Moment = "answer",
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> StartReplicates:
    """Return replicates of an agent's measured calls.

    Args:
        measured: The calls.
        assumptions: What replaces and completes measurements.
        moment: The moment up to which latency is counted.
        seed: Seed of the bootstrap.
        resamples: Number of resamples; 0 for the sample alone, without intervals.
    """
    random = np.random.Generator(np.random.PCG64(seed))
    cold = _replicate(measured.cold, moment, random, resamples)
    warm = _replicate(measured.warm, moment, random, resamples)
    rows = resamples + 1
    warm_cpu = _assumed_or_measured(assumptions.vcpu_s_per_call, rows, warm.vcpu_s)
    cold_cpu = cold.vcpu_s if cold.vcpu_s is not None else warm_cpu
    if assumptions.start_vcpu_s is not None:
        cold_cpu = None if warm_cpu is None else warm_cpu + assumptions.start_vcpu_s
    elif assumptions.vcpu_s_per_call is not None and cold.vcpu_s is not None and warm.vcpu_s is not None:
        cold_cpu = assumptions.vcpu_s_per_call + np.maximum(0.0, cold.vcpu_s - warm.vcpu_s)
    memory = _assumed_or_measured(
        assumptions.memory_gb, rows, warm.memory_gb if warm.memory_gb is not None else cold.memory_gb
    )
    # V1 bills the highest memory so far, so a session that waits costs as much as one that works.
    idle = memory if measured.platform == "V1" else _assumed_or_measured(assumptions.idle_memory_gb, rows, memory)
    if idle is not None and memory is not None:
        idle = np.minimum(idle, memory)
    return StartReplicates(
        cold=cold, warm=warm, warm_vcpu_s=warm_cpu, cold_vcpu_s=cold_cpu, memory_gb=memory, idle_gb=idle
    )


class ThinkReplicates:
    """Replicates of think times; all rows of exponential ones are equal, because their mean is given.

    Args:
        think: The think times.
        seed: Seed of the bootstrap.
        resamples: Number of resamples.
    """

    def __init__(self, think: ThinkTimes, *, seed: int = 0, resamples: int = RESAMPLES) -> None:
        self._think, self._length, self._rows = think, resamples + 1, None
        if resamples and think.observed_s:
            values = np.asarray(think.observed_s)
            if values.size > _MOST_THINK_TIMES:
                values = values[np.linspace(0, values.size - 1, _MOST_THINK_TIMES).round().astype(np.intp)]
            random = np.random.Generator(np.random.PCG64([seed, 1]))
            self._rows = values[random.integers(0, values.size, (resamples, values.size))]

    def longer_than(self, limit_s: float) -> FloatArray:
        """Return the share of think times above a limit, in seconds."""
        rows = None if self._rows is None else (self._rows > limit_s).mean(axis=1)
        return self._with_sample(self._think.longer_than(limit_s), rows)

    def mean_up_to(self, limit_s: float) -> FloatArray:
        """Return the mean of the think time or the limit, whichever is less, in seconds."""
        rows = None if self._rows is None else np.minimum(self._rows, limit_s).mean(axis=1)
        return self._with_sample(self._think.mean_up_to(limit_s), rows)

    def _with_sample(self, value: float, rows: FloatArray | None) -> FloatArray:
        return np.full(self._length, value) if rows is None else np.concatenate([[value], rows])


def estimate_from(values: FloatArray, n: int, *, is_given: bool = False) -> Estimate:
    """Return the estimate of replicates: row 0 is its value, the others make its interval.

    Args:
        values: One value for each replicate.
        n: Number of measured calls behind them.
        is_given: Whether the calls were given, not measured; the interval then reflects their spread alone.
    """
    value = float(values[0])
    method = GIVEN_METHOD if is_given else BOOTSTRAP_METHOD
    if n < SMALLEST_N and not is_given:
        return Estimate.missing(TOO_SMALL, n=n, confidence=CONFIDENCE, method=method, needed_n=SMALLEST_N)
    tail = _tail(n)
    low, high = (value, value) if values.size < 2 else (float(end) for end in np.quantile(values[1:], (tail, 1 - tail)))
    return Estimate(value=value, low=min(low, value), high=max(high, value), n=n, confidence=CONFIDENCE, method=method)


def _tail(n: int) -> float:
    """Return the quantile at which the interval of a mean of `n` values begins."""
    if n < 2:
        return (1 - CONFIDENCE) / 2
    return NormalDist().cdf(-math.sqrt(n / (n - 1)) * t_quantile(0.5 + CONFIDENCE / 2, n - 1))


def unknown_cost(starts: StartReplicates) -> Estimate:
    """Return the estimate of a cost that is unknown, with what is missing."""
    missing = [
        name for name, values in (("CPU time", starts.warm_vcpu_s), ("memory", starts.memory_gb)) if values is None
    ]
    reason = f"unknown: {' and '.join(missing)} not measured" if missing else "unknown: no price"
    return Estimate.missing(reason, n=starts.n, confidence=CONFIDENCE, method=BOOTSTRAP_METHOD)


def _replicate(
    calls: Sequence[MeteredCall], moment: Moment, random: np.random.Generator, resamples: int
) -> CallReplicates:
    n = len(calls)
    rows = np.vstack([np.arange(n)[None, :], random.integers(0, n, (resamples, n))])
    durations = np.array([call.duration_ms for call in calls])
    if moment == "answer":
        latency = durations
    else:
        bytes_ms = [call.first_byte_ms for call in calls]
        if any(value is None for value in bytes_ms):
            raise ValueError('the calls have no time to the first byte: choose the moment "answer"')
        latency = np.array(bytes_ms, dtype=np.float64)
    return CallReplicates(
        latency_ms=latency,
        duration_s=durations[rows].mean(axis=1) / 1000,
        vcpu_s=_mean([call.vcpu_s for call in calls], rows),
        memory_gb=_memory(calls, rows),
        n=n,
    )


def _mean(values: Sequence[float | None], rows: NDArray[np.int64]) -> FloatArray | None:
    """Return the mean of the known values of each replicate; without known values, the mean of all."""
    observations = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    if np.isnan(observations).all():
        return None
    drawn = observations[rows]
    mask = ~np.isnan(drawn)
    count = mask.sum(axis=1)
    sums = np.where(mask, drawn, 0.0).sum(axis=1)
    return np.where(count > 0, sums / np.maximum(count, 1), np.nanmean(observations))


def _memory(calls: Sequence[MeteredCall], rows: NDArray[np.int64]) -> FloatArray | None:
    """Return GB-seconds over seconds: the mean memory during calls."""
    levels = [
        None if call.memory_gb_s is None or not call.duration_ms else call.memory_gb_s / (call.duration_ms / 1000)
        for call in calls
    ]
    return _mean(levels, rows)


def _assumed_or_measured(value: float | None, rows: int, measured: FloatArray | None) -> FloatArray | None:
    return measured if value is None else np.full(rows, value)
