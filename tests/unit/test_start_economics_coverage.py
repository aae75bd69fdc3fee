"""Intervals of the economics of starts, against a truth that is known: 200 seeded studies of one agent."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from loomlib.latency.economics import (
    MeasuredStarts,
    MeteredCall,
    SessionTraffic,
    StartPolicy,
    ThinkTimes,
    compare_policies,
)

STUDIES = 200
POLICIES = [StartPolicy(idle_timeout_s=60), StartPolicy(idle_timeout_s=300, pool=1), StartPolicy(idle_timeout_s=300)]
TRAFFIC = SessionTraffic(sessions_per_day=3000, calls_per_session=4, think=ThinkTimes.exponential(60))


def study(platform: str, start_ms: float, random: np.random.Generator, cold: int, warm: int) -> MeasuredStarts:
    """Calls with log-normal durations and gamma distributed CPU times."""

    def calls(durations: np.ndarray, cpu: np.ndarray) -> tuple[MeteredCall, ...]:
        return tuple(
            MeteredCall(duration_ms=duration, vcpu_s=used, memory_gb_s=0.4 * duration / 1000)
            for duration, used in zip(durations.tolist(), cpu.tolist(), strict=True)
        )

    return MeasuredStarts(
        platform=platform,
        cold=calls(random.lognormal(np.log(start_ms), 0.3, cold), random.gamma(4, 0.5, cold)),
        warm=calls(random.lognormal(np.log(900), 0.4, warm), random.gamma(4, 0.1, warm)),
        source="study 1",
    )


@pytest.mark.long
@pytest.mark.parametrize(("platform", "start_ms"), [("V1", 8000), ("V2", 2500)])
def test_every_interval_holds_the_truth_in_at_least_93_percent_of_200_studies(platform: str, start_ms: float) -> None:
    whole = study(platform, start_ms, np.random.default_rng(1), 200_000, 200_000)
    truth = compare_policies(whole, TRAFFIC, policies=POLICIES, resamples=0).outcomes
    coverage: dict[str, list[bool]] = defaultdict(list)
    for seed in range(STUDIES):
        measured = study(platform, start_ms, np.random.default_rng(1000 + seed), 40, 120)
        for outcome, true in zip(
            compare_policies(measured, TRAFFIC, policies=POLICIES, seed=seed).outcomes, truth, strict=True
        ):
            for name in ("p50", "p90", "usd", "cold"):
                estimate, value = getattr(outcome, name), getattr(true, name).value
                is_covered = estimate.is_known and estimate.low - 1e-9 <= value
                coverage[f"{name}, {outcome.policy.name}"].append(
                    is_covered and (estimate.open_above or value <= estimate.high + 1e-9)
                )
    assert {name: sum(hits) / STUDIES for name, hits in coverage.items() if sum(hits) < 0.93 * STUDIES} == {}
