"""The estimates of a latency study: one set for each scenario, and the cost of a new session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loomlib.experiments import failure_counts
from loomlib.statistics.estimates import Estimate
from loomlib.statistics.percentiles import SMALLEST_N, estimate_percentile

from .clocks import ClockBound, bound_clocks
from .floor import Floor
from .measurements import Measurement, of_scenario
from .mixtures import Mixture, find_mixture
from .scenarios import Scenario
from .stopping import StudyIntervals


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioSummary:
    """Estimates of one scenario. Durations and times to the first byte (`ttft`) are milliseconds.

    Attributes:
        n: Answered calls.
        failures: Failed calls by class.
        start: Median of the agent's start minus the send, over the calls whose start is known; corrected where the two
            clocks certainly disagree.
        start_states: How the search for the start ended, by answered call.
        mixture: The two kinds of its calls, when it has two; the percentiles of all calls mix them.
    """

    scenario: Scenario
    planned: int
    n: int
    failed: int
    failures: Mapping[str, int]
    failure_share: Estimate
    p50: Estimate
    p90: Estimate
    p99: Estimate
    ttft_p50: Estimate
    ttft_p90: Estimate
    start: Estimate
    start_states: Mapping[str, int]
    shortest_ms: float | None
    longest_ms: float | None
    mixture: Mixture | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCost:
    """Cold-start penalty: median paired difference between the cold and the warm call of a block, in milliseconds.

    Attributes:
        estimate: The difference.
        basis: The moment up to which calls are compared: "the agent starts" (its own start line; a constant offset
            between the two clocks cancels in the difference), "the first byte", or "the answer's end".
    """

    estimate: Estimate
    basis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySummary:
    """Every estimate of a latency study."""

    scenarios: tuple[ScenarioSummary, ...]
    session_cost: SessionCost | None
    answers_begin_p90: Estimate
    clocks: ClockBound | None
    floor: Estimate


def summarize(measurements: Sequence[Measurement], floor: Floor, *, planned: int | None = None) -> StudySummary:
    """Return the estimates of a study; scenarios without a planned call are left out.

    Args:
        measurements: The study's calls.
        floor: The harness floor.
        planned: Calls of a scenario that were planned, if the study ended early by its rule (`StudyIntervals`).
    """
    intervals = StudyIntervals(planned=planned)
    running = [call for call in measurements if call.scenario is not Scenario.COLD]
    scenarios = [name for name in Scenario if of_scenario(measurements, name)]
    clocks = bound_clocks(measurements)
    return StudySummary(
        scenarios=tuple(_scenario(of_scenario(measurements, name), name, clocks, intervals) for name in scenarios),
        session_cost=_session_cost(measurements, intervals),
        answers_begin_p90=intervals.percentile(_first_bytes(running), 0.9),
        clocks=clocks,
        floor=_floor(floor),
    )


def _scenario(
    calls: Sequence[Measurement], scenario: Scenario, clocks: ClockBound | None, intervals: StudyIntervals
) -> ScenarioSummary:
    durations = [call.duration_ms for call in calls if call.is_done and call.duration_ms is not None]
    first_bytes = _first_bytes(calls)
    starts = [clocks.start_ms(call) for call in calls if call.has_start] if clocks else []
    failures = failure_counts(calls)
    failed = sum(failures.values())
    return ScenarioSummary(
        scenario=scenario,
        planned=len(calls),
        n=len(durations),
        failed=failed,
        failures=dict(failures),
        failure_share=intervals.share(failed, failed + len(durations)),
        p50=intervals.percentile(durations, 0.5),
        p90=intervals.percentile(durations, 0.9),
        p99=intervals.percentile(durations, 0.99),
        ttft_p50=intervals.percentile(first_bytes, 0.5),
        ttft_p90=intervals.percentile(first_bytes, 0.9),
        start=intervals.percentile(starts, 0.5),
        start_states=dict(Counter(call.start_state or "not asked" for call in calls if call.is_done)),
        shortest_ms=min(durations, default=None),
        longest_ms=max(durations, default=None),
        mixture=find_mixture(calls, intervals),
    )


def _session_cost(measurements: Sequence[Measurement], intervals: StudyIntervals) -> SessionCost | None:
    cold = {call.block: call for call in of_scenario(measurements, Scenario.COLD) if call.is_done}
    warm = {call.block: call for call in of_scenario(measurements, Scenario.WARM) if call.is_done}
    pairs = [(cold[block], warm[block]) for block in sorted(cold.keys() & warm.keys())]
    if not pairs:
        return None
    by_start = [(a.start_latency_ms, b.start_latency_ms) for a, b in pairs if a.has_start and b.has_start]
    # Start lines are used when nearly all pairs have them; a few of them would be a biased selection of calls.
    if len(by_start) >= max(SMALLEST_N, 0.8 * len(pairs)):
        return _cost(by_start, "the agent starts", intervals)
    by_byte = [(a.ttft_ms, b.ttft_ms) for a, b in pairs]
    if all(a is not None and b is not None for a, b in by_byte):
        return _cost(by_byte, "the first byte", intervals)
    return _cost([(a.duration_ms, b.duration_ms) for a, b in pairs], "the answer's end", intervals)


def _cost(pairs: Sequence[tuple[float | None, float | None]], basis: str, intervals: StudyIntervals) -> SessionCost:
    complete_pairs = [(a, b) for a, b in pairs if a is not None and b is not None]
    estimate = intervals.paired_difference([a for a, _ in complete_pairs], [b for _, b in complete_pairs])
    return SessionCost(estimate=estimate, basis=basis)


def _floor(floor: Floor) -> Estimate:
    if not floor.durations_ms:
        reason = f"not measured: {floor.reason}" if floor.reason not in (None, "not measured") else "not measured"
        return Estimate.missing(reason, n=0, confidence=0.95, method="")
    return estimate_percentile(floor.durations_ms, 0.5)


def _first_bytes(calls: Sequence[Measurement]) -> list[float]:
    return [call.ttft_ms for call in calls if call.is_done and call.ttft_ms is not None]
