"""The time breakdown and the cost of calls at one load, in the form that is stored with the study."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Final

from loomlib.statistics import Estimate

from .subject import LoadTrace

MOST_SPANS: Final = 50
"""Largest number of span names stored for a step, those with the most time; agents can have any number of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepParts:
    """The time breakdown of calls at one load.

    Attributes:
        n: Calls with spans.
        calls: Calls whose traces were looked up.
        states: How the search for their spans ended.
        total_ms: Mean duration of the calls with spans, from sending.
        part_ms: Mean of each part of `loomlib.telemetry.traces.PARTS`; the parts add up to `total_ms`.
        p50_ms: Median of each part, with its interval.
        span_ms: Mean own time of spans by name.
        usd: Mean cost of a call in US dollars; None when unknown.
        usd_interval: The mean with its interval, in US dollars.
        usd_is_partial: Whether a part of the cost is unknown, so that `usd` is a lower bound.
        why_unknown: Why a part of the cost is unknown.
        is_simulated: Whether the cost is not billed, because the model is not one of Bedrock's.
        is_estimate: Whether quantities of the cost are estimated.
    """

    n: int
    calls: int
    states: Mapping[str, int]
    total_ms: float = 0.0
    part_ms: Mapping[str, float] = field(default_factory=dict[str, float])
    p50_ms: Mapping[str, Estimate] = field(default_factory=dict[str, Estimate], repr=False)
    span_ms: Mapping[str, float] = field(default_factory=dict[str, float])
    usd: float | None = None
    usd_interval: Estimate | None = None
    usd_is_partial: bool = False
    why_unknown: str = ""
    is_simulated: bool = False
    is_estimate: bool = False

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> StepParts:
        """Return the parts from the stored form of `step_parts`."""
        interval = stored["usd_interval"]
        estimates: dict[str, Any] = {
            "p50_ms": {name: Estimate.read(one) for name, one in stored["p50_ms"].items()},
            "usd_interval": None if interval is None else Estimate.read(interval),
        }
        return cls(**{**stored, **estimates})


def step_parts(traces: Sequence[LoadTrace]) -> dict[str, Any]:
    """Return the stored form of the time breakdown of calls.

    Args:
        traces: The telemetry of each call.
    """
    from loomlib.statistics import estimate_mean

    from ..breakdown_estimate import estimate_breakdown

    traces_with_spans = [trace for trace in traces if trace.has_spans]
    inside = estimate_breakdown([trace.breakdown for trace in traces_with_spans])
    spans: defaultdict[str, float] = defaultdict(float)
    for trace in traces_with_spans:
        for name, ms in trace.span_ms.items():
            spans[name] += ms / len(traces_with_spans)
    amounts = [trace.cost.total for trace in traces]
    values = [amount.value for amount in amounts if amount.value is not None]
    unknown = [line.why for trace in traces for line in trace.cost.lines if line.amount.value is None]
    return {
        "n": inside.n,
        "calls": len(traces),
        "states": dict(Counter(trace.state for trace in traces)),
        "total_ms": inside.total_ms / inside.n if inside.n else 0.0,
        "part_ms": {part.name: part.mean_ms for part in inside.parts},
        "p50_ms": {part.name: part.p50_ms.summary() for part in inside.parts},
        "span_ms": dict(sorted(spans.items(), key=lambda one: -one[1])[:MOST_SPANS]),
        "usd": fmean(values) if values else None,
        "usd_interval": estimate_mean(values, bounds=None).summary() if values else None,
        "usd_is_partial": any(amount.unknown for amount in amounts),
        "why_unknown": unknown[0] if unknown else "",
        "is_simulated": any(trace.cost.is_simulated for trace in traces),
        "is_estimate": any(amount.is_estimate for amount in amounts),
    }
