"""Evaluate an A/B test: each figure's mean by version, the difference with its interval, and a test.

The session is the unit of analysis, because sessions are what was assigned: calls of one session share its user and its
history (Deng et al., Statistical Inference in Two-stage Online Controlled Experiments, WWW 2014). A figure of a session
is the mean over its calls. A session without the figure, such as the latency of a session whose every call failed, is
left out and counted as left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import Final

from ..presentation.formats import NumberKind, number, plural
from ..statistics import compare_groups, estimate_mean, holm
from ..store import AbCall
from .ab_design import CONTROL, TREATMENT, AbDesign
from .ab_result import AbMetric, AbResult
from .ab_sessions import AbSession, gather_sessions

LATENCY: Final = "latency"
COST: Final = "cost"
FAILURE_RATE: Final = "failure rate"
_MISMATCH: Final = 0.001
"""Significance level of the test of the shares: small, because every A/B test is checked (Fabijan et al., KDD 2019)."""
_SEED: Final = 20_261

_Value = Callable[[AbSession], float | None]


def analyze(
    design: AbDesign,
    arms: Mapping[str, str],
    calls: Sequence[AbCall],
    scores: Mapping[str, Mapping[str, Sequence[float]]] | None = None,
    *,
    notes: Sequence[str] = (),
) -> AbResult:
    """Evaluate the planned number of a test's first sessions; later ones do not change the result.

    Args:
        design: The design.
        arms: The arm of each session, in the order of joining.
        calls: The ended calls of the sessions.
        scores: By evaluator, the scores of each session.
        notes: Further notes for the reader.
    """
    scores_by_name = scores or {}
    first = dict(list(arms.items())[: design.sessions])
    sessions = gather_sessions(first, calls, scores_by_name)
    counts = _counts(sessions)
    metrics = [
        *(_metric(name, "number", sessions, _score_of(name), is_lower_better=False) for name in scores_by_name),
        _metric(FAILURE_RATE, "share", sessions, lambda session: session.failure_share, is_lower_better=True),
        _metric(LATENCY, "ms", sessions, lambda session: session.latency_ms, is_lower_better=True),
        _metric(COST, "USD", sessions, lambda session: session.cost, is_lower_better=True),
    ]
    share_p = _share_p(counts, design.treatment.share)
    return AbResult(
        design=design,
        seen=len(arms),
        sessions=counts,
        metrics=tuple(_adjusted(metrics)),
        share_p=share_p,
        notes=(*_notes(design, arms, counts, metrics, share_p), *notes),
    )


def _metric(
    name: str, kind: NumberKind, sessions: Sequence[AbSession], value: _Value, *, is_lower_better: bool
) -> AbMetric:
    groups: list[list[float]] = []
    unknown: list[int] = []
    for arm in (CONTROL, TREATMENT):
        values = [value(session) for session in sessions if session.arm == arm]
        groups.append([one for one in values if one is not None])
        unknown.append(len(values) - len(groups[-1]))
    together = groups[0] + groups[1]
    is_share = kind in ("share", "number") and bool(together) and min(together) >= 0 and max(together) <= 1
    control, treatment = (estimate_mean(group, bounds=(0.0, 1.0) if is_share else None) for group in groups)
    comparison = compare_groups(groups[0], groups[1], seed=_SEED)
    return AbMetric(
        name=name,
        kind=kind,
        is_lower_better=is_lower_better,
        control=control,
        treatment=treatment,
        difference=comparison.difference,
        mean_difference=comparison.mean_difference,
        p_value=comparison.p_value,
        adjusted_p=None,
        sessions=comparison.n,
        unknown=(unknown[0], unknown[1]),
    )


def _adjusted(metrics: Sequence[AbMetric]) -> list[AbMetric]:
    p_values = [metric.p_value for metric in metrics if metric.p_value is not None]
    adjusted = iter(holm(p_values))
    return [metric if metric.p_value is None else replace(metric, adjusted_p=next(adjusted)) for metric in metrics]


def _score_of(name: str) -> _Value:
    return lambda session: session.scores.get(name)


def _counts(sessions: Sequence[AbSession]) -> tuple[int, int]:
    control = sum(session.arm == CONTROL for session in sessions)
    return control, len(sessions) - control


def _share_p(counts: tuple[int, int], share: float) -> float | None:
    """Test whether the treatment's number of sessions fits its share (normal approximation of the binomial)."""
    n = sum(counts)
    deviation = math.sqrt(n * share * (1 - share))
    if deviation < 2:
        return None
    return 2 * NormalDist().cdf(-abs(counts[1] - n * share) / deviation)


def _notes(
    design: AbDesign,
    arms: Mapping[str, str],
    counts: tuple[int, int],
    metrics: Sequence[AbMetric],
    share_p: float | None,
) -> list[str]:
    notes: list[str] = []
    if len(arms) > design.sessions:
        extra = len(arms) - design.sessions
        later = plural(extra, "later session")
        verb = "is" if extra == 1 else "are"
        notes.append(f"The first {number(design.sessions)} sessions are evaluated, as planned; {later} {verb} not.")
    if share_p is not None and share_p < _MISMATCH:
        notes.append(
            f"{number(counts[0])} and {number(counts[1])} sessions do not match the planned shares: "
            "some sessions were lost or sent elsewhere, so the versions may have had different users."
        )
    for metric in metrics:
        if any(metric.unknown):
            unknown_counts = " and ".join(number(count) for count in metric.unknown)
            notes.append(
                f"{metric.name}: unknown for {unknown_counts} sessions of control and treatment, which are left out."
            )
    return notes
