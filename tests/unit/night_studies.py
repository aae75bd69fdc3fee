"""Stored latency studies and evaluations of many nights, made up for tests, in a real database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from loomlib.latency import Scenario, StudyDesign
from loomlib.statistics import Estimate
from loomlib.store import EvalRunRow, PlannedMeasurement, Store, StoredAnswer, StoredResult, StoredSet, StudyRow

BEGAN = datetime(2026, 9, 28, 3, 0, tzinfo=UTC)
"""The first night."""
AGENT_ARN = "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/calculator-AbC123dEf4"


def store_night(
    store: Store,
    night: int,
    calls: Mapping[Scenario, Sequence[float]],
    *,
    version: str = "6",
    failed: int = 0,
    hour: int = 0,
    prompt: str = "2+2?",
    state: str = "complete",
    arn: str = AGENT_ARN,
    began: datetime = BEGAN,
    environment: Mapping[str, Any] | None = None,
    labels: Sequence[str] = ("model: scripted (simulated)",),
) -> str:
    """Store one study with these durations (ms) of answered calls, and some failed calls; return its id."""
    counts = {
        scenario.value: len(calls.get(scenario, ())) + (failed if scenario in calls else 0) for scenario in Scenario
    }
    key = f"night-{night}-{hour}-{prompt}-{arn[-6:]}"
    store.studies.create(
        StudyRow(
            id=key,
            scope="aws",
            agent_arn=arn,
            agent_name="calculator",
            design=StudyDesign(**counts, prompt=prompt).stored(),
            state=state,
            created_at=began + timedelta(days=night, hours=hour),
            environment={"qualifier": "DEFAULT", "agent_version": version, **(environment or {})},
            labels=tuple(labels),
        )
    )
    planned = [
        (scenario, duration) for scenario, durations in calls.items() for duration in [*durations, *[None] * failed]
    ]
    store.measurements.plan(
        key,
        [
            PlannedMeasurement(position=place, block=place, scenario=scenario.value)
            for place, (scenario, _) in enumerate(planned)
        ],
    )
    for place, (_, duration) in enumerate(planned):
        if duration is None:
            store.measurements.record(key, place, "failed", failure="agent_error")
        else:
            store.measurements.record(key, place, "done", duration_ms=duration, ttft_ms=0.4 * duration)
    return key


def durations(seed: int, night: int, *, level_ms: float = 320.0, count: int = 20) -> list[float]:
    """Return skewed durations of one night, whose level varies by 3 % from night to night."""
    random = np.random.default_rng([seed, night])
    level = level_ms * np.exp(0.03 * random.standard_normal())
    return [float(value) for value in level * np.exp(0.15 * random.standard_normal(count))]


def store_evaluation(
    store: Store,
    night: int,
    *,
    passed: Sequence[bool],
    cost: float | None = 0.002,
    version: str = "6",
    reused: bool = False,
    failed: int = 0,
    evaluator_digest: str = "e1",
    began: datetime = BEGAN,
) -> str:
    """Store one evaluation of an eval set with these verdicts by the evaluator `exact`; return its id."""
    key, count = f"eval-{night}-{version}-{reused}", len(passed) + failed
    store.eval_runs.create(
        EvalRunRow(
            id=key,
            set_digest="s1",
            target_name="calculator",
            target_key=f"{AGENT_ARN} version {version} DEFAULT",
            scope="aws",
            agent_arn=AGENT_ARN,
            repeats=1,
            created_at=began + timedelta(days=night, hours=1),
            design={"set_name": "sums", "evaluators": [["exact", "answer", evaluator_digest]]},
        ),
        StoredSet(digest="s1", name="sums", version="1", case_count=count, cases=()),
    )
    answers = [
        StoredAnswer(0, None, place >= len(passed), 300.0, 100.0, None, None, None, cost, None, '{"turns": []}')
        for place in range(count)
    ]
    results = [StoredResult(key, 0, place, 0, reused) for place in range(count)]
    store.eval_answers.put(answers, results)
    share = sum(passed) / len(passed)
    estimate = Estimate(value=share, low=share, high=share, n=len(passed), confidence=0.95, method="counted").summary()
    summary = {"evaluator": "exact", "pass_rate": estimate, "mean": estimate, "scored": len(passed)}
    store.eval_runs.save(key, state="complete", summary={"evaluators": [summary], "timed": []})
    return key


def verdicts(seed: int, night: int, *, rate: float = 0.9, count: int = 40) -> list[bool]:
    """Return verdicts of one night, each passed with this probability."""
    return [bool(one) for one in np.random.default_rng([seed, night]).random(count) < rate]
