"""A study as JSON: what a nightly job keeps and a later page compares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .method import method_summary, run_again
from .parts import split_time

if TYPE_CHECKING:
    from .result import StudyResult
    from .summaries import ScenarioSummary, StudySummary

FORMAT = "loom.latency-study/1"


def result_summary(result: StudyResult) -> dict[str, Any]:
    """The study as JSON-ready values; its labels travel with its numbers."""
    found = result.estimates()
    return {
        "format": FORMAT,
        "study_id": result.study_id,
        "name": result.design.name,
        "state": result.state,
        "created_at": result.created_at.isoformat(),
        "finished_at": result.finished_at.isoformat() if result.finished_at else None,
        "agent": {
            "name": result.agent_name,
            "arn": result.agent_arn,
            "qualifier": result.qualifier,
            "scope": result.scope,
        },
        "labels": list(result.labels),
        "sentences": result.sentences(),
        "scenarios": [_scenario(each, result) for each in found.scenarios],
        "session_cost": _cost(found),
        "answers_begin_p90_ms": found.answers_begin_p90.summary(),
        "harness_floor_ms": found.floor.summary(),
        "harness_floor_answer": {"content_type": result.floor.content_type, "size_bytes": result.floor.size_bytes},
        "clock_bound": _clocks(found),
        "findings": [each.summary() for each in result.findings()],
        "design": result.design.stored(),
        "method": method_summary(result),
        "client": result.client,
        "run_again": run_again(result),
    }


def _scenario(each: ScenarioSummary, result: StudyResult) -> dict[str, Any]:
    return {
        "scenario": each.scenario.value,
        "meaning": each.scenario.meaning,
        "planned": each.planned,
        "n": each.n,
        "failed": each.failed,
        "failures": dict(each.failures),
        "failure_share": each.failure_share.summary(),
        "p50_ms": each.p50.summary(),
        "p90_ms": each.p90.summary(),
        "p99_ms": each.p99.summary(),
        "ttft_p50_ms": each.ttft_p50.summary(),
        "ttft_p90_ms": each.ttft_p90.summary(),
        "start_p50_ms": each.start.summary(),
        "start_states": dict(each.start_states),
        "shortest_ms": each.shortest_ms,
        "longest_ms": each.longest_ms,
        "time": [
            {"part": part.key, "label": part.label, "share": part.share}
            for part in split_time(result.calls, result.floor, each.scenario)
        ],
        "labels": list(result.labels),
    }


def _cost(found: StudySummary) -> dict[str, Any] | None:
    cost = found.session_cost
    return None if cost is None else {"basis": cost.basis, "difference_ms": cost.estimate.summary()}


def _clocks(found: StudySummary) -> dict[str, Any] | None:
    bound = found.clocks
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
