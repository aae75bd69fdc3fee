"""Bounds on the offset between the agent's clock and this machine's.

A call is sent, then its agent starts, then its first byte comes back: send ≤ start ≤ receive on any one clock. The
start line carries the agent's clock, so its distance to the send and to the receive brackets the offset between the two
clocks, and every call narrows the bracket. Warm calls do so closely; a study without warm calls uses its cold calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loomlib.presentation.formats import milliseconds, number, plural

from .measurements import Measurement, of_scenario
from .scenarios import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockBound:
    """Bound on how far the agent's clock is ahead of this machine's, in milliseconds (negative: behind).

    Attributes:
        low_ms: Lower bound.
        high_ms: Upper bound.
        n: Calls that the bound was computed from.
        is_consistent: False when no single offset fits all calls (a clock was set, or several machines answered); the
            bound is then the widest that any call allows.
        scenario: The scenario of those calls.
    """

    low_ms: float
    high_ms: float
    n: int
    is_consistent: bool = True
    scenario: Scenario = Scenario.WARM

    @property
    def allows_agreement(self) -> bool:
        """True when the calls are consistent with clocks that agree."""
        return self.low_ms <= 0 <= self.high_ms

    @property
    def correction_ms(self) -> float:
        """Correction to subtract from a start latency: 0 if the clocks may agree, else the middle of the bound."""
        return 0.0 if self.allows_agreement else (self.low_ms + self.high_ms) / 2

    @property
    def calls(self) -> str:
        """The calls from which the bound was computed: `6 warm calls`."""
        return plural(self.n, f"{self.scenario} call")

    def start_ms(self, call: Measurement) -> float:
        """Return the call's corrected start latency; no call starts before it is sent or after it ends."""
        return min(max((call.start_latency_ms or 0.0) - self.correction_ms, 0.0), call.duration_ms or 0.0)

    def __str__(self) -> str:
        return f"{number(self.low_ms)} to {milliseconds(self.high_ms)}"


def bound_clocks(measurements: Sequence[Measurement]) -> ClockBound | None:
    """Return the bound from a study's warm calls, else from its cold ones; None when no call's start is known."""
    return _bound(measurements, Scenario.WARM) or _bound(measurements, Scenario.COLD)


def _bound(measurements: Sequence[Measurement], scenario: Scenario) -> ClockBound | None:
    brackets = [
        (call.start_latency_ms - received_ms, call.start_latency_ms)
        for call in of_scenario(measurements, scenario)
        if call.has_start and call.start_latency_ms is not None
        if (received_ms := call.ttft_ms if call.ttft_ms is not None else call.duration_ms) is not None
    ]
    if not brackets:
        return None
    low, high = max(low for low, _ in brackets), min(high for _, high in brackets)
    if low <= high:
        return ClockBound(low_ms=low, high_ms=high, n=len(brackets), scenario=scenario)
    return ClockBound(
        low_ms=min(low for low, _ in brackets),
        high_ms=max(high for _, high in brackets),
        n=len(brackets),
        is_consistent=False,
        scenario=scenario,
    )
