"""The division of a call's time, as known from the client and the start lines.

Shares are sums over a scenario's calls divided by the sum of their durations, so they add up to 1 (medians would not).
Model, tools and the agent's own work cannot be separated from outside: that needs a trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from loomlib.presentation.formats import percent

from .clocks import bound_clocks
from .floor import Floor
from .measurements import Measurement, of_scenario
from .scenarios import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeShare:
    """A part of a scenario's time: its key in the theme, its label, and its share (0 to 1)."""

    key: str
    label: str
    share: float


_LABELS = {
    "start-up": "before the agent starts",
    "answer": "the agent's answer (model, tools and agent together)",
    "unsplit": "not split: no start times",
    "floor": "the harness itself",
}


def split_time(measurements: Sequence[Measurement], floor: Floor, scenario: Scenario) -> tuple[TimeShare, ...]:
    """Return the shares of a scenario's time; none when no call was answered.

    With start times: the time before the agent starts (service and network included), its answer, and the harness.
    Without: the harness and the rest. Starts are corrected by the middle of the clock bound if the clocks disagree.

    Args:
        measurements: The study's calls.
        floor: The harness floor.
        scenario: The scenario.
    """
    calls = [call for call in of_scenario(measurements, scenario) if call.is_done and call.duration_ms]
    if not calls:
        return ()
    calls_with_start = [call for call in calls if call.has_start]
    split = calls_with_start if len(calls_with_start) >= 0.8 * len(calls) else []
    used = split or calls
    whole = sum(call.duration_ms or 0 for call in used)
    harness = min(whole, (median(floor.durations_ms) if floor.durations_ms else 0.0) * len(used))
    if not split:
        return _parts({"unsplit": whole - harness, "floor": harness}, whole)
    bound = bound_clocks(measurements)
    start_ms = sum(bound.start_ms(call) if bound else call.start_latency_ms or 0.0 for call in split)
    before = max(0.0, start_ms - harness)
    return _parts({"start-up": before, "answer": whole - before - harness, "floor": harness}, whole)


def share_sentence(parts: Sequence[TimeShare], scenario: Scenario) -> str:
    """Return `Of a cold call's time: before the agent starts 93 %, …`; "" when the time could not be divided.

    Args:
        parts: The shares of the scenario's time.
        scenario: The scenario.
    """
    if not any(part.key == "start-up" for part in parts):
        return ""
    shares = ", ".join(f"{part.label} {percent(part.share)}" for part in parts)
    return f"Of a {scenario} call's time: {shares}."


def _parts(amounts: dict[str, float], whole: float) -> tuple[TimeShare, ...]:
    return tuple(
        TimeShare(key=key, label=_LABELS[key], share=max(0.0, amount) / whole) for key, amount in amounts.items()
    )
