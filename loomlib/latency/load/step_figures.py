"""The figures of a load step, timed from the intended start, each with the client's own error.

A client that sends late, or that waits for a slow answer before it sends, measures a service that looks faster than it
is (coordinated omission: Tene, How NOT to Measure Latency, 2013). So times count from the intended start, and the
figures of a step include its schedule lag: how late calls were sent. A latency is credible when the lag is small in
comparison.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from loomlib.presentation.formats import NumberKind, exact, milliseconds
from loomlib.statistics import CONFIDENCE, Estimate, percentile

from .batches import estimate_batch_percentile, estimate_batch_share
from .calls import LoadCall
from .columns import CallColumns, FloatArray, call_columns
from .slo import Slo

PERCENTILES: Final = (0.5, 0.9, 0.99)
LARGE_LAG: Final = 0.05
"""The ratio of the schedule lag's p99 to a latency above which the latency is doubtful."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleLag:
    """How late the calls of a step were sent, in milliseconds. None when no call was sent.

    Attributes:
        p50_ms: The median.
        p99_ms: The 99th percentile.
    """

    p50_ms: float | None
    p99_ms: float | None

    @property
    def text(self) -> str:
        """The lag in words: `sent 0.05 ms late (p99 0.4 ms)`."""
        if self.p50_ms is None:
            return "no call was sent"
        return f"sent {milliseconds(self.p50_ms)} late (p99 {milliseconds(self.p99_ms)})"

    def is_large_for(self, latency_ms: float) -> bool:
        """Whether it is more than a twentieth of a latency, which it may have inflated."""
        return self.p99_ms is not None and self.p99_ms > LARGE_LAG * latency_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFigure:
    """A figure of a step, with the error of the client that measured it.

    Attributes:
        name: Its name, such as `p90 TTFT`.
        estimate: The figure with its interval.
        kind: What it measures: "ms", "share" or "number" (a rate in calls a second).
        lag: The schedule lag of the step.
    """

    name: str
    estimate: Estimate
    kind: NumberKind
    lag: ScheduleLag

    @property
    def is_doubtful(self) -> bool:
        """Whether the schedule lag, the client's own lateness, is a large part of a latency."""
        value = self.estimate.value
        return self.kind == "ms" and value is not None and self.lag.is_large_for(value)

    @property
    def text(self) -> str:
        """The figure with its interval and the lag: `318 ms [311–326], sent 0.05 ms late (p99 0.4 ms)`."""
        unit = "/s" if self.kind == "number" and self.estimate.is_known else ""
        return f"{self.estimate.text(self.kind)}{unit}, {self.lag.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFigures:
    """The figures of a load step.

    Attributes:
        n: Calls whose end is known.
        seconds: How long calls were offered.
        offered_per_s: Intended calls a second; None in a closed loop, where the answers determine the calls.
        made_per_s: Calls a second that were sent within that time.
        ttft: Percentiles of the time to the first byte of complete calls, by share (0.9 for p90).
        duration: Percentiles of the duration of complete calls, by share.
        errors: The share of failed calls.
        failures: Failed calls, by class.
        goodput: Complete calls a second that were within every limit on a single call; None without an SLO.
        lag: The schedule lag.
        waiting_p99_ms: 99th percentile of the time that calls waited for their user's previous call.
        not_sent: Calls that were never sent.
        interrupted: Calls whose end is unknown because the engine was killed or stopped.
        cpu_ms_per_call: Processor time of the client per call, in milliseconds; None when it was not measured.
        cpu_share: Processor time of the client over the available time: 1 means that all of its processes were busy.
    """

    n: int
    seconds: float
    offered_per_s: float | None
    made_per_s: float
    ttft: Mapping[float, StepFigure]
    duration: Mapping[float, StepFigure]
    errors: StepFigure
    failures: Mapping[str, int] = field(default_factory=dict[str, int])
    goodput: StepFigure | None = None
    lag: ScheduleLag
    waiting_p99_ms: float | None = None
    not_sent: int = 0
    interrupted: int = 0
    cpu_ms_per_call: float | None = None
    cpu_share: float | None = None

    @property
    def made_share(self) -> float | None:
        """Calls made over calls offered; below 1, the client did not keep up. None in a closed loop."""
        return self.made_per_s / self.offered_per_s if self.offered_per_s else None

    @property
    def every(self) -> tuple[StepFigure, ...]:
        """All figures, for tables."""
        rest = () if self.goodput is None else (self.goodput,)
        return (*self.ttft.values(), *self.duration.values(), self.errors, *rest)


