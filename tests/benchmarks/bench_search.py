"""Load tests beside queues whose law is known: the highest load that holds an SLO, and p99 of open and closed loops."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from loomlib.latency.load.arrivals import ClosedLoop, PoissonArrivals
from loomlib.latency.load.bodies import SameBody
from loomlib.latency.load.calls import LoadCall
from loomlib.latency.load.engine import LoadEngine, LoadTarget
from loomlib.latency.load.engine_runner import EngineRunner
from loomlib.latency.load.plans import plan_load
from loomlib.latency.load.search import find_highest_load
from loomlib.latency.load.slo import Slo

from .queueing import QueueLaw, capacity_per_s, simulate
from .queueing_server import queueing_server
from .table import Row

_LAWS = (("M/D/4, 20 ms", 4, 0.020, True, 0.050), ("M/M/4, 20 ms", 4, 0.020, False, 0.100))
_BODY = SameBody(prompt="ping")


def capacity() -> Iterator[Row]:
    """The highest rate with p90 below a limit, found by search and given by the law."""
    for name, servers, service_s, is_constant, limit_s in _LAWS:
        law = capacity_per_s(0.9, limit_s, service_s=service_s, servers=servers, is_constant=is_constant)
        with (
            queueing_server(servers=servers, service_s=service_s, is_constant=is_constant) as url,
            tempfile.TemporaryDirectory(prefix="loom-bench-") as folder,
        ):
            engine = LoadEngine(LoadTarget.http(url), folder=Path(folder), timeout_s=30, processes=1)
            slo = Slo.parse(f"p90 duration < {limit_s * 1e3} ms, errors < 1 %")
            result = find_highest_load(EngineRunner(engine, _BODY, run=name), slo)
        error = (result.load or 0) / law - 1
        yield Row(
            what=f"highest rate with p90 below {limit_s * 1e3:.0f} ms, {name}: the search beside the law",
            ours=f"{result.load or 0:.1f}/s [{result.low or 0:.1f}–{result.high or 0:.1f}] in {result.seconds:.0f} s",
            reference=f"{law:.1f}/s",
            compared=f"{error:+.1%}",
            aim="± 5 %, ≤ 60 s",
            met=abs(error) <= 0.05 and result.seconds <= 60,
            n=sum(step.n for step in result.steps),
        )


def tails(seconds: float = 40) -> Iterator[Row]:
    """p99 of an open and of a closed loop with the same load, beside M/D/5.

    So few calls have a p99 of their own, some per cent beside the law's; the recursion gives it exactly for the
    schedule that was offered, which takes out what the schedule has by chance.
    """
    # Slow services, so that what a busy machine adds to an answer is small beside them.
    servers, service_s, rate_per_s = 5, 0.200, 20.0
    law_s = QueueLaw(
        rate_per_s=rate_per_s, service_s=service_s, servers=servers, is_constant=True
    ).response_percentile_s(0.99)
    plan = plan_load(PoissonArrivals(rate_per_s=rate_per_s), _BODY, seconds=seconds, run="open", seed=1)
    users = round(rate_per_s * service_s)
    loop = plan_load(
        ClosedLoop(users=users, calls_per_user=round(rate_per_s * seconds / users)),
        _BODY,
        seconds=seconds,
        run="closed",
        seed=1,
    )
    with (
        queueing_server(servers=servers, service_s=service_s, is_constant=True) as url,
        tempfile.TemporaryDirectory(prefix="loom-bench-") as folder,
    ):
        engine = LoadEngine(LoadTarget.http(url), folder=Path(folder), timeout_s=30, processes=1)
        open_s = _p99_s(engine.run(plan.calls, step="open").calls)
        closed_s = _p99_s(engine.run(loop.calls, step="closed").calls)
    starts = np.array([call.at_s for call in plan.calls])
    exact_s = float(np.quantile(simulate(starts, np.full(starts.size, service_s), servers), 0.99))
    error = open_s / exact_s - 1
    yield Row(
        what=f"p99 under open loop at {rate_per_s:.0f}/s, beside the law of M/D/{servers} for the same schedule",
        ours=f"{open_s * 1e3:.2f} ms",
        reference=f"{exact_s * 1e3:.2f} ms (any schedule: {law_s * 1e3:.2f} ms, {open_s / law_s - 1:+.1%})",
        compared=f"{error:+.1%}",
        aim="± 2 %",
        met=abs(error) <= 0.02,
        n=len(plan.calls),
    )
    closed_error = closed_s / law_s - 1
    yield Row(
        what=f"the same load by {users} users who wait for each answer",
        ours=f"{closed_s * 1e3:.2f} ms",
        reference=f"{law_s * 1e3:.2f} ms",
        compared=f"{closed_error:+.1%}",
        aim="≤ −50 %, as a closed loop errs",
        met=closed_error <= -0.5,
        n=len(loop.calls),
    )


def rows() -> Iterator[Row]:
    """All of them."""
    yield from tails()
    yield from capacity()


def _p99_s(calls: object) -> float:
    assert hasattr(calls, "__iter__")
    load_calls = [call for call in calls if isinstance(call, LoadCall)]
    assert all(call.is_complete for call in load_calls)
    return float(np.quantile([call.duration_ms or 0.0 for call in load_calls], 0.99)) / 1e3
