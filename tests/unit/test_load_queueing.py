"""The queueing laws of the benchmarks beside simulations, and the search on simulated queues."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from benchmarks.queueing import QueueLaw, capacity_per_s, simulate

from loomlib.latency.load.calls import LoadCall
from loomlib.latency.load.search import HIGHEST_HOLDS, NONE_HOLDS, find_highest_load
from loomlib.latency.load.slo import Slo


class SimulatedQueue:
    """M/D/c or M/M/c in simulated time; each step begins idle and takes half a second more than its calls."""

    def __init__(self, servers: int, service_s: float, *, is_constant: bool, seed: int) -> None:
        self._servers, self._service_s, self._is_constant = servers, service_s, is_constant
        self._random = np.random.default_rng(seed)
        self.now_s = 0.0

    def __call__(self, load: float, seconds: float) -> Sequence[LoadCall]:
        starts = np.cumsum(self._random.exponential(1 / load, round(load * seconds * 1.5) + 50))
        starts = starts[starts < seconds]
        services = np.full(starts.size, self._service_s)
        if not self._is_constant:
            services = self._random.exponential(self._service_s, starts.size)
        ends = starts + simulate(starts, services, self._servers)
        self.now_s += max(seconds, float(ends.max(initial=0))) + 0.5
        return [
            LoadCall(index=n, session_id="s", state="complete", intended_s=at, sent_s=at, first_byte_s=end, done_s=end)
            for n, (at, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True))
        ]


@pytest.mark.parametrize(
    ("servers", "utilization", "is_constant"),
    [(1, 0.5, True), (4, 0.7, True), (8, 0.8, True), (1, 0.6, False), (4, 0.8, False)],
)
def test_the_laws_agree_with_simulation(servers: int, utilization: float, is_constant: bool) -> None:
    law = QueueLaw(rate_per_s=utilization * servers, service_s=1, servers=servers, is_constant=is_constant)
    random = np.random.default_rng(5)
    starts = np.cumsum(random.exponential(1 / law.rate_per_s, 200_000))
    services = np.ones(starts.size) if is_constant else random.exponential(1, starts.size)
    times = simulate(starts, services, servers)[1_000:]
    for p, within in ((0.5, 0.02), (0.9, 0.04), (0.99, 0.08)):
        assert law.response_percentile_s(p) == pytest.approx(float(np.quantile(times, p)), rel=within)


def test_one_constant_server_agrees_with_erlangs_series() -> None:
    law = QueueLaw(rate_per_s=0.7, service_s=1, servers=1, is_constant=True)
    for x in (0.0, 0.4, 1.0, 2.5, 5.2):
        terms = ((-0.7 * (x - k)) ** k / math.factorial(k) * math.exp(0.7 * (x - k)) for k in range(math.floor(x) + 1))
        assert law.waits_longer(x) == pytest.approx(1 - 0.3 * sum(terms), abs=1e-9)


def test_the_search_finds_what_a_queue_can_carry() -> None:
    capacity = capacity_per_s(0.9, 0.05, service_s=0.02, servers=4, is_constant=True)
    errors: list[float] = []
    hits = 0
    for seed in range(8):
        queue = SimulatedQueue(4, 0.02, is_constant=True, seed=seed)
        highest = find_highest_load(
            queue, Slo.parse("p90 duration < 50 ms, errors < 1 %"), clock=lambda q=queue: q.now_s
        )
        assert highest.load is not None
        assert highest.seconds <= 60.5
        errors.append(highest.load / capacity - 1)
        hits += (highest.low or 0) <= capacity <= (highest.high or math.inf)
    assert hits >= 6  # 95 % of searches; fewer than 6 of 8 happens once in 170 times
    assert abs(float(np.median(errors))) < 0.05
    assert max(map(abs, errors)) < 0.12


def test_a_search_says_when_its_limits_decide() -> None:
    queue = SimulatedQueue(4, 0.02, is_constant=True, seed=1)
    slo = Slo.parse("p90 duration < 50 ms")
    assert find_highest_load(queue, slo, highest=20, clock=lambda: queue.now_s).reason == HIGHEST_HOLDS
    nothing = find_highest_load(queue, Slo.parse("p90 duration < 10 ms"), clock=lambda: queue.now_s)
    assert (nothing.load, nothing.reason) == (None, NONE_HOLDS)
