"""Where the time of a call goes, as far as the client and the start lines can tell.

Shares are sums over a scenario's calls divided by the sum of their durations, so they add up to 1 (medians would not).
Model, tools and the agent's own work cannot be told apart from outside: that takes a trace; the label says so.
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
from .starts import FOUND


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a scenario's time: its key in the theme, what to call it, and its share (0…1)."""

    key: str
    label: str
    share: float


_LABELS = {
    "start-up": "before the agent starts",
    "answer": "the agent's answer (model, tools and agent together)",
    "unsplit": "not split: no start times",
    "floor": "the harness itself",
}


def split_time(measurements: Sequence[Measurement], floor: Floor, scenario: Scenario) -> tuple[Part, ...]:
    """The parts of a scenario's time, none when it has no answered call.

    With start times: before the agent starts (service and network on the way there included), its answer, and the
    harness. Without: the harness and the rest. Start lines of a clock that disagrees are corrected by the middle of
    its bound.
    """
    calls = [each for each in of_scenario(measurements, scenario) if each.is_done and each.duration_ms]
    if not calls:
        return ()
    known = [each for each in calls if each.start_state == FOUND and each.start_latency_ms is not None]
    split = known if len(known) >= 0.8 * len(calls) else []
    used = split or calls
    whole = sum(each.duration_ms or 0 for each in used)
    harness = min(whole, (median(floor.durations_ms) if floor.durations_ms else 0.0) * len(used))
    if not split:
        return _parts({"unsplit": whole - harness, "floor": harness}, whole)
    bound = bound_clocks(measurements)
    started = sum(bound.start_ms(each) if bound else each.start_latency_ms or 0.0 for each in split)
    before = max(0.0, started - harness)
    return _parts({"start-up": before, "answer": whole - before - harness, "floor": harness}, whole)


def sentence(parts: Sequence[Part], scenario: Scenario) -> str | None:
    """`Of a cold call's time: before the agent starts 93 %, …`, None when nothing could be split."""
    if not any(part.key == "start-up" for part in parts):
        return None
    told = ", ".join(f"{part.label} {percent(part.share)}" for part in parts)
    return f"Of a {scenario} call's time: {told}."


def _parts(amounts: dict[str, float], whole: float) -> tuple[Part, ...]:
    return tuple(Part(key=key, label=_LABELS[key], share=max(0.0, amount) / whole) for key, amount in amounts.items())
