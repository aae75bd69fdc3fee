"""Additions of a latency study to the common JSON summary."""

from __future__ import annotations

from typing import Any

from .parts import split_time
from .result import StudyResult
from .summaries import ScenarioSummary, StudySummary

FORMAT = "loom.latency-study/1"


def details(result: StudyResult) -> dict[str, Any]:
    """Return the estimates as JSON-ready values; labels are repeated beside the numbers of each scenario."""
    summary = result.estimates()
    return {
        "format": FORMAT,
        "agent": {
            "name": result.agent_name,
            "arn": result.agent_arn,
            "qualifier": result.qualifier,
            "scope": result.scope,
        },
        "scenarios": [_scenario(scenario, result) for scenario in summary.scenarios],
        "session_cost": _cost(summary),
        "answers_begin_p90_ms": summary.answers_begin_p90.summary(),
        "harness_floor_ms": summary.floor.summary(),
        "harness_floor_answer": {"content_type": result.floor.content_type, "size_bytes": result.floor.size_bytes},
        "clock_bound": _clocks(summary),
        "client": result.client,
    }


def _scenario(scenario: ScenarioSummary, result: StudyResult) -> dict[str, Any]:
    return {
        "scenario": scenario.scenario.value,
        "meaning": scenario.scenario.meaning,
        "planned": scenario.planned,
        "n": scenario.n,
        "failed": scenario.failed,
        "failures": dict(scenario.failures),
        "failure_share": scenario.failure_share.summary(),
        "p50_ms": scenario.p50.summary(),
        "p90_ms": scenario.p90.summary(),
        "p99_ms": scenario.p99.summary(),
        "ttft_p50_ms": scenario.ttft_p50.summary(),
        "ttft_p90_ms": scenario.ttft_p90.summary(),
        "start_p50_ms": scenario.start.summary(),
        "start_states": dict(scenario.start_states),
        "shortest_ms": scenario.shortest_ms,
        "longest_ms": scenario.longest_ms,
        "mixture": scenario.mixture.summary() if scenario.mixture else None,
        "time": [
            {"part": part.key, "label": part.label, "share": part.share}
            for part in split_time(result.calls, result.floor, scenario.scenario)
        ],
        "labels": list(result.labels),
    }


def _cost(summary: StudySummary) -> dict[str, Any] | None:
    cost = summary.session_cost
    return None if cost is None else {"basis": cost.basis, "difference_ms": cost.estimate.summary()}


def _clocks(summary: StudySummary) -> dict[str, Any] | None:
    bound = summary.clocks
    if bound is None:
        return None
    return {
        "agent_ahead_low_ms": bound.low_ms,
        "agent_ahead_high_ms": bound.high_ms,
        "calls": bound.n,
        "scenario": bound.scenario.value,
        "correction_ms": bound.correction_ms,
        "is_consistent": bound.is_consistent,
    }
