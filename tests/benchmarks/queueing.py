"""Queues whose waiting times are known by formula: M/D/c (M/D/1 with one server) and M/M/c, first come, first served.

M/M/c: Erlang's C formula, P(W > x) = C·exp(−(cµ − λ)x), and the tail of the response time from it (Gross, Shortle,
Thompson & Harris, Fundamentals of Queueing Theory, 4th edition, 2008, §2.3).

M/D/c: the queue length in steady state is that of the chain N(t + D) = max(N(t) − c, 0) + Poisson(λD) (Crommelin, Delay
Probability Formulae When the Holding Times Are Constant, 1932), and from it
P(W ≤ x) = exp(−λu)·Σ_{j<kc} Q_{kc−1−j}·(λu)^j/j! with k = ⌊x/D⌋ + 1, u = kD − x, and Q_m the probability that at most m
calls wait (Franx, A simple solution for the M/D/c waiting time distribution, Operations Research Letters 29:5, 2001).
All terms are positive, so it is stable where Erlang's own series for M/D/1 alternates.

`tests/unit/test_load_queueing.py` compares both with simulations, and M/D/1 with Erlang's series.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class QueueLaw:
    """Calls arrive as a Poisson process and are served by `servers`, each call for a time of mean `service_s`."""

    rate_per_s: float
    service_s: float
    servers: int
    is_constant: bool
    """Whether every service takes exactly `service_s` (D); else the times are exponential (M)."""

    @property
    def utilization(self) -> float:
        return self.rate_per_s * self.service_s / self.servers

    def waits_longer(self, x_s: float) -> float:
        """The probability that a call waits longer than `x_s` for a server."""
        if x_s < 0:
            return 1.0
        if not self.is_constant:
            return self._erlang_c * math.exp(-(self.servers / self.service_s - self.rate_per_s) * x_s)
        k = math.floor(x_s / self.service_s) + 1
        mean = self.rate_per_s * (k * self.service_s - x_s)
        count = k * self.servers
        j = np.arange(count)
        log_poisson = j * math.log(mean) - mean - _log_factorials(count) if mean > 0 else np.where(j == 0, 0.0, -np.inf)
        queue = self._at_most_waiting
        reach = np.minimum(count - 1 - j, queue.size - 1)
        return float(max(0.0, 1 - (np.exp(log_poisson) * queue[reach]).sum()))

    def responds_later(self, t_s: float) -> float:
        """The probability that waiting and service last longer than `t_s`."""
        if self.is_constant:
            return self.waits_longer(t_s - self.service_s)
        mu, c, waiting = 1 / self.service_s, self.servers, self._erlang_c
        gap = c * mu - self.rate_per_s
        if math.isclose(gap, mu):
            return math.exp(-mu * t_s) * (1 + waiting * mu * t_s)
        return math.exp(-mu * t_s) * (1 + waiting * mu * (1 - math.exp(-(gap - mu) * t_s)) / (gap - mu))

    def response_percentile_s(self, p: float) -> float:
        """The response time that a share `p` of all calls does not exceed, in seconds."""
        return _root(lambda t_s: self.responds_later(t_s) - (1 - p), 0.0, self.service_s)

    @cached_property
    def _erlang_c(self) -> float:
        offered, blocked = self.rate_per_s * self.service_s, 1.0
        for servers in range(1, self.servers + 1):
            blocked = offered * blocked / (servers + offered * blocked)
        return blocked / (1 - self.utilization * (1 - blocked))

    @cached_property
    def _at_most_waiting(self) -> FloatArray:
        """P(at most m calls wait) for m = 0, 1, …, from the stationary queue length."""
        c, rho = self.servers, self.utilization
        # P(N > n) falls as tau^−n with c·ln(tau) = λD·(tau − 1), tau > 1, a root of the generating function's
        # denominator. The chain is cut where nothing is left.
        offered = self.rate_per_s * self.service_s
        tau = 1 + _root(lambda over: offered * over - c * math.log1p(over), 1e-9, 1 - rho)
        size = c + 50 + math.ceil(40 / math.log(tau))
        arrivals = np.exp(np.arange(size) * math.log(offered) - offered - _log_factorials(size))
        step = np.zeros((size, size))
        for present in range(size):
            remaining = max(present - c, 0)
            step[remaining:, present] = arrivals[: size - remaining]
        # Mass beyond the last state is put back on it, so that the columns are distributions.
        step[-1] += 1 - step.sum(axis=0)
        balance = step - np.eye(size)
        balance[-1] = 1
        lengths = np.linalg.solve(balance, np.eye(size)[-1])
        return np.minimum(1.0, np.cumsum(lengths)[c:])


def capacity_per_s(p: float, limit_s: float, *, service_s: float, servers: int, is_constant: bool) -> float:
    """The highest rate whose response time exceeds `limit_s` in at most a share 1 − `p` of all calls, by the law."""

    def excess(share: float) -> float:
        law = QueueLaw(
            rate_per_s=share * servers / service_s, service_s=service_s, servers=servers, is_constant=is_constant
        )
        return law.responds_later(limit_s) - (1 - p)

    low, high = 1e-3, 0.995
    if excess(low) > 0 or excess(high) < 0:
        raise ValueError("the limit is exceeded at any rate, or at none below saturation")
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if excess(middle) > 0 else (middle, high)
    return low * servers / service_s


def simulate(arrivals_s: FloatArray, services_s: FloatArray, servers: int) -> FloatArray:
    """The response time of each call: Kiefer & Wolfowitz's recursion, exact for any arrivals and services."""
    free_s = [0.0] * servers
    responses = np.empty(arrivals_s.size)
    for number, (at_s, service_s) in enumerate(zip(arrivals_s.tolist(), services_s.tolist(), strict=True)):
        done_s = max(at_s, free_s[0]) + service_s
        heapq.heapreplace(free_s, done_s)
        responses[number] = done_s - at_s
    return responses


def _log_factorials(count: int) -> FloatArray:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, count)))])[:count]


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """The root above `low` of a function that changes its sign once there; `high` is a first guess."""
    sign = function(low) > 0
    while (function(high) > 0) == sign:
        low, high = high, high * 2
        if high > 1e6:
            raise ValueError("there is no root")
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if (function(middle) > 0) == sign else (low, middle)
    return (low + high) / 2
