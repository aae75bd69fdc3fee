"""The views on a memory study's result, by the names under which `StudyRecord` calls them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from loomlib.presentation.html import fragment, view

from .figures import figures
from .findings import findings
from .measurements import AskedQuestion
from .method import method
from .result import MemoryResult
from .sentences import sentences
from .summaries import ArmSummary, break_even
from .tables import WRONG_COLUMNS, table, wrong_rows

if TYPE_CHECKING:
    from markupsafe import Markup


__all__ = ["details", "figures", "findings", "method", "sections", "sentences", "table"]

FORMAT = "loom.recall-study/1"
_MOST_ROWS = 200


def sections(result: MemoryResult) -> list[Markup]:
    """Return the wrong answers as HTML."""
    return [_wrong_answers(result.asked)]


def wrong_answers_html(questions: Sequence[AskedQuestion]) -> str:
    """Return the wrong answers as self-contained HTML."""
    return str(view(_wrong_answers(questions), name="loom-study"))


def _wrong_answers(questions: Sequence[AskedQuestion]) -> Markup:
    rows = wrong_rows(questions)
    return fragment(
        "loomlib.memory_study:wrong_answers.html.j2",
        asked=len(questions), wrong=len(rows), head=WRONG_COLUMNS, rows=rows[:_MOST_ROWS],
        more=max(0, len(rows) - _MOST_ROWS),
    )  # fmt: skip


def details(result: MemoryResult) -> dict[str, Any]:
    """Return what the study adds to the JSON summary of every study."""
    design = result.design.stored()
    return {
        "format": FORMAT,
        "mode": result.design.mode,
        "subject": result.subject,
        "arms": [_arm(arm, result) for arm in result.arms],
        "differences": [
            {
                "arm": comparison.arm.key,
                "baseline": comparison.baseline.key,
                "recall": comparison.difference.summary(),
                "p_value": comparison.test.p_value,
                "test": comparison.test.method,
            }
            for comparison in result.comparisons
        ],
        "break_even_share": break_even(result.asked),
        "extraction": [state.summary() for state in result.settled],
        "design": design | {"lives": [conversation.name for conversation in result.design.conversations]},
    }


def _arm(arm: ArmSummary, result: MemoryResult) -> dict[str, Any]:
    needing = [question for question in result.asked if question.arm == arm.arm and question.needs_memory]
    return {
        "arm": arm.arm.key,
        "meaning": arm.arm.meaning,
        "asked": arm.asked,
        "failed": arm.failed,
        "failures": dict(arm.failures),
        "recall": arm.recall.summary(),
        "recall_at": {str(k): recall.summary() for k, recall in arm.at.items()},
        "precision": arm.precision.summary(),
        "stale": arm.stale.summary(),
        "recalled_of": list(arm.recalled_of),
        "stale_of": list(arm.stale_of),
        "p50_ms": arm.p50.summary(),
        "p90_ms": arm.p90.summary(),
        "input_tokens": arm.tokens.summary(),
        "idle_input_tokens": arm.idle_tokens.summary(),
        "output_tokens": arm.output_tokens.summary(),
        "usd_per_1000": result.prices.per_thousand(needing).summary(),
    }
