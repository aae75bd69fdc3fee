"""A seeded simulation of sessions under a policy, to check the formulas of `shares` and to try other distributions."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from .measured import MeasuredStarts
from .policy import StartPolicy
from .traffic import SessionTraffic


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedStarts:
    """The counts of one simulation.

    Attributes:
        sessions: Sessions.
        calls: Calls.
        first_cold: Cold first calls.
        later_cold: Cold later calls.
        idle_s: Seconds in which sessions waited within the idle timeout.
        kept_s: Further seconds for which pings kept them.
        pings: Pings of sessions that waited for a call.
    """

    sessions: int
    calls: int
    first_cold: int
    later_cold: int
    idle_s: float
    kept_s: float
    pings: int

    @property
    def cold_share(self) -> float:
        """Share of all calls that were cold."""
        return (self.first_cold + self.later_cold) / self.calls

    @property
    def first_cold_share(self) -> float:
        """Share of first calls that were cold."""
        return self.first_cold / self.sessions

    @property
    def later_cold_share(self) -> float:
        """Share of later calls that were cold; 0 without any."""
        later = self.calls - self.sessions
        return self.later_cold / later if later else 0.0


def simulate_starts(
    measured: MeasuredStarts, traffic: SessionTraffic, policy: StartPolicy, *, sessions: int = 10_000, seed: int = 0
) -> SimulatedStarts:
    """Simulate sessions, one after the other in the order in which they begin.

    They begin as a Poisson process at the traffic's rate; a start for the pool takes as long as a random cold call.
    The number of calls of each session is one of the two whole numbers nearest to the mean.

    Args:
        measured: The calls whose durations are drawn.
        traffic: The traffic.
        policy: The policy.
        sessions: Sessions to simulate.
        seed: Seed of the simulation.
    """
    if sessions < 1:
        raise ValueError(f"sessions must be at least 1, not {sessions}")
    random = np.random.Generator(np.random.PCG64(seed))
    begins = random.exponential(1 / traffic.sessions_per_second, size=sessions).cumsum()
    cold_s = random.choice(np.array([call.duration_ms for call in measured.cold]) / 1000, size=sessions)
    whole = int(traffic.calls_per_session)
    counts = whole + (random.random(sessions) < traffic.calls_per_session - whole)
    gaps = traffic.think.draw(int((counts - 1).sum()), random)
    timed_out_sessions = int((random.random(sessions) >= traffic.ended_share).sum())  # sessions that end by themselves
    first_cold = _first_cold(begins.tolist(), cold_s.tolist(), policy.pool)
    within = np.minimum(gaps, policy.idle_timeout_s)
    alive = np.minimum(gaps, policy.kept_s)
    pings = 0
    if policy.pings:
        # A ping at the moment of the next call, or after it, is not made.
        ping_counts = np.ceil(gaps / policy.ping_every_s) - 1
        pings = int(np.clip(ping_counts, 0, policy.pings).sum()) + timed_out_sessions * policy.pings
    return SimulatedStarts(
        sessions=sessions,
        calls=int(counts.sum()),
        first_cold=first_cold,
        later_cold=int((gaps > policy.kept_s).sum()),
        idle_s=float(within.sum()) + timed_out_sessions * policy.idle_timeout_s,
        kept_s=float((alive - within).sum()) + timed_out_sessions * (policy.kept_s - policy.idle_timeout_s),
        pings=pings,
    )


def _first_cold(begins: list[float], start_s: list[float], pool: int) -> int:
    """Count the sessions that find no session of the pool ready. A session that is taken is replaced by a start."""
    if not pool:
        return len(begins)
    being_started: list[float] = []
    cold = 0
    for begin, needed in zip(begins, start_s, strict=True):
        while being_started and being_started[0] <= begin:
            heapq.heappop(being_started)
        if len(being_started) == pool:
            cold += 1
        else:
            heapq.heappush(being_started, begin + needed)
    return cold
