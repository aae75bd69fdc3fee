"""The result of an A/B test as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from ..presentation.formats import NumberKind, number, p_value, plural
from ..statistics import Estimate
from .ab_design import AbDesign

BETTER: Final = "better"
WORSE: Final = "worse"
NO_DIFFERENCE: Final = "no difference shown"
TOO_FEW_SESSIONS: Final = "too few sessions"
NO_VARIATION: Final = "no variation"
NOT_YET: Final = "not decided yet"
LEVEL: Final = 0.05

AB_COLUMNS: Final = ("metric", "control", "treatment", "difference [95 %]", "p", "p (Holm)", "verdict", "sessions")


@dataclass(frozen=True, slots=True, kw_only=True)
class AbMetric:
    """One figure of both versions.

    Attributes:
        name: Its name: "latency", "cost", "failure rate", or an evaluator.
        kind: The measured quantity, which determines the unit.
        is_lower_better: Whether less is better.
        control: Mean over the control's sessions.
        treatment: Mean over the treatment's sessions.
        difference: The treatment's mean minus the control's.
        mean_difference: The same without an interval, which is known wherever the p-value is.
        p_value: p-value of the hypothesis of no difference; None if unknown.
        adjusted_p: The same, adjusted for the number of metrics (Holm).
        sessions: Number of sessions with the figure, of control and treatment.
        unknown: Number of sessions without it, of control and treatment; they are left out, not counted as 0.
    """

    name: str
    kind: NumberKind
    is_lower_better: bool
    control: Estimate
    treatment: Estimate
    difference: Estimate
    mean_difference: float | None
    p_value: float | None
    adjusted_p: float | None
    sessions: tuple[int, int]
    unknown: tuple[int, int]

    def verdict(self, *, is_early: bool) -> str:
        """Return the verdict on the treatment: better, worse, no difference shown, or why it is not known.

        Args:
            is_early: Whether the test has fewer sessions than planned.
        """
        if self.adjusted_p is None:
            return TOO_FEW_SESSIONS if self.difference.needed_n else NO_VARIATION
        if is_early:
            return NOT_YET
        if self.adjusted_p >= LEVEL or self.mean_difference is None:
            return NO_DIFFERENCE
        return BETTER if (self.mean_difference < 0) == self.is_lower_better else WORSE


@dataclass(frozen=True, slots=True, kw_only=True)
class AbResult:
    """The result of an A/B test.

    Attributes:
        design: The design.
        seen: Number of sessions that have joined.
        sessions: Number of evaluated sessions, of control and treatment: the first to join, up to the planned number.
        metrics: The figures.
        share_p: p-value of the sample ratio mismatch (SRM) test: low if the shares differ from the planned ones.
        notes: Notes for the reader.
    """

    design: AbDesign
    seen: int
    sessions: tuple[int, int]
    metrics: tuple[AbMetric, ...]
    share_p: float | None
    notes: tuple[str, ...] = ()

    @property
    def is_early(self) -> bool:
        """Whether fewer sessions have joined than were planned."""
        return self.seen < self.design.sessions

    def __getitem__(self, metric: str) -> AbMetric:
        for candidate in self.metrics:
            if candidate.name == metric:
                return candidate
        raise KeyError(metric)

    def sentence(self) -> str:
        """Return the outcome in one or two sentences."""
        control, treatment = self.design.arms
        planned = plural(self.design.sessions, "session")
        if self.is_early:
            return (
                f"{number(self.seen)} of {number(self.design.sessions)} planned sessions analyzed: "
                "nothing is decided yet. A p-value is valid only at the planned number; stopping a test "
                "as soon as one is small finds differences that do not exist."
            )
        versions = f"version {treatment.version} against version {control.version}"
        differences = [
            f"{metric.name} {metric.verdict(is_early=False)} ({p_value(metric.adjusted_p)})"
            for metric in self.metrics
            if metric.verdict(is_early=False) in (BETTER, WORSE)
        ]
        if not differences:
            return f"After {planned}, no difference is shown: {versions}."
        return f"After {planned}, {versions}: {', '.join(differences)}."

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each metric, as strings."""
        return [self._row(metric) for metric in self.metrics]

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON-ready values."""
        return {
            "test": self.design.id,
            **self.design.summary(),
            "seen": self.seen,
            "planned": self.design.sessions,
            "is_early": self.is_early,
            "evaluated": list(self.sessions),
            "share_p": self.share_p,
            "metrics": [
                {
                    "name": metric.name,
                    "control": metric.control.summary(),
                    "treatment": metric.treatment.summary(),
                    "difference": metric.difference.summary(),
                    "p": metric.p_value,
                    "p_holm": metric.adjusted_p,
                    "verdict": metric.verdict(is_early=self.is_early),
                    "sessions": list(metric.sessions),
                    "unknown": list(metric.unknown),
                }
                for metric in self.metrics
            ],
            "notes": list(self.notes),
        }

    def _row(self, metric: AbMetric) -> dict[str, Any]:
        cells = (
            metric.name,
            metric.control.text(metric.kind),
            metric.treatment.text(metric.kind),
            metric.difference.text(metric.kind),
            _p(metric.p_value),
            _p(metric.adjusted_p),
            metric.verdict(is_early=self.is_early),
            " and ".join(number(count) for count in metric.sessions),
        )
        return dict(zip(AB_COLUMNS, cells, strict=True))


def _p(value: float | None) -> str:
    """Return a p-value for a column with this title."""
    return "" if value is None else p_value(value).removeprefix("p ").removeprefix("= ")
