"""Measure what a case of a run on Dask costs each process, in processor time, which other programs hardly change."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from .coordinator_simulation import Cost, Costs

_ROOT = Path(__file__).parents[2]
_TESTS = str(_ROOT / "tests")


async def wait(prompt: str) -> str:
    """Answer `SECONDS|TEXT` with the text after the seconds: work that waits."""
    seconds, text = prompt.split("|")
    await asyncio.sleep(float(seconds))
    return text


def waiting_set(count: int, seconds: float) -> Any:
    """`count` cases whose answers take so long."""
    from loomlib.evals import EvalCase, EvalSet, Turn

    cases = [
        EvalCase(id=str(at), turns=(Turn(prompt=f"{seconds}|{at}", expected_answer=str(at)),)) for at in range(count)
    ]
    return EvalSet(name="waiting", cases=tuple(cases))


def cluster(folder: Path, *, workers: int, threads: int, **environment: str) -> Any:
    """A cluster of processes whose workers can import this module."""
    if _TESTS not in sys.path:
        sys.path.insert(0, _TESTS)
    from dask_cluster import local_dask  # the tests' own

    return local_dask(folder, workers=workers, threads=threads, PYTHONPATH=str(_ROOT), **environment)


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What a run took: seconds, processor seconds of this process, and the seconds of each answer on its worker."""

    seconds: float
    computing_s: float
    answers_s: tuple[float, ...]


def evaluate(evalset: Any, address: str, batch: int, store: Any) -> Taken:
    """Evaluate on a cluster."""
    import loomlib as loom
    from loomlib.evals.runs import Silent
    from loomlib.jobs.dask import DaskCluster

    began, cpu = time.perf_counter(), time.process_time()
    dask = DaskCluster(address=address, batch=batch)
    run = loom.evaluate(wait, evalset, ["exact"], store=store, progress=Silent(), dask=dask, reuse=False)
    seconds, computing_s = time.perf_counter() - began, time.process_time() - cpu
    assert run.summary()["exact"].scored == len(evalset.cases)
    answers_s = tuple(float(ms) / 1e3 for ms in run.rows()["duration_ms"])
    return Taken(seconds=seconds, computing_s=computing_s, answers_s=answers_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Processor seconds of one run."""

    tasks: int
    cases: int
    coordinator_s: float
    scheduler_s: float
    workers_s: float


def sample(run: Callable[[], float], processes: Any, *, tasks: int, cases: int) -> Sample:
    """Measure the processes of a cluster beside a run, which returns this process's own processor seconds."""
    before = _cpu_s(processes)
    own_s = run()
    after = _cpu_s(processes)
    return Sample(
        tasks=tasks,
        cases=cases,
        coordinator_s=own_s,
        scheduler_s=after[0] - before[0],
        workers_s=sum(after[1:]) - sum(before[1:]),
    )


_PROBE = """
import select, sys, time
took, computed = 0.0, 0.0
while not select.select([sys.stdin], [], [], 0.1)[0]:
    began, cpu = time.perf_counter(), time.process_time()
    while time.process_time() - cpu < 0.01:
        pass
    took += time.perf_counter() - began
    computed += time.process_time() - cpu
print(took / computed if computed else 1.0)
"""


class Stretch:
    """Measures, while a block runs, how many seconds one second of computing takes here: 1 on an idle machine."""

    def __enter__(self) -> Stretch:
        command = [sys.executable, "-c", _PROBE]
        self._probe = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_: object) -> None:
        out, _ = self._probe.communicate("\n")
        self.value = float(out)


def measured_costs(count: int = 400) -> Costs:
    """Measure the costs by runs of answers that take no time, alone in their tasks and by 20."""
    from loomlib.store import Store

    with tempfile.TemporaryDirectory(prefix="loom-bench-") as name:
        folder = Path(name)
        with cluster(folder / "dask", workers=1, threads=4) as dask, Store.open(f"sqlite:///{folder}/loom.db") as store:
            evaluate(waiting_set(20, 0.0), dask.address, 1, store)
            samples = []
            for batch, cases in ((1, count), (20, 5 * count)):
                evalset = waiting_set(cases, 0.0)
                measured = sample(
                    lambda evalset=evalset, batch=batch: evaluate(evalset, dask.address, batch, store).computing_s,
                    dask, tasks=cases // batch, cases=cases,
                )  # fmt: skip
                samples.append(measured)
            hop_s = _hop_s(dask.address, store, samples)
    return Costs(
        coordinator=_fitted(samples, lambda one: one.coordinator_s),
        scheduler=_fitted(samples, lambda one: one.scheduler_s),
        worker=_fitted(samples, lambda one: one.workers_s),
        hop_s=hop_s,
    )


