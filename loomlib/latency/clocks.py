"""How far the agent's clock and this machine's can disagree, bounded by calls that cannot lie.

A call is sent, then its agent starts, then its first byte comes back: send ≤ start ≤ receive on any one clock. The
start line carries the agent's clock, so its distance to the send and to the receive brackets the offset between the two
clocks, and every call narrows the bracket. Warm calls do so closely; a study without any has its cold ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loomlib.presentation.formats import milliseconds, number, plural

from .measurements import Measurement, of_scenario
from .scenarios import Scenario
from .starts import FOUND


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockBound:
    """The agent's clock is between `low_ms` and `high_ms` ahead of this machine's (negative: behind).

    Taken from `n` calls of `scenario`. `is_consistent` is False when no single offset fits them all (a clock was set,
    or several machines answered); the bound is then the widest that some call allows.
    """

    low_ms: float
    high_ms: float
    n: int
    is_consistent: bool = True
    scenario: Scenario = Scenario.WARM

    @property
    def allows_agreement(self) -> bool:
        """True when the calls are compatible with clocks that agree."""
        return self.low_ms <= 0 <= self.high_ms

    @property
    def correction_ms(self) -> float:
        """What to take off a start latency: nothing while the clocks may agree, else the middle of the bound."""
        return 0.0 if self.allows_agreement else (self.low_ms + self.high_ms) / 2

    @property
    def calls(self) -> str:
        """What the bound was taken from: `6 warm calls`."""
        return plural(self.n, f"{self.scenario} call")

    def start_ms(self, call: Measurement) -> float:
        """The call's start latency with the correction taken off; no call starts before it is sent or after it ends."""
        return min(max((call.start_latency_ms or 0.0) - self.correction_ms, 0.0), call.duration_ms or 0.0)

    def __str__(self) -> str:
        return f"{number(self.low_ms)} to {milliseconds(self.high_ms)}"


def bound_clocks(measurements: Sequence[Measurement]) -> ClockBound | None:
    """The bound from a study's warm calls, else from its cold ones; None when no call's start is known."""
    return _bound(measurements, Scenario.WARM) or _bound(measurements, Scenario.COLD)


def _bound(measurements: Sequence[Measurement], scenario: Scenario) -> ClockBound | None:
    brackets = [
        (each.start_latency_ms - received_ms, each.start_latency_ms)
        for each in of_scenario(measurements, scenario)
        if each.is_done and each.start_state == FOUND and each.start_latency_ms is not None
        if (received_ms := each.ttft_ms if each.ttft_ms is not None else each.duration_ms) is not None
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
