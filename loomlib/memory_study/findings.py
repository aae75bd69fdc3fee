"""What to look at next: facts that were never extracted, records that lay too deep, values that linger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loomlib.presentation.formats import number, plural

from .design import RecallDesign
from .measurements import Asked
from .telling import Settled

_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One observation, its numbers, and what can be done."""

    title: str
    evidence: str
    advice: str

    def summary(self) -> dict[str, str]:
        """As JSON-ready values."""
        return {"title": self.title, "evidence": self.evidence, "advice": self.advice}


def find(asked: Sequence[Asked], settled: Sequence[Settled], design: RecallDesign) -> list[Finding]:
    """The findings of a study; empty when nothing stands out."""
    return [
        each
        for each in (_never_extracted(asked), _too_deep(asked, design), _lingering(settled), _failed(asked))
        if each is not None
    ]


def _never_extracted(asked: Sequence[Asked]) -> Finding | None:
    told = [each for each in asked if each.extracted is not None]
    absent = {each.case: each for each in told if each.extracted is False}
    if not absent:
        return None
    cases = len({each.case for each in told})
    named = "; ".join(f"{each.probe.fact} ({each.probe.expected})" for each in list(absent.values())[:_NAMED])
    return Finding(
        title="Told, but no record holds it",
        evidence=f"{plural(len(absent), 'fact')} of {cases} had no record when asked: {named}.",
        advice="Retrieval cannot bring what was not extracted: look at memory.provenance(…) and the strategy's "
        "prompt, or wait longer (settle_s).",
    )


def _too_deep(asked: Sequence[Asked], design: RecallDesign) -> Finding | None:
    searched = [each for each in asked if each.is_done and each.arm.searches and each.extracted and each.score]
    searched = [each for each in searched if each.score and each.score.returned]
    deep = [each for each in searched if each.score and not each.score.relevant]
    if not deep:
        return None
    named = "; ".join(dict.fromkeys(f"“{each.probe.said}”" for each in deep))
    return Finding(
        title="Extracted, but not among the records brought",
        evidence=f"{plural(len(deep), 'search').replace('searchs', 'searches')} of {len(searched)} did not bring it "
        f"within {design.top_k}: {named[:300]}",
        advice="A larger top_k, a query nearer to how the record is worded, or a namespace of its own for such facts.",
    )


def _lingering(settled: Sequence[Settled]) -> Finding | None:
    left = sum(each.lingering for each in settled)
    if not left:
        return None
    where = ", ".join(f"{each.lingering} before session {each.session}" for each in settled if each.lingering)
    return Finding(
        title="Former values still stand in records",
        evidence=f"{where}, after {number(max(each.waited_s for each in settled))} s at most.",
        advice="Consolidation did not take them for the same fact; memory.health() shows contradictions.",
    )


def _failed(asked: Sequence[Asked]) -> Finding | None:
    failed = [each for each in asked if each.is_failed]
    if not failed:
        return None
    first = failed[0]
    return Finding(
        title="Questions that failed",
        evidence=f"{plural(len(failed), 'question')} of {len(asked)}; the first: "
        f"{(first.error_message or first.failure or 'unknown')[:300]}",
        advice="They are in no share; a new study asks them again.",
    )
