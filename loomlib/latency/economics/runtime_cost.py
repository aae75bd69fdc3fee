"""Monthly cost of the traffic on AgentCore Runtime under a policy: active, idle and pre-warming."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loomlib.telemetry.cost import RuntimePrice

from .policy import StartPolicy
from .replicates import StartReplicates
from .shares import PolicyShares
from .traffic import DAYS_PER_MONTH, SessionTraffic

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeCost:
    """Dollars a month, one value for each replicate.

    Attributes:
        active: CPU and memory of calls, starts of cold sessions included.
        idle: Memory of sessions that wait within the idle timeout.
        prewarm: The pool, pings, and memory of sessions while only pings keep them.
    """

    active: FloatArray
    idle: FloatArray
    prewarm: FloatArray

    @property
    def total(self) -> FloatArray:
        """The sum."""
        return self.active + self.idle + self.prewarm


def runtime_cost(
    policy: StartPolicy,
    traffic: SessionTraffic,
    starts: StartReplicates,
    shares: PolicyShares,
    price: RuntimePrice,
    *,
    ping_usd: float = 0.0,
) -> RuntimeCost | None:
    """Return the monthly cost of the traffic; None when a price, the CPU time or the memory is unknown.

    CPU is billed while it is active, memory from a session's start to its end, 0.128 GB at least. A ping costs the CPU
    time of a warm call; its few seconds of memory are within those for which the session is kept.

    Args:
        policy: The policy.
        traffic: The traffic.
        starts: The measured calls.
        shares: The policy's effect on a session.
        price: The prices.
        ping_usd: Model cost of a ping, in dollars.
    """
    cpu, memory = price.cpu_per_vcpu_hour, price.memory_per_gb_hour
    if cpu is None or memory is None or starts.memory_gb is None or starts.idle_gb is None:
        return None
    if starts.warm_vcpu_s is None or starts.cold_vcpu_s is None:
        return None
    cpu_usd, memory_usd = float(cpu) / 3600, float(memory) / 3600
    working_gb = np.maximum(starts.memory_gb, float(price.minimum_memory_gb))
    waiting_gb = np.maximum(starts.idle_gb, float(price.minimum_memory_gb))
    cold_usd = starts.cold_vcpu_s * cpu_usd + starts.cold.duration_s * working_gb * memory_usd
    warm_usd = starts.warm_vcpu_s * cpu_usd + starts.warm.duration_s * working_gb * memory_usd
    ping = starts.warm_vcpu_s * cpu_usd + ping_usd
    sessions, calls = traffic.sessions_per_month, traffic.calls_per_month
    pool_s = traffic.hours_per_day * 3600 * DAYS_PER_MONTH if policy.pool else 0.0
    pool = shares.ready * waiting_gb * memory_usd + shares.pool_starts_per_s * cold_usd + shares.pool_pings_per_s * ping
    return RuntimeCost(
        active=calls * (shares.cold * cold_usd + (1 - shares.cold) * warm_usd),
        idle=sessions * shares.idle_s * waiting_gb * memory_usd,
        prewarm=sessions * (shares.kept_s * waiting_gb * memory_usd + shares.pings * ping) + pool_s * pool,
    )
