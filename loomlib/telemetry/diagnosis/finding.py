"""What a rule found: milliseconds at stake, the numbers behind it, how sure that is, and what to try."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

CONFIDENCES = ("high", "medium", "low")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One fact behind a finding, in words and as a number with its unit, and the spans that it was read from.

    `text` may quote names of tools and errors of a stranger: whoever shows it must escape it.
    """

    text: str
    value: float | None = None
    unit: str = ""
    span_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a rule's function returns: the finding without the texts that stand in the rule's data.

    `values` fill the places of the title. `because` says why the confidence is what it is.
    """

    ms_at_stake: float
    evidence: tuple[Evidence, ...]
    confidence: str
    because: str
    values: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.confidence not in CONFIDENCES:
            raise ValueError(f"a confidence is {', '.join(CONFIDENCES)}, not {self.confidence!r}")
        if not 0 <= self.ms_at_stake < float("inf"):
            raise ValueError(f"milliseconds at stake are finite and not negative, not {self.ms_at_stake}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One cause of lost time.

    `ms_at_stake` is the time that would go if the cause went, as far as the data say (`share` of the whole). Over
    several invocations it is their sum; `affected` of `of` invocations show it, `trace_ids` the most affected first.
    `source` is where the rule and its thresholds come from.
    """

    rule: str
    title: str
    ms_at_stake: float
    share: float
    evidence: tuple[Evidence, ...]
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
        return tuple(dict.fromkeys(id for each in self.evidence for id in each.span_ids))

    def row(self) -> dict[str, Any]:
        """The finding as one row of a table; every value is plain JSON."""
        return {
            "rule": self.rule,
            "title": self.title,
            "ms_at_stake": round(self.ms_at_stake, 3),
            "share": self.share,
            "confidence": self.confidence,
            "because": self.because,
            "evidence": "; ".join(each.text for each in self.evidence),
            "try": "; ".join(self.try_),
            "affected": self.affected,
            "of": self.of,
            "spans": len(self.span_ids),
            "source": self.source,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleProblem:
    """A rule that failed on a case: foreign code, or data that nobody foresaw. The other rules went on."""

    rule: str
    error: str
    trace_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The findings, the most costly first, of `invocations` that took `total_ms` together.

    `limits` says what could not be judged, and why: nothing found is only as good as what was looked at.
    """

    findings: tuple[Finding, ...]
    total_ms: float
    invocations: int = 1
    limits: tuple[str, ...] = ()
    problems: tuple[RuleProblem, ...] = ()

    @property
    def first(self) -> Finding | None:
        """The finding with the most at stake."""
        return self.findings[0] if self.findings else None

    def table(self) -> list[dict[str, Any]]:
        """One row a finding, ready for a DataFrame."""
        return [{"rank": rank, **finding.row()} for rank, finding in enumerate(self.findings, 1)]


def rank(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The most milliseconds first; of equal ones the surer, then by name, so that the order never wavers."""
    return tuple(
        sorted(
            findings,
            key=lambda each: (
                -each.ms_at_stake,
                CONFIDENCES.index(each.confidence),
                each.rule,
                each.title,
                each.trace_ids,
            ),
        )
    )
