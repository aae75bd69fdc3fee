"""The sessions of an A/B test with their figures: the session is the unit of assignment and of analysis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..metrics.figures import CALLER_FAILURES
from ..store import AbCall


@dataclass(frozen=True, slots=True, kw_only=True)
class AbSession:
    """One session of a test; None marks unknown figures.

    A call that the caller cancelled, or whose client ended early, counts in none of the figures.

    Attributes:
        id: The runtime session.
        arm: "control" or "treatment".
        latency_ms: Mean duration of its answered calls.
        failure_share: Share of its calls that failed.
        cost: Cost of its calls in US dollars; None while the cost of one is unknown.
        scores: Mean score by evaluator.
    """

    id: str
    arm: str
    latency_ms: float | None = None
    failure_share: float | None = None
    cost: float | None = None
    scores: Mapping[str, float] = field(default_factory=dict[str, float])


def gather_sessions(
    arms: Mapping[str, str], calls: Iterable[AbCall], scores: Mapping[str, Mapping[str, Sequence[float]]]
) -> list[AbSession]:
    """Return the sessions in the order of joining the test.

    Args:
        arms: The arm of each session.
        calls: The ended calls of the sessions.
        scores: By evaluator, the scores of each session.
    """
    by_session: dict[str, list[AbCall]] = {}
    for call in calls:
        by_session.setdefault(call.session_id, []).append(call)
    return [_session(id, arm, by_session.get(id, []), scores) for id, arm in arms.items()]


def _session(
    id: str, arm: str, calls: Sequence[AbCall], scores: Mapping[str, Mapping[str, Sequence[float]]]
) -> AbSession:
    counted = [call for call in calls if call.failure not in CALLER_FAILURES]
    failed = sum(call.status == "error" for call in counted)
    durations = [call.duration_ms for call in counted if call.status == "complete" and call.duration_ms is not None]
    costs = [
        call.cost for call in counted if call.cost is not None and not call.unknown_items and call.currency == "USD"
    ]
    own = {name: by_session[id] for name, by_session in scores.items() if by_session.get(id)}
    return AbSession(
        id=id,
        arm=arm,
        latency_ms=_mean(durations),
        failure_share=failed / len(counted) if counted else None,
        cost=float(sum(costs)) if counted and len(costs) == len(counted) else None,
        scores={name: sum(values) / len(values) for name, values in own.items()},
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
