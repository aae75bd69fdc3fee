"""The method of a latency study, and its limitations."""

from __future__ import annotations

from typing import Final

from loomlib.experiments import StudyMethod
from loomlib.presentation.formats import percent, plural
from loomlib.statistics.percentiles import CONFIDENCE, PERCENTILE_METHOD, SHARE_METHOD

from .result import StudyResult
from .scenarios import Scenario

SECOND_CALL: Final = (
    "The second call of a session is not its steady state: in a Python agent it often contains the first full garbage "
    "collection, which the parts of its trace show."
)


def method(result: StudyResult) -> StudyMethod:
    """Return how the study was measured."""
    return StudyMethod(
        notes=_notes(result),
        limits=_limits(result),
        run_again=_run_again(result),
        facts={
            "loop": "closed, one call at a time" + (" in each thread of a Dask cluster" if result.dask else ""),
            "order": "randomized in blocks",
            "seed": result.design.seed,
            "percentiles": PERCENTILE_METHOD,
            "confidence": CONFIDENCE,
            "shares": SHARE_METHOD,
        },
    )


def _notes(result: StudyResult) -> list[str]:
    design = result.design
    scenarios = "; ".join(f"{scenario} is {scenario.meaning}" for scenario in Scenario if design.counts[scenario])
    notes = [
        f"{scenarios[0].upper()}{scenarios[1:]}.",
        _loop(result),
        "Durations run from sending the request to the last byte, by a monotonic clock. They include opening a new "
        "connection; nothing is retried.",
        f"Percentiles: {PERCENTILE_METHOD} ({percent(CONFIDENCE)} intervals); ≥ before an upper end means that the "
        "calls are too few to bound it: the lower end alone then holds with that confidence. The cost of a new session "
        "is the median of the differences between the cold and the warm call of each block.",
        "Failed calls are counted by class and excluded from percentiles.",
    ]
    if (clocks := result.estimates().clocks) is not None:
        notes.append(
            f"Start times come from the agent's own log line and clock; {clocks.calls} bound that clock to be {clocks} "
            "ahead of this machine's."
        )
    elif design.find_starts:
        notes.append("No call's start is known, so the difference between the two machines' clocks is not bounded.")
    return notes


def _loop(result: StudyResult) -> str:
    order = f"in randomized blocks (seed {result.design.seed})"
    if result.dask is None:
        return (
            f"Closed loop, one call at a time, {order}: this is what a single caller sees, not how the agent behaves "
            "under load."
        )
    threads, workers = result.dask["threads"], result.dask["workers"]
    return (
        f"Closed loops, one call at a time in each of {plural(threads, 'thread')} of {plural(workers, 'worker')} of a "
        f"Dask cluster, {order}; a block's calls and a session's are made by one worker. Each duration is measured at "
        "the socket of its worker, by one clock; time stamps are of different machines' clocks, and are not compared. "
        "The machine's conditions are those of the machine that ran the study, not of the workers."
    )


def _limits(result: StudyResult) -> list[str]:
    limits = [
        "Cold calls are often a mixture (warm pools, code downloads): read their distribution, not one number.",
        f"{SECOND_CALL} Sticky calls come after it.",
        "From outside, model, tools and agent cannot be separated: only the agent's own spans do that.",
    ]
    if any("simulated" in label for label in result.labels):
        limits.append("The model is simulated: its part of the time is a setting, not a measurement.")
    if result.scope == "local":
        limits.append("The agent ran on this machine: network, microVM and AWS's own queues are not in these numbers.")
    return limits


def timeout_argument(timeout_s: float | None) -> str:
    """Return the argument for the limit of each call in code that runs a study again; empty without a limit."""
    return "" if timeout_s is None else f", timeout_s={timeout_s!r}"


def _run_again(result: StudyResult) -> str:
    design = result.design
    arguments = [f"{scenario.value}={design.counts[scenario]}" for scenario in Scenario]
    arguments += [f"prompt={design.prompt!r}", f"seed={design.seed}"]
    optional = {"sticky_length": design.sticky_length, "timeout_s": design.timeout_s, "until": design.until}
    arguments += [f"{name}={value!r}" for name, value in optional.items() if value is not None]
    if not design.find_starts:
        arguments.append("find_starts=False")
    return f"loom.LatencyStudy(agent, {', '.join(arguments)}).run()"
