"""Runs on a Dask cluster: two workers beside one, the simulation beside both, and what it says of larger clusters."""

from __future__ import annotations

import math
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .coordinator_simulation import Costs, Plan, simulate
from .dask_costs import Stretch, cluster, evaluate, measured_costs, memory_per_case, waiting_set, write_ms
from .table import Row

THREADS, CASES, ANSWER_S = 8, 128, 1.0
WANTED_PER_S = 10_000
_BATCHES = (1, 20, 100)


def rows(rounds: int = 2) -> Iterator[Row]:
    from loomlib.store import Store

    costs = measured_costs()
    run_seconds, fixed_s, answers_s, stretch = _measured(rounds)
    one, two = (statistics.median(run_seconds[workers]) for workers in (1, 2))
    yield Row(
        what=f"{CASES} answers of {ANSWER_S:g} s, {THREADS} threads a worker: two workers beside one",
        ours=f"{two:.2f} s",
        reference=f"one worker {one:.2f} s",
        compared=f"× {one / two:.2f}",
        aim="≥ 1.8",
        met=one / two >= 1.8,
        n=rounds,
    )
    for workers, measured in ((1, one), (2, two)):
        # The answers' durations are those of one worker also where two are simulated.
        plan = Plan(cases=CASES, workers=workers, threads=THREADS, answer_s=answers_s)
        expected = fixed_s + simulate(plan, costs.stretched(stretch)).seconds
        yield Row(
            what=f"the simulation beside {workers} measured worker{'s' if workers > 1 else ''}",
            ours=f"{expected:.2f} s simulated",
            reference=f"{measured:.2f} s measured",
            compared=f"{expected / measured - 1:+.1%}",
            aim="within 10 %",
            met=abs(expected / measured - 1) <= 0.1,
            n=rounds,
        )
    yield from extrapolated(costs)
    with tempfile.TemporaryDirectory(prefix="loom-bench-") as name, Store.open(f"sqlite:///{name}/loom.db") as store:
        writes = {rows: write_ms(store, rows) for rows in (1, 100)}
    yield Row(
        what="one write of answers, SQLite, least of 40",
        ours=f"{writes[1]:.2f} ms for one answer, {writes[100]:.2f} ms for 100",
    )
    distinct, repeated = memory_per_case(20_000, 1), memory_per_case(1_000, 20)
    yield Row(
        what="peak memory of the coordinator for each case: distinct cases, and repeats of 1,000 cases",
        ours=f"{distinct / 1e3:.2f} kB, {repeated / 1e3:.2f} kB",
        reference=f"10 million: {distinct / 100:.1f} GB, {repeated / 100:.1f} GB by extrapolation",
        n=1,
    )


def extrapolated(costs: Costs) -> Iterator[Row]:
    """The limit of one coordinator, and the shards for the wanted calls a second. All figures are simulated."""
    for batch in _BATCHES:
        limit = limit_of_one(costs, batch)
        yield Row(
            what=f"most cases a second by one coordinator, batches of {batch}, each process on its own processor",
            ours=f"{limit:.0f} a second simulated",
            reference=f"{math.ceil(WANTED_PER_S / limit)} shards for {WANTED_PER_S:,} a second simulated",
        )


def limit_of_one(costs: Costs, batch: int) -> float:
    """Return the most cases a second of one coordinator with more workers than it can keep busy: simulated."""
    busiest = max(costs.coordinator.of(batch), costs.scheduler.of(batch))
    per_worker = batch / max(costs.worker.of(batch), 1e-9)
    workers = math.ceil(3 * batch / busiest / per_worker)
    plan = Plan(cases=400 * batch, workers=workers, threads=4, batch=batch, answer_s=0.0)
    return simulate(plan, costs).steady_per_s


def _measured(rounds: int) -> tuple[dict[int, list[float]], float, tuple[float, ...], float]:
    """Return seconds by number of workers, in turns, and what the simulation needs beside the costs.

    That is the seconds of a run of one case that takes no time, those of each answer of one worker, and the machine's
    stretch.
    """
    from loomlib.store import Store

    run_seconds: dict[int, list[float]] = {1: [], 2: []}
    fixed: list[float] = []
    answers_s: tuple[float, ...] = ()
    with tempfile.TemporaryDirectory(prefix="loom-bench-") as name:
        folder = Path(name)
        with (
            cluster(folder / "one", workers=1, threads=THREADS) as one,
            cluster(folder / "two", workers=2, threads=THREADS) as two,
            Store.open(f"sqlite:///{folder}/loom.db") as store,
        ):
            places = {1: one.address, 2: two.address}
            for address in places.values():  # every worker imports its task
                evaluate(waiting_set(8 * THREADS, 0.05), address, 1, store)
            with Stretch() as stretch:
                for _ in range(rounds):
                    for workers, address in places.items():
                        fixed.append(evaluate(waiting_set(1, 0.0), address, 1, store).seconds)
                        run = evaluate(waiting_set(CASES, ANSWER_S), address, 1, store)
                        run_seconds[workers].append(run.seconds)
                        answers_s += run.answers_s if workers == 1 else ()
    return run_seconds, statistics.median(fixed), answers_s, stretch.value
