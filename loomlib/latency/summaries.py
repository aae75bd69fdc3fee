"""A study in estimates: each scenario's, and what a new session costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loomlib.statistics.estimates import Estimate
from loomlib.statistics.percentiles import SMALLEST_N, estimate_paired_difference, estimate_percentile, estimate_share

from .clocks import ClockBound, bound_clocks
from .floor import Floor
from .measurements import Measurement, of_scenario
from .scenarios import Scenario
from .starts import FOUND


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioSummary:
    """One scenario's calls: durations and times to the first byte in milliseconds, failures by class.

    `start` is the median of the agent's start minus the send over the calls whose start is known; where the two clocks
    certainly disagree, less the middle of their bound (the study's `clocks` say so). `start_states` counts how each
    answered call's search ended.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCost:
    """What a cold call takes longer than a warm one of its block, in milliseconds (median of the paired differences).

    `basis` says up to where: "the agent starts" (its own start line; a constant offset between the two clocks cancels
    in the difference), "the first byte", or "the answer's end".
    """

    estimate: Estimate
    basis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySummary:
    """Everything that a study's measurements say, as estimates."""

    scenarios: tuple[ScenarioSummary, ...]
    session_cost: SessionCost | None
    answers_begin_p90: Estimate
    clocks: ClockBound | None
    floor: Estimate


def summarize(measurements: Sequence[Measurement], floor: Floor, *, seed: int) -> StudySummary:
    """The estimates of a study; scenarios without a planned call are left out."""
    running = [each for each in measurements if each.scenario is not Scenario.COLD]
    scenarios = [name for name in Scenario if of_scenario(measurements, name)]
    clocks = bound_clocks(measurements)
    return StudySummary(
        scenarios=tuple(_scenario(of_scenario(measurements, name), name, clocks, seed) for name in scenarios),
        session_cost=_session_cost(measurements, seed),
        answers_begin_p90=estimate_percentile(_first_bytes(running), 0.9, seed=seed),
        clocks=clocks,
        floor=_floor(floor, seed),
    )


def _scenario(
    calls: Sequence[Measurement], scenario: Scenario, clocks: ClockBound | None, seed: int
) -> ScenarioSummary:
    durations = [each.duration_ms for each in calls if each.is_done and each.duration_ms is not None]
    first_bytes = _first_bytes(calls)
    starts = [clocks.start_ms(each) for each in calls if _has_start(each)] if clocks else []
    failures = Counter(each.failure or "unknown" for each in calls if each.is_failed)
    failed = sum(failures.values())
    return ScenarioSummary(
        scenario=scenario,
        planned=len(calls),
        n=len(durations),
        failed=failed,
        failures=dict(failures),
        failure_share=estimate_share(failed, failed + len(durations)),
        p50=estimate_percentile(durations, 0.5, seed=seed),
        p90=estimate_percentile(durations, 0.9, seed=seed),
        p99=estimate_percentile(durations, 0.99, seed=seed),
        ttft_p50=estimate_percentile(first_bytes, 0.5, seed=seed),
        ttft_p90=estimate_percentile(first_bytes, 0.9, seed=seed),
        start=estimate_percentile(starts, 0.5, seed=seed),
        start_states=dict(Counter(each.start_state or "not asked" for each in calls if each.is_done)),
        shortest_ms=min(durations, default=None),
        longest_ms=max(durations, default=None),
    )


def _session_cost(measurements: Sequence[Measurement], seed: int) -> SessionCost | None:
    cold = {each.block: each for each in of_scenario(measurements, Scenario.COLD) if each.is_done}
    warm = {each.block: each for each in of_scenario(measurements, Scenario.WARM) if each.is_done}
    pairs = [(cold[block], warm[block]) for block in sorted(cold.keys() & warm.keys())]
    if not pairs:
        return None
    by_start = [(a.start_latency_ms, b.start_latency_ms) for a, b in pairs if _has_start(a) and _has_start(b)]
    # The start lines decide when they are there for nearly all pairs; a few of them would be a choice of calls.
    if len(by_start) >= max(SMALLEST_N, 0.8 * len(pairs)):
        return _cost(by_start, "the agent starts", seed)
    by_byte = [(a.ttft_ms, b.ttft_ms) for a, b in pairs]
    if all(a is not None and b is not None for a, b in by_byte):
        return _cost(by_byte, "the first byte", seed)
    return _cost([(a.duration_ms, b.duration_ms) for a, b in pairs], "the answer's end", seed)


def _cost(pairs: Sequence[tuple[float | None, float | None]], basis: str, seed: int) -> SessionCost:
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    estimate = estimate_paired_difference([a for a, _ in known], [b for _, b in known], seed=seed)
    return SessionCost(estimate=estimate, basis=basis)


def _floor(floor: Floor, seed: int) -> Estimate:
    if not floor.durations_ms:
        reason = f"not measured: {floor.reason}" if floor.reason not in (None, "not measured") else "not measured"
        return Estimate.missing(reason, n=0, confidence=0.95, method="")
    return estimate_percentile(floor.durations_ms, 0.5, seed=seed)


def _first_bytes(calls: Sequence[Measurement]) -> list[float]:
    return [each.ttft_ms for each in calls if each.is_done and each.ttft_ms is not None]


def _has_start(call: Measurement) -> bool:
    return call.is_done and call.start_state == FOUND and call.start_latency_ms is not None
