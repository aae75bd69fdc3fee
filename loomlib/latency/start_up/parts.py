"""Estimates of a platform's session starts: each part, what a new session costs, and its calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from loomlib.statistics.estimates import Estimate
from loomlib.statistics.percentiles import estimate_paired_difference, estimate_percentile
from loomlib.telemetry.session_starts import START_PARTS

from .design import LABELS, PLATFORMS, PROCESS
from .result import StartedSession, StartUpResult

FIRST_REQUEST: Final = "first_request"
COST: Final = "cost"
FIRST_CALL: Final = "first_call"
LATER_CALL: Final = "later_call"

READY: Final = "ready"
PARTS: Final = {**START_PARTS, READY: "process to first ping", FIRST_REQUEST: "first request"}
"""The parts of what a new session costs, in order, with their labels; they add up to it."""

_WHOLES: Final = {
    COST: "what a new session costs",
    FIRST_CALL: "first call of a session",
    LATER_CALL: "later call",
}

ORDER: Final = (*PARTS, *_WHOLES)
"""The names of all quantities, in the order of the table."""

_READ: Final[dict[str, Callable[[StartedSession], float | None]]] = {
    READY: lambda session: session.ready_ms,
    FIRST_REQUEST: lambda session: session.first_request_ms,
    COST: lambda session: session.cost_ms,
    FIRST_CALL: lambda session: session.duration_ms,
    LATER_CALL: lambda session: session.later_call_ms,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """Estimates of one part, of what a new session costs, or of a call.

    Attributes:
        name: Its name in `PARTS`, `COST`, `FIRST_CALL` or `LATER_CALL`.
        label: Its label.
        values: Its values, one for each session, in milliseconds.
        p50: Median, in milliseconds.
        p75: Third quartile.
        p90: 90th percentile.
        mean_ms: Mean; means of parts add up to that of the cost.
        share: Its share of what a new session costs, 0 to 1; None for a call.
    """

    name: str
    label: str
    values: tuple[float, ...] = field(repr=False)
    p50: Estimate
    p75: Estimate
    p90: Estimate
    mean_ms: float
    share: float | None = None

    def summary(self) -> dict[str, Any]:
        """Return the estimates as JSON-ready values."""
        return {
            "part": self.name,
            "p50_ms": self.p50.summary(),
            "p75_ms": self.p75.summary(),
            "p90_ms": self.p90.summary(),
            "mean_ms": self.mean_ms,
            "share": self.share,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformStarts:
    """Estimates of one platform, or of the process that was started directly.

    Attributes:
        platform: "V1", "V2" or `PROCESS`.
        sessions: Its sessions.
        parts: The parts of what a new session costs, in order; none where starts are not recorded.
        cost: What a new session costs.
        calls: The first call of a session, and a later one.
    """

    platform: str
    sessions: tuple[StartedSession, ...] = field(repr=False)
    parts: tuple[Quantity, ...]
    cost: Quantity
    calls: tuple[Quantity, ...]

    @property
    def label(self) -> str:
        """Its display name."""
        return LABELS[self.platform]

    def quantities(self) -> list[Quantity]:
        """Return everything that is estimated, in the order of the table."""
        return [*self.parts, self.cost, *self.calls]

    def find(self, name: str) -> Quantity | None:
        """Return a quantity by its name; None where the platform has none."""
        return next((quantity for quantity in self.quantities() if quantity.name == name), None)

    def counts(self) -> str:
        """Return how many sessions were measured, and how many failed."""
        failed = sum(session.is_failed for session in self.sessions)
        return f"n = {len(self.cost.values)}" + (f", {failed} failed" if failed else "")

    def summary(self) -> dict[str, Any]:
        """Return the estimates as JSON-ready values."""
        return {
            "platform": self.platform,
            "n": len(self.cost.values),
            "failed": sum(session.is_failed for session in self.sessions),
            "parts": [part.summary() for part in self.parts],
            "cost": self.cost.summary(),
            "first_call": self.calls[0].summary(),
            "later_call": self.calls[1].summary(),
        }


def value_of(session: StartedSession, name: str) -> float | None:
    """Return a session's value of a quantity in milliseconds; None when it has none or failed."""
    if session.cost_ms is None:
        return None
    if name in _READ:
        return _READ[name](session)
    parts = session.start.parts if session.start is not None else ()
    return next((part.duration_ms for part in parts if part.name == name), None)


def platform_starts(result: StartUpResult) -> list[PlatformStarts]:
    """Return the estimates of both platforms."""
    return [_platform(result, platform) for platform in PLATFORMS]


def process_starts(result: StartUpResult) -> list[PlatformStarts]:
    """Return the estimates of the process that was started directly; none where the agent's code was not given."""
    return [_platform(result, PROCESS)] if PROCESS in result.design.conditions else []


def saved(result: StartUpResult, name: str, conditions: Sequence[str] = PLATFORMS) -> Estimate:
    """Estimate the median difference of a quantity between two conditions of a block, in milliseconds.

    Args:
        result: The study.
        name: The quantity.
        conditions: The two conditions: the second is subtracted from the first.
    """
    blocks: dict[int, dict[str, float]] = {}
    for session in result.sessions:
        if (value := value_of(session, name)) is not None:
            blocks.setdefault(session.block, {})[session.platform] = value
    pairs = [
        tuple(block[condition] for condition in conditions)
        for block in blocks.values()
        if all(condition in block for condition in conditions)
    ]
    return estimate_paired_difference([pair[0] for pair in pairs], [pair[1] for pair in pairs])


def _platform(result: StartUpResult, platform: str) -> PlatformStarts:
    sessions = tuple(session for session in result.sessions if session.platform == platform)
    split = [session for session in sessions if session.first_request_ms is not None]
    samples = {name: [value for session in split if (value := value_of(session, name)) is not None] for name in PARTS}
    positive = {name: max(0.0, sum(values)) for name, values in samples.items()}
    whole = sum(positive.values())
    return PlatformStarts(
        platform=platform,
        sessions=sessions,
        parts=tuple(
            _quantity(name, label, samples[name], positive[name] / whole if whole else None)
            for name, label in PARTS.items()
            if samples[name]
        ),
        cost=_quantity(COST, _WHOLES[COST], _values(sessions, COST)),
        calls=tuple(_quantity(name, _WHOLES[name], _values(sessions, name)) for name in (FIRST_CALL, LATER_CALL)),
    )


def _values(sessions: Sequence[StartedSession], name: str) -> list[float]:
    return [value for session in sessions if (value := value_of(session, name)) is not None]


def _quantity(name: str, label: str, values: Sequence[float], share: float | None = None) -> Quantity:
    p50, p75, p90 = (estimate_percentile(values, p) for p in (0.5, 0.75, 0.9))
    mean_ms = sum(values) / len(values) if values else 0.0
    return Quantity(
        name=name, label=label, values=tuple(values), p50=p50, p75=p75, p90=p90, mean_ms=mean_ms, share=share
    )
