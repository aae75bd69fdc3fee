"""Formulas for the share of cold calls and the time for which sessions are kept, with Poisson arrivals.

First calls: a new session takes a session of the pool when one is ready, and another is started in its place. A place
of the pool is busy for as long as a start takes, and a session that finds no place ready starts cold and takes none.
That is Erlang's loss system M/G/n/n, whose blocking probability depends on the mean of the start time alone, not on
its distribution: Erlang's B formula with n places and the load λ·s (Erlang 1917; insensitivity: Sevastyanov 1957).

Later calls: a call is cold when the person thinks for longer than the session is kept. With exponential think
times that is exp(−t / mean).

Each function is checked against `simulation` by a test.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .policy import LONGEST_LIFE_S, StartPolicy
from .replicates import StartReplicates, ThinkReplicates
from .traffic import SessionTraffic

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyShares:
    """The effect of a policy on a session, one value for each replicate.

    Attributes:
        first_cold: Share of first calls that are cold.
        later_cold: Share of later calls that are cold.
        cold: Share of all calls that are cold.
        idle_s: Seconds in which a session waits within the idle timeout, in all its gaps and after its last call.
        kept_s: Further seconds for which pings keep it.
        pings: Pings of a session.
        ready: Sessions that wait in the pool.
        pool_starts_per_s: Sessions started for the pool, each second.
        pool_pings_per_s: Pings of sessions in the pool, each second.
    """

    first_cold: FloatArray
    later_cold: FloatArray
    cold: FloatArray
    idle_s: FloatArray
    kept_s: FloatArray
    pings: FloatArray
    ready: FloatArray
    pool_starts_per_s: FloatArray
    pool_pings_per_s: FloatArray


def erlang_b(places: int, load: FloatArray | float) -> FloatArray:
    """Return the probability that all places are busy, by Erlang's B formula.

    Args:
        places: Number of places; with 0 every arrival is blocked.
        load: Arrivals a second times the mean time for which a place is busy.
    """
    offered = np.atleast_1d(np.asarray(load, dtype=np.float64))
    blocked = np.ones_like(offered)
    for place in range(1, places + 1):
        blocked = offered * blocked / (place + offered * blocked)
    return blocked


def policy_shares(
    policy: StartPolicy, traffic: SessionTraffic, starts: StartReplicates, think: ThinkReplicates
) -> PolicyShares:
    """Return the shares of cold calls, and how long sessions are kept, under a policy.

    Args:
        policy: The policy.
        traffic: The traffic.
        starts: The measured calls. A start for the pool takes as long as a cold call.
        think: The traffic's think times.
    """
    gaps = traffic.calls_per_session - 1
    rate = traffic.sessions_per_second
    first_cold = erlang_b(policy.pool, rate * starts.cold.duration_s)
    later_cold = think.longer_than(policy.kept_s)
    # After its last answer a session waits until its idle timeout, unless the client ends it.
    last = 1 - traffic.ended_share
    idle_s = gaps * think.mean_up_to(policy.idle_timeout_s) + last * policy.idle_timeout_s
    kept_s = gaps * think.mean_up_to(policy.kept_s) + last * policy.kept_s - idle_s
    pings = np.full_like(later_cold, last * policy.pings)
    for number in range(1, policy.pings + 1):
        pings += gaps * think.longer_than(number * policy.ping_every_s)
    pool_sessions_per_s = rate * (1 - first_cold)
    ready = policy.pool - pool_sessions_per_s * starts.cold.duration_s
    return PolicyShares(
        first_cold=first_cold,
        later_cold=later_cold,
        cold=(first_cold + gaps * later_cold) / traffic.calls_per_session,
        idle_s=idle_s,
        kept_s=kept_s,
        pings=pings,
        ready=ready,
        # A session of the pool that nobody takes ends with its lifetime, and another is started.
        pool_starts_per_s=pool_sessions_per_s + ready / LONGEST_LIFE_S
        if policy.pool
        else np.zeros_like(pool_sessions_per_s),
        pool_pings_per_s=ready / policy.pool_ping_s if policy.pool else np.zeros_like(pool_sessions_per_s),
    )
