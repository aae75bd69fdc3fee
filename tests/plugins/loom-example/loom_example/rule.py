"""A rule of a diagnosis: all of the time is at stake, always."""

from __future__ import annotations

from loomlib.telemetry.diagnosis import FindingDraft, FindingEvidence, InvocationCase, Rule


def rule() -> Rule:
    return Rule(name="example_rule", title="It takes time", asks="does it?", try_=("patience",), check=_check)


def _check(case: InvocationCase, thresholds: object) -> FindingDraft:
    evidence = (FindingEvidence(text="it took time"),)
    return FindingDraft(ms_at_stake=case.total_ms, evidence=evidence, confidence="high", because="it always does")