def step_figures(
    calls: Sequence[LoadCall],
    *,
    seconds: float | None = None,
    slo: Slo | None = None,
    costs_usd: Mapping[int, float] | None = None,
    only: Iterable[int] | None = None,
    cpu_s: float | None = None,
    processes: int = 1,
    confidence: float = CONFIDENCE,
) -> StepFigures:
    """Return the figures of a step.

    Args:
        calls: The calls of the step.
        seconds: How long calls were offered, in an open loop; None for a closed loop, which lasts until its last
            answer.
        slo: Its limits decide which calls count for goodput.
        costs_usd: The cost of calls by index, for goodput.
        only: The indexes of the calls to include, such as those of one label or the measured ones; all by default.
        cpu_s: Processor time of the client's processes (`LoadStep.cpu_s`).
        processes: Number of these processes (`LoadStep.processes`).
        confidence: Confidence level of the intervals.
    """
    chosen = calls if only is None else _chosen(calls, frozenset(only))
    columns = call_columns(chosen)
    waits = np.array([call.waited_ms for call in chosen if call.sent_s is not None])
    lag = schedule_lag(columns)
    lasted_s = seconds if seconds is not None else float(np.nanmax(columns.done_s, initial=0.0))
    sent_count = int(np.isfinite(columns.sent_s).sum())
    sent_in_time = sent_count if seconds is None else int((columns.sent_s < seconds).sum())
    offered = columns.n + columns.not_sent + columns.interrupted

    def figure(name: str, estimate: Estimate, kind: NumberKind) -> StepFigure:
        return StepFigure(name=name, estimate=estimate, kind=kind, lag=lag)

    def percentiles(name: str, values: FloatArray) -> dict[float, StepFigure]:
        finite_values = values[np.isfinite(values)]
        return {
            p: figure(
                f"p{exact(round(p * 100))} {name}",
                estimate_batch_percentile(finite_values, p, confidence=confidence),
                "ms",
            )
            for p in PERCENTILES
        }

    goodput = None
    if slo is not None and lasted_s > 0:
        share = estimate_batch_share(slo.good_calls(columns, costs_usd), confidence=confidence)
        goodput = figure("goodput", _rate(share, columns.n / lasted_s), "number")
    return StepFigures(
        n=columns.n,
        seconds=lasted_s,
        offered_per_s=offered / seconds if seconds else None,
        made_per_s=sent_in_time / lasted_s if lasted_s > 0 else 0.0,
        ttft=percentiles("TTFT", columns.ttft_ms),
        duration=percentiles("duration", columns.duration_ms),
        errors=figure("errors", estimate_batch_share(~columns.is_complete, confidence=confidence), "share"),
        failures=columns.failures,
        goodput=goodput,
        lag=lag,
        waiting_p99_ms=percentile(waits, 0.99) if waits.size else None,
        not_sent=columns.not_sent,
        interrupted=columns.interrupted,
        cpu_ms_per_call=None if cpu_s is None or not sent_count else cpu_s * 1e3 / sent_count,
        cpu_share=None if cpu_s is None or lasted_s <= 0 else cpu_s / (lasted_s * max(1, processes)),
    )


def schedule_lag(columns: CallColumns) -> ScheduleLag:
    """Return how late calls were sent.

    Args:
        columns: The calls.
    """
    lags = columns.lag_ms[np.isfinite(columns.lag_ms)]
    if not lags.size:
        return ScheduleLag(p50_ms=None, p99_ms=None)
    return ScheduleLag(p50_ms=percentile(lags, 0.5), p99_ms=percentile(lags, 0.99))


def _chosen(calls: Sequence[LoadCall], only: frozenset[int]) -> list[LoadCall]:
    return [call for call in calls if call.index in only]


def _rate(share: Estimate, calls_per_s: float) -> Estimate:
    """Return a share of calls as a rate; the number of calls in the step is taken as given."""
    if share.value is None or share.low is None or share.high is None or not math.isfinite(calls_per_s):
        return share
    return replace(share, value=share.value * calls_per_s, low=share.low * calls_per_s, high=share.high * calls_per_s)
