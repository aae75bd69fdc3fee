"""Findings of a memory study: facts never extracted, records ranked too low, outdated values that remain."""

from __future__ import annotations

from collections.abc import Sequence

from loomlib.experiments import StudyFinding
from loomlib.presentation.formats import number, plural

from .measurements import AskedQuestion
from .result import MemoryResult

_NAMED = 5


def findings(result: MemoryResult) -> list[StudyFinding]:
    """Return the findings of a study; empty when there are none."""
    checks = (_never_extracted(result.asked), _ranked_low(result), _lingering(result), _failed(result.asked))
    return [finding for finding in checks if finding is not None]


def _never_extracted(questions: Sequence[AskedQuestion]) -> StudyFinding | None:
    checked = [question for question in questions if question.extracted is not None]
    absent = {question.case: question.probe for question in checked if question.extracted is False}
    if not absent:
        return None
    cases = len({question.case for question in checked})
    examples = "; ".join(f"{probe.fact} ({probe.expected})" for probe in list(absent.values())[:_NAMED])
    return StudyFinding(
        kind="never extracted",
        title="Stated, but not in any record",
        evidence=f"{plural(len(absent), 'fact')} of {cases} had no record when the question was asked: {examples}.",
        advice="Retrieval cannot return what was not extracted: check memory.provenance(…) and the strategy's "
        "prompt, or wait longer (settle_s).",
    )


def _ranked_low(result: MemoryResult) -> StudyFinding | None:
    searched = [
        question
        for question in result.asked
        if question.is_done and question.arm.searches and question.extracted and question.score
        if question.score.returned
    ]
    low = [question for question in searched if question.score and not question.score.relevant]
    if not low:
        return None
    examples = "; ".join(dict.fromkeys(f"“{question.probe.text}”" for question in low))
    return StudyFinding(
        kind="ranked low",
        title="Extracted, but not among the returned records",
        evidence=f"{plural(len(low), 'search')} of {len(searched)} did not return the fact in the top "
        f"{result.design.top_k} records: {examples[:300]}",
        advice="A larger top_k, a query closer to the record's wording, or a separate namespace for such facts.",
    )


def _lingering(result: MemoryResult) -> StudyFinding | None:
    states = [state for state in result.settled if state.lingering]
    if not states:
        return None
    where = ", ".join(f"{state.lingering} before session {state.session}" for state in states)
    return StudyFinding(
        kind="lingering",
        title="Records still contain former values",
        evidence=f"{where}, after {number(max(state.waited_s for state in result.settled))} s at most.",
        advice="Consolidation did not recognize them as the same fact; memory.health() shows contradictions.",
    )


def _failed(questions: Sequence[AskedQuestion]) -> StudyFinding | None:
    failed = [question for question in questions if question.is_failed]
    if not failed:
        return None
    message = failed[0].error_message or failed[0].failure or "unknown"
    return StudyFinding(
        kind="failures",
        title="Questions that failed",
        evidence=f"{plural(len(failed), 'question')} of {len(questions)}; the first: {message[:300]}",
        advice="They are excluded from all shares; a new study asks them again.",
    )
