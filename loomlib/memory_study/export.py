"""A study as JSON: what a nightly job keeps and a later page compares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .method import method_summary
from .summaries import break_even

if TYPE_CHECKING:
    from .result import RecallResult
    from .summaries import ArmSummary

FORMAT = "loom.recall-study/1"


def result_summary(result: RecallResult) -> dict[str, Any]:
    """The study as JSON-ready values; its labels travel with its numbers."""
    return {
        "format": FORMAT,
        "study_id": result.study_id,
        "name": result.design.name,
        "mode": result.design.mode,
        "state": result.state,
        "subject": result.subject,
        "scope": result.scope,
        "labels": list(result.labels),
        "created_at": result.created_at.isoformat(),
        "finished_at": result.finished_at.isoformat() if result.finished_at else None,
        "sentences": result.sentences(),
        "arms": [_arm(each, result) for each in result.arms],
        "differences": [
            {
                "arm": each.arm.key,
                "baseline": each.baseline.key,
                "recall": each.difference.summary(),
                "p_value": each.test.p_value,
                "test": each.test.method,
            }
            for each in result.comparisons
        ],
        "break_even_share": break_even(result.asked),
        "extraction": [each.summary() for each in result.settled],
        "findings": [each.summary() for each in result.findings()],
        "design": {name: value for name, value in result.design.stored().items() if name != "lives"}
        | {"lives": [each.name for each in result.design.lives]},
        "method": method_summary(result),
    }


def _arm(each: ArmSummary, result: RecallResult) -> dict[str, Any]:
    mine = [one for one in result.asked if one.arm == each.arm and one.needs_memory]
    return {
        "arm": each.arm.key,
        "meaning": each.arm.meaning,
        "asked": each.asked,
        "failed": each.failed,
        "failures": dict(each.failures),
        "recall": each.recall.summary(),
        "recall_at": {str(k): found.summary() for k, found in each.at.items()},
        "precision": each.precision.summary(),
        "stale": each.stale.summary(),
        "recalled_of": list(each.recalled_of),
        "stale_of": list(each.stale_of),
        "p50_ms": each.p50.summary(),
        "p90_ms": each.p90.summary(),
        "input_tokens": each.tokens.summary(),
        "idle_input_tokens": each.idle_tokens.summary(),
        "output_tokens": each.output_tokens.summary(),
        "usd_per_1000": result.prices.per_thousand(mine).summary(),
    }
