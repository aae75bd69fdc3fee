"""Clock skew: how far an agent's clock may differ from the client's, and what that means for a latency between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSample:
    """One invocation's times by both clocks, in Unix seconds.

    Attributes:
        sent: When the request was sent, on the client's clock.
        received: When the first byte was received, on the client's clock.
        start: When the agent started, on its own clock.
    """

    sent: float
    received: float
    start: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SkewBound:
    """Bounds of the difference between the agent's clock and the client's.

    Attributes:
        low_ms: Lower bound in milliseconds.
        high_ms: Upper bound in milliseconds.
        calls: How many invocations they were computed from.
    """

    low_ms: float
    high_ms: float
    calls: int

    @property
    def clocks_disagree(self) -> bool:
        """Whether the two clocks certainly differ: the bounds exclude zero."""
        return self.low_ms > 0 or self.high_ms < 0

    def latency_range_ms(self, raw_ms: float) -> tuple[float, float]:
        """Return the bounds of a latency that was measured as `raw_ms` between the two clocks."""
        return max(0.0, raw_ms - self.high_ms), max(0.0, raw_ms - self.low_ms)


def bound_skew(clock_samples: Iterable[ClockSample]) -> SkewBound | None:
    """Return the tightest bounds that all samples allow, None without any.

    The agent starts after the request was sent and before its first byte was received, so for each invocation
    start − received ≤ skew ≤ start − sent; a warm one, which is short, bounds it closely. If the bounds contradict
    each other, a clock was adjusted in between, and only the first sample is used.
    """
    samples = list(clock_samples)
    if not samples:
        return None
    bounds = [((sample.start - sample.received) * 1000, (sample.start - sample.sent) * 1000) for sample in samples]
    low, high = max(low for low, _ in bounds), min(high for _, high in bounds)
    if low > high:
        (low, high), samples = bounds[0], samples[:1]
    return SkewBound(low_ms=low, high_ms=high, calls=len(samples))
