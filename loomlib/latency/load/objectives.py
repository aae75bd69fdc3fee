"""The objectives of an SLO: a limit on a percentile of a latency, on the share of failed calls, or on the mean cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from loomlib.presentation.formats import exact

from .calls import LoadCall

TTFT: Final = "TTFT"
DURATION: Final = "duration"
GAP: Final = "chunk gap"
LATENCY_METRICS: Final = (TTFT, DURATION, GAP)


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyObjective:
    """At least a share `p` of all calls has a latency of at most `limit_ms`: percentile `p` does not exceed the limit.

    A failed call has no latency. It counts as one that exceeds the limit: a service does not get faster by failing.

    Attributes:
        metric: "TTFT", "duration", or "chunk gap" (the longest time between two chunks of a response).
        p: The share of calls, such as 0.9 for p90.
        limit_ms: The limit, in milliseconds.
    """

    metric: str
    p: float
    limit_ms: float

    def __post_init__(self) -> None:
        if self.metric not in LATENCY_METRICS:
            raise ValueError(f"the metric must be one of {', '.join(LATENCY_METRICS)}, not {self.metric!r}")
        if not 0 < self.p < 1:
            raise ValueError(f"a percentile must be above 0 and below 100, not {exact(self.p * 100)}")
        if not (math.isfinite(self.limit_ms) and self.limit_ms > 0):
            raise ValueError("limit_ms must be finite and above 0")

    @property
    def name(self) -> str:
        """The figure's name: `p90 TTFT`."""
        return f"p{exact(round(self.p * 100, 9))} {self.metric}"

    @property
    def text(self) -> str:
        """The objective as text that `Slo.parse` reads."""
        return f"{self.name} < {exact(self.limit_ms)} ms"

    def value_of(self, call: LoadCall) -> float | None:
        """Return a call's latency in milliseconds; None for a failed call."""
        if not call.is_complete:
            return None
        if self.metric == TTFT:
            return call.ttft_ms
        return call.duration_ms if self.metric == DURATION else call.longest_gap_ms or 0.0

    def is_met_by(self, call: LoadCall) -> bool:
        """Whether a single call is complete and within the limit."""
        value = self.value_of(call)
        return value is not None and value <= self.limit_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorObjective:
    """The share of failed calls, among those that were sent, is at most `limit`.

    Attributes:
        limit: The share, such as 0.01.
    """

    limit: float

    def __post_init__(self) -> None:
        if not 0 <= self.limit < 1:
            raise ValueError("the limit on errors is a share and must be 0 or more and below 1")

    @property
    def name(self) -> str:
        """The figure's name: `errors`."""
        return "errors"

    @property
    def text(self) -> str:
        """The objective as text that `Slo.parse` reads."""
        return f"errors < {exact(round(self.limit * 100, 9))} %" if self.limit else "errors <= 0 %"


@dataclass(frozen=True, slots=True, kw_only=True)
class CostObjective:
    """The mean cost of a call is at most `limit_usd`.

    Attributes:
        limit_usd: The limit, in US dollars a call.
    """

    limit_usd: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.limit_usd) and self.limit_usd > 0):
            raise ValueError("limit_usd must be finite and above 0")

    @property
    def name(self) -> str:
        """The figure's name: `cost`."""
        return "cost"

    @property
    def text(self) -> str:
        """The objective as text that `Slo.parse` reads."""
        return f"cost < ${exact(self.limit_usd)}"


Objective = LatencyObjective | ErrorObjective | CostObjective
