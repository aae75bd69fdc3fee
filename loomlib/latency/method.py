"""How a study was measured and what it cannot tell, in words and as values for the JSON summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loomlib.statistics.percentiles import CONFIDENCE, PERCENTILE_METHOD, RESAMPLES, SHARE_METHOD

from .scenarios import Scenario

if TYPE_CHECKING:
    from .result import StudyResult


def method_notes(result: StudyResult) -> list[str]:
    """How the numbers came about, one sentence each."""
    design = result.design
    scenarios = "; ".join(f"{name} is {name.meaning}" for name in Scenario if design.counts[name])
    notes = [
        f"{scenarios[0].upper()}{scenarios[1:]}.",
        f"Closed loop, one call at a time, in randomized blocks (seed {design.seed}): this is what a single caller "
        "sees, not how the agent behaves under load.",
        "Durations run from sending the request to the last byte, by a monotonic clock, a new connection included; "
        "nothing is retried.",
        f"Percentiles: {PERCENTILE_METHOD} ({RESAMPLES} resamples, {CONFIDENCE:.0%} intervals); ≥ before an upper end "
        "means that the calls are too few to bound it. What a new session costs is the median of the "
        "differences between the cold and the warm call of each block.",
        "Failed calls are counted by class and are in no percentile.",
    ]
    if (clocks := result.estimates().clocks) is not None:
        notes.append(
            f"Start times come from the agent's own log line and clock; by {clocks.calls} that clock "
            f"is {clocks} ahead of this machine's."
        )
    elif design.find_starts:
        notes.append("No call's start is known, so nothing bounds the difference between the two machines' clocks.")
    return notes


def cannot_tell(result: StudyResult) -> list[str]:
    """What a reader must not conclude from this study."""
    limits = [
        "Cold calls are often a mixture (warm pools, code downloads): read their distribution, not one number.",
        "From outside, model, tools and agent cannot be told apart: only the agent's own spans split them.",
    ]
    if any("simulated" in label for label in result.labels):
        limits.append("The model is simulated: its part of the time is a setting, not a measurement.")
    if result.scope == "local":
        limits.append("The agent ran on this machine: network, microVM and AWS's own queues are not in these numbers.")
    return limits


def method_summary(result: StudyResult) -> dict[str, Any]:
    """The method as JSON-ready values."""
    return {
        "loop": "closed, one call at a time",
        "order": "randomized in blocks",
        "seed": result.design.seed,
        "percentiles": PERCENTILE_METHOD,
        "resamples": RESAMPLES,
        "confidence": CONFIDENCE,
        "shares": SHARE_METHOD,
        "notes": method_notes(result),
        "cannot_tell": cannot_tell(result),
    }


def run_again(result: StudyResult) -> str:
    """The study as Python, ready to paste."""
    design = result.design
    given = [f"{name.value}={design.counts[name]}" for name in Scenario]
    given += [f"prompt={design.prompt!r}", f"seed={design.seed}"]
    optional = {"sticky_length": design.sticky_length, "timeout_s": design.timeout_s}
    given += [f"{name}={value!r}" for name, value in optional.items() if value is not None]
    if not design.find_starts:
        given.append("find_starts=False")
    return f"loom.LatencyStudy(agent, {', '.join(given)}).run()"
