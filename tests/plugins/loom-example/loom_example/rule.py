"""A rule of a diagnosis: all of the time is at stake, always."""

from __future__ import annotations

from loomlib.telemetry.diagnosis import Case, Draft, Evidence, Rule


def rule() -> Rule:
    return Rule(name="example_rule", title="It takes time", asks="does it?", try_=("patience",), check=_check)


def _check(case: Case, thresholds: object) -> Draft:
    said = (Evidence(text="it took time"),)
    return Draft(ms_at_stake=case.total_ms, evidence=said, confidence="high", because="it always does")
