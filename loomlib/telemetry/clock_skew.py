"""Two clocks: how far an agent's may be from the client's, and what that leaves of a latency between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """One call as two clocks saw it, in Unix seconds: `sent` and `received` by the client's, `start` by the agent's."""

    sent: float
    received: float
    start: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SkewBound:
    """The agent's clock minus the client's lies between `low_ms` and `high_ms`; `calls` sightings say so."""

    low_ms: float
    high_ms: float
    calls: int

    @property
    def clocks_disagree(self) -> bool:
        """Whether the two clocks certainly differ: no bound that contains zero fits what was seen."""
        return self.low_ms > 0 or self.high_ms < 0

    def latency_range_ms(self, raw_ms: float) -> tuple[float, float]:
        """What a latency of `raw_ms` between the two clocks can really have been."""
        return max(0.0, raw_ms - self.high_ms), max(0.0, raw_ms - self.low_ms)


def bound_skew(sightings: Iterable[Sighting]) -> SkewBound | None:
    """The tightest bound that all sightings allow, None without any.

    A call starts in the agent after it was sent and before its first byte came back, so for each of them
    start − received ≤ skew ≤ start − sent; a warm call, which is short, bounds it closely. When the bounds exclude each
    other a clock was set in between: then the first sighting alone counts.
    """
    seen = list(sightings)
    if not seen:
        return None
    bounds = [((one.start - one.received) * 1000, (one.start - one.sent) * 1000) for one in seen]
    low, high = max(low for low, _ in bounds), min(high for _, high in bounds)
    if low > high:
        (low, high), seen = bounds[0], seen[:1]
    return SkewBound(low_ms=low, high_ms=high, calls=len(seen))