def _hop_s(address: str, store: Any, samples: Sequence[Sample]) -> float:
    """Return a quarter of what one task alone takes beyond its processor time; it makes four hops."""
    first = samples[0]
    computing_s = (first.coordinator_s + first.scheduler_s + first.workers_s) / first.tasks
    import loomlib as loom
    from loomlib.evals.runs import Silent

    count = 40
    evalset = waiting_set(count, 0.0)
    began = time.perf_counter()
    loom.evaluate(wait, evalset, ["exact"], store=store, progress=Silent(), dask=address, reuse=False, concurrency=1)
    return max(0.0, (time.perf_counter() - began) / count - computing_s) / 4


def _fitted(samples: Sequence[Sample], seconds: Callable[[Sample], float]) -> Cost:
    """Solve `seconds = per_task × tasks + per_case × cases` for the two samples."""
    one, many = samples
    determinant = one.tasks * many.cases - many.tasks * one.cases
    per_task = (seconds(one) * many.cases - seconds(many) * one.cases) / determinant
    per_case = (one.tasks * seconds(many) - many.tasks * seconds(one)) / determinant
    return Cost(per_task_s=max(0.0, per_task), per_case_s=max(0.0, per_case))


def _cpu_s(dask: Any) -> list[float]:
    seconds = []
    for process in (dask.scheduler, *dask.workers):
        times = psutil.Process(process.pid).cpu_times()
        seconds.append(times.user + times.system)
    return seconds


def memory_per_case(cases: int, repeats: int) -> float:
    """Return the bytes a case that the peak of a run's process grows by, from a tenth of the cases to all."""
    peaks = [_peak_bytes(max(1, cases // part), repeats) for part in (10, 1)]
    return (peaks[1] - peaks[0]) / ((cases - cases // 10) * repeats)


_PEAK = """
import sys, tempfile
import loomlib as loom
from loomlib.evals.runs import Silent
from loomlib.store import Store
from tests.benchmarks.dask_costs import waiting_set

cases, repeats = int(sys.argv[1]), int(sys.argv[2])
with tempfile.TemporaryDirectory() as folder, Store.open(f"sqlite:///{folder}/loom.db") as store:
    loom.evaluate(lambda prompt: prompt.split("|")[1], waiting_set(cases, 0.0), ["exact"], repeats, store=store,
                  progress=Silent())
print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) * 1024)
"""


def _peak_bytes(cases: int, repeats: int) -> int:
    command = [sys.executable, "-c", _PEAK, str(cases), str(repeats)]
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    process = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=_ROOT)
    return int(process.stdout.split()[-1])


def write_ms(store: Any, rows: int, times: int = 40) -> float:
    """Return the least milliseconds that one write of so many answers takes in a store."""
    from loomlib.store import EvalRunRow, StoredAnswer, StoredResult, StoredSet

    digest, body = "0" * 64, '{"turns":[{"text":"' + "x" * 200 + '"}]}'
    stored_set = StoredSet(digest=digest, name="bench", version="1", case_count=1, details={}, cases=("{}",))
    durations_s = []
    for at in range(times):
        run = EvalRunRow(
            id=f"bench-{rows}-{at}", set_digest=digest, target_name="bench", target_key="", repeats=1,
            created_at=datetime.now(UTC),
        )  # fmt: skip
        store.eval_runs.create(run, stored_set)
        answers = [StoredAnswer(0, None, False, 1.0, None, None, None, None, None, None, body) for _ in range(rows)]
        results = [StoredResult(run.id, 0, place, 0, False) for place in range(rows)]
        began = time.perf_counter()
        store.eval_answers.put(answers, results)
        durations_s.append(time.perf_counter() - began)
    return min(durations_s) * 1e3
