"""Policies that keep sessions warm: an idle timeout, pings that keep a session, and a pool of started sessions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from loomlib.presentation.formats import plural, time_limit

LEAST_IDLE_S: Final = 60.0
"""AgentCore's minimum idle timeout (`lifecycleConfiguration`), in seconds."""
DEFAULT_IDLE_S: Final = 900.0
"""AgentCore's default idle timeout, in seconds."""
LONGEST_LIFE_S: Final = 28_800.0
"""AgentCore's default and longest lifetime of a session, in seconds."""
_PING_SHARE: Final = 0.9
"""The share of the idle timeout after which a session of the pool is pinged, unless the policy says when."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPolicy:
    """How sessions are kept warm.

    Examples:
        >>> StartPolicy(idle_timeout_s=300)
        >>> StartPolicy(ping_every_s=600, ping_for_s=3600)
        >>> StartPolicy(pool=5)

    Attributes:
        idle_timeout_s: The runtime's idle timeout, in seconds.
        ping_every_s: Seconds between pings of a session that waits for its next call; 0 for none.
        ping_for_s: Seconds after an answer for which the session is pinged.
        pool: Sessions that are started ahead of need. Each new session takes one, and another is started in its place.
    """

    idle_timeout_s: float = DEFAULT_IDLE_S
    ping_every_s: float = 0.0
    ping_for_s: float = 3600.0
    pool: int = 0

    def __post_init__(self) -> None:
        for name, value in (("ping_every_s", self.ping_every_s), ("ping_for_s", self.ping_for_s)):
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} must be finite and at least 0")
        if not 0 < self.idle_timeout_s <= LONGEST_LIFE_S:
            raise ValueError(f"idle_timeout_s must be above 0 and at most {int(LONGEST_LIFE_S)}")
        if self.ping_every_s and self.ping_every_s >= self.idle_timeout_s:
            raise ValueError("ping_every_s must be less than idle_timeout_s, or the session ends before the ping")
        if self.pool < 0:
            raise ValueError("pool must be at least 0")

    @property
    def pings(self) -> int:
        """Largest number of pings after one answer."""
        if not self.ping_every_s:
            return 0
        most = int((LONGEST_LIFE_S - self.idle_timeout_s) / self.ping_every_s)
        return min(int(self.ping_for_s / self.ping_every_s + 1e-9), max(0, most))

    @property
    def kept_s(self) -> float:
        """Seconds for which a session is kept after an answer: until its last ping, then for the idle timeout."""
        return self.pings * self.ping_every_s + self.idle_timeout_s

    @property
    def pool_ping_s(self) -> float:
        """Seconds between pings of a session in the pool."""
        return self.ping_every_s or _PING_SHARE * self.idle_timeout_s

    @property
    def name(self) -> str:
        """The policy in words: `no pre-warming, idle timeout 15 min 00 s`."""
        parts: list[str] = []
        if self.pool:
            parts.append(f"pool of {plural(self.pool, 'session')}")
        if self.pings:
            parts.append(f"ping every {time_limit(self.ping_every_s)} for {time_limit(self.ping_for_s)}")
        return ", ".join([*(parts or ["no pre-warming"]), f"idle timeout {time_limit(self.idle_timeout_s)}"])


def usual_policies(
    *,
    idle_timeouts_s: tuple[float, ...] = (LEAST_IDLE_S, 300.0, DEFAULT_IDLE_S),
    pools: tuple[int, ...] = (1, 3),
    ping_every_s: float = 600.0,
    ping_for_s: float = 3600.0,
) -> tuple[StartPolicy, ...]:
    """Return the policies that are compared by default: every idle timeout alone and with each pool, and pings.

    Args:
        idle_timeouts_s: Idle timeouts, in seconds.
        pools: Sizes of the pool.
        ping_every_s: Seconds between pings, with AgentCore's default idle timeout; 0 for no policy with pings.
        ping_for_s: Seconds after an answer for which a session is pinged.
    """
    alone = [StartPolicy(idle_timeout_s=idle) for idle in idle_timeouts_s]
    pooled = [StartPolicy(idle_timeout_s=idle, pool=pool) for pool in pools if pool for idle in idle_timeouts_s]
    pinged = [
        StartPolicy(idle_timeout_s=DEFAULT_IDLE_S, ping_every_s=ping_every_s, ping_for_s=ping_for_s, pool=pool)
        for pool in (0, *(pools[-1:]))
        if ping_every_s
    ]
    return tuple(dict.fromkeys([*alone, *pinged, *pooled]))
