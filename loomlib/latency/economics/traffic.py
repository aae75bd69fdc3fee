"""The traffic of an agent: sessions a day, their calls, and the time between calls."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Self

from .think_times import ThinkTimes

DAYS_PER_MONTH: Final = 365 / 12
_DAY_S: Final = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTraffic:
    """The sessions of an agent. They begin as a Poisson process during `hours_per_day` hours of each day.

    Attributes:
        sessions_per_day: Sessions in a day.
        calls_per_session: Mean number of calls in a session.
        think: Times between an answer and the next call.
        hours_per_day: Hours of a day in which sessions begin.
        ended_share: Share of sessions that the client ends after their last answer (StopRuntimeSession); the others
            stay open until a timeout ends them.
        source: Where the figures come from.
    """

    sessions_per_day: float
    calls_per_session: float
    think: ThinkTimes
    hours_per_day: float = 24.0
    ended_share: float = 0.0
    source: str = "given"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.sessions_per_day) and self.sessions_per_day > 0):
            raise ValueError("sessions_per_day must be finite and above 0")
        if not (math.isfinite(self.calls_per_session) and self.calls_per_session >= 1):
            raise ValueError("calls_per_session must be finite and at least 1")
        if not 0 < self.hours_per_day <= 24:
            raise ValueError("hours_per_day must be above 0 and at most 24")
        if not 0 <= self.ended_share <= 1:
            raise ValueError("ended_share must be between 0 and 1")

    @property
    def sessions_per_second(self) -> float:
        """Rate of new sessions in the hours that have any."""
        return self.sessions_per_day / (self.hours_per_day * 3600)

    @property
    def sessions_per_month(self) -> float:
        """Sessions in a month of 365 / 12 days."""
        return self.sessions_per_day * DAYS_PER_MONTH

    @property
    def calls_per_month(self) -> float:
        """Calls in a month."""
        return self.sessions_per_month * self.calls_per_session

    @classmethod
    def of_calls(cls, calls: Iterable[tuple[str, float, float]], *, source: str = "observed calls") -> Self:
        """Return the traffic of observed calls, spread evenly over the days from the first to the last call.

        Args:
            calls: For each call its session, its start and its end in Unix seconds.
            source: Where they come from.

        Raises:
            ValueError: No session has two calls, so no think time is known.
        """
        sessions: dict[str, list[tuple[float, float]]] = {}
        for session, start_s, end_s in calls:
            sessions.setdefault(session, []).append((start_s, end_s))
        gaps: list[float] = []
        for session_calls in sessions.values():
            session_calls.sort()
            gaps += [max(0.0, after[0] - before[1]) for before, after in pairwise(session_calls)]
        if not gaps or sum(gaps) <= 0:
            raise ValueError("no session has two calls with time between them: give the think times yourself")
        all_calls = [call for session_calls in sessions.values() for call in session_calls]
        days = max(1.0, (max(end for _, end in all_calls) - min(start for start, _ in all_calls)) / _DAY_S)
        return cls(
            sessions_per_day=len(sessions) / days,
            calls_per_session=len(all_calls) / len(sessions),
            think=ThinkTimes.observed(gaps),
            source=source,
        )
