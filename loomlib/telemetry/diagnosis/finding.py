"""The findings of rules: milliseconds at stake, evidence, confidence, and advice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

CONFIDENCES = ("high", "medium", "low")


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingEvidence:
    """One fact that supports a finding.

    Attributes:
        text: The fact in words; it may quote names of tools and errors, which are untrusted: escape it before showing
            it.
        value: The fact as a number.
        unit: The unit of the number.
        span_ids: The spans it was read from.
    """

    text: str
    value: float | None = None
    unit: str = ""
    span_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingDraft:
    """The result of a rule's function: the finding without the rule's texts.

    Attributes:
        ms_at_stake: The time that would be saved if the cause were gone, in milliseconds.
        evidence: The facts.
        confidence: One of `CONFIDENCES`.
        because: The reason for the confidence.
        values: The values of the placeholders in the rule's title.
    """

    ms_at_stake: float
    evidence: tuple[FindingEvidence, ...]
    confidence: str
    because: str
    values: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.confidence not in CONFIDENCES:
            raise ValueError(f"confidence must be one of {', '.join(CONFIDENCES)}, not {self.confidence!r}")
        if not 0 <= self.ms_at_stake < float("inf"):
            raise ValueError(f"ms_at_stake must be finite and not negative, not {self.ms_at_stake}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyFinding:
    """One cause of latency. Over several invocations `ms_at_stake` is the sum.

    Attributes:
        rule: The rule's name.
        title: The cause in a sentence.
        ms_at_stake: The time that would be saved if the cause were gone, in milliseconds.
        share: `ms_at_stake` as a share of the whole.
        evidence: The facts.
        confidence: One of `CONFIDENCES`.
        because: The reason for the confidence.
        try_: What to try.
        source: Where the rule and its thresholds come from.
        affected: In how many invocations it exceeds the rule's thresholds.
        of: How many invocations were diagnosed.
        trace_ids: The traces, the most affected first.
    """

    rule: str
    title: str
    ms_at_stake: float
    share: float
    evidence: tuple[FindingEvidence, ...]
    confidence: str
    because: str
    try_: tuple[str, ...]
    source: str = ""
    affected: int = 1
    of: int = 1
    trace_ids: tuple[str, ...] = ()

    @property
    def span_ids(self) -> tuple[str, ...]:
        """Every span that the evidence names, once."""
        return tuple(dict.fromkeys(id for item in self.evidence for id in item.span_ids))

    def row(self) -> dict[str, Any]:
        """Return the finding as one row of a table; every value is plain JSON."""
        return {
            "rule": self.rule,
            "title": self.title,
            "ms_at_stake": round(self.ms_at_stake, 3),
            "share": self.share,
            "confidence": self.confidence,
            "because": self.because,
            "evidence": "; ".join(item.text for item in self.evidence),
            "try": "; ".join(self.try_),
            "affected": self.affected,
            "of": self.of,
            "spans": len(self.span_ids),
            "source": self.source,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleProblem:
    """A rule that raised an error on a case; the other rules were applied.

    Attributes:
        rule: The rule's name.
        error: The error.
        trace_id: The trace of the case.
    """

    rule: str
    error: str
    trace_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The findings of one or more invocations, the most costly first.

    Attributes:
        findings: The findings.
        total_ms: The time of all invocations.
        invocations: How many invocations were diagnosed.
        limits: What could not be diagnosed, and why.
        problems: The rules that failed.
    """

    findings: tuple[LatencyFinding, ...]
    total_ms: float
    invocations: int = 1
    limits: tuple[str, ...] = ()
    problems: tuple[RuleProblem, ...] = ()

    @property
    def first(self) -> LatencyFinding | None:
        """The finding with the most at stake; None without findings."""
        return self.findings[0] if self.findings else None

    def table(self) -> list[dict[str, Any]]:
        """Return one row per finding, ready for a DataFrame."""
        return [{"rank": rank, **finding.row()} for rank, finding in enumerate(self.findings, 1)]


def rank(findings: Iterable[LatencyFinding]) -> tuple[LatencyFinding, ...]:
    """Sort findings by milliseconds at stake, then confidence, then name, so that the order is stable."""
    return tuple(
        sorted(
            findings,
            key=lambda finding: (
                -finding.ms_at_stake,
                CONFIDENCES.index(finding.confidence),
                finding.rule,
                finding.title,
                finding.trace_ids,
            ),
        )
    )
