"""A discrete-event simulation of runs on Dask clusters: one coordinator, its scheduler, workers, and one database.

Every process is one queue in front of one processor thread, as Python's are. Processes of one machine share its
processors. A case's answer takes a time in which nobody computes. All costs are measured by `dask_costs`; what this
module returns from them is simulated, and is named so wherever it is shown.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Processor seconds of one task with some cases: `per_task_s + per_case_s × cases`."""

    per_task_s: float
    per_case_s: float

    def of(self, cases: int) -> float:
        return self.per_task_s + self.per_case_s * cases

    def stretched(self, stretch: float) -> Cost:
        return Cost(per_task_s=self.per_task_s * stretch, per_case_s=self.per_case_s * stretch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What a task costs each process, and what no processor does.

    Attributes:
        coordinator: Giving out, receiving, storing and scoring.
        scheduler: Dask's scheduler.
        worker: Dask's worker with Loom's task; the target's own costs included.
        database: Time of a write in a database that several coordinators share; it takes one write at a time.
        hop_s: Delay of a message between two processes, besides their processor time: sockets, and Dask's batching.
    """

    coordinator: Cost
    scheduler: Cost
    worker: Cost
    database: Cost = field(default=Cost(per_task_s=0.0, per_case_s=0.0))
    hop_s: float = 0.0

    def stretched(self, stretch: float) -> Costs:
        """Return the costs on a machine where others take processor time: each second of computing takes longer."""
        return replace(
            self,
            coordinator=self.coordinator.stretched(stretch),
            scheduler=self.scheduler.stretched(stretch),
            worker=self.worker.stretched(stretch),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A run to simulate.

    Attributes:
        cases: Number of cases.
        workers: Worker processes of each shard.
        threads: Threads of each worker.
        batch: Cases in one task.
        answer_s: Time of an answer; a sequence is drawn from at random.
        shards: Coordinators, each with a scheduler and workers of its own and an equal part of the cases.
        processors: Processors of the one machine that everything runs on; None gives each process its own.
        ahead: Tasks for each thread in the cluster's hands at once.
        seed: Seed of the draws.
    """

    cases: int
    workers: int
    threads: int
    batch: int = 1
    answer_s: float | Sequence[float] = 1.0
    shards: int = 1
    processors: int | None = None
    ahead: int = 2
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """What a simulated run took.

    Attributes:
        seconds: From the first task to the last stored answer.
        per_s: Cases a second.
        steady_per_s: Cases a second between a quarter and three quarters of the cases, without start and end.
        busy: Share of the time in which each kind of process computed, on average.
    """

    seconds: float
    per_s: float
    steady_per_s: float
    busy: dict[str, float]


class _Clock:
    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    def after(self, seconds: float, do: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.now + seconds, next(self._numbers), do))

    def run(self) -> None:
        while self._events:
            self.now, _, do = heapq.heappop(self._events)
            do()


class _Machine:
    """Processors of one machine: processes wait for a free one in the order in which they ask."""

    def __init__(self, processors: int | None) -> None:
        self._free = processors
        self._waiting: deque[Callable[[], None]] = deque()

    def take(self, begin: Callable[[], None]) -> None:
        if self._free is None:
            begin()
        elif self._free:
            self._free -= 1
            begin()
        else:
            self._waiting.append(begin)

    def give_back(self) -> None:
        if self._free is not None:
            if self._waiting:
                self._waiting.popleft()()
            else:
                self._free += 1


class _Process:
    """Does one piece of work at a time, in the order in which it arrives."""

    def __init__(self, clock: _Clock, machine: _Machine) -> None:
        self._clock, self._machine = clock, machine
        self._queue: deque[tuple[float, Callable[[], None]]] = deque()
        self._busy = False
        self.busy_s = 0.0

    def work(self, seconds: float, on_end: Callable[[], None]) -> None:
        self._queue.append((seconds, on_end))
        if not self._busy:
            self._busy = True
            self._machine.take(self._begin)

    def _begin(self) -> None:
        seconds, on_end = self._queue.popleft()
        self.busy_s += seconds

        def end() -> None:
            self._machine.give_back()
            if self._queue:
                self._machine.take(self._begin)
            else:
                self._busy = False
            on_end()

        self._clock.after(seconds, end)


class _Worker:
    def __init__(self, process: _Process, threads: int) -> None:
        self.process, self.free = process, threads
        self.queue: deque[Callable[[], None]] = deque()
        self.held = 0

    def run(self, begin: Callable[[], None]) -> None:
        if self.free:
            self.free -= 1
            begin()
        else:
            self.queue.append(begin)

    def ended(self) -> None:
        if self.queue:
            self.queue.popleft()()
        else:
            self.free += 1


class _Shard:
    """One coordinator with its cluster."""

    def __init__(
        self, clock: _Clock, machine: _Machine, database: _Process, plan: Plan, costs: Costs, cases: int
    ) -> None:
        self._clock, self._database, self._plan, self._costs = clock, database, plan, costs
        self.coordinator, self.scheduler = _Process(clock, machine), _Process(clock, machine)
        self.workers = [_Worker(_Process(clock, machine), plan.threads) for _ in range(plan.workers)]
        self._left = cases
        self._rng = random.Random(plan.seed)
        self.stored: list[tuple[float, int]] = []

    def begin(self) -> None:
        for _ in range(self._plan.workers * self._plan.threads * self._plan.ahead):
            self._give_out()

    def _give_out(self) -> None:
        if not self._left:
            return
        cases = min(self._plan.batch, self._left)
        self._left -= cases
        costs, hop = self._costs, self._costs.hop_s
        # Half of each process's cost of a task is on its way out, half on its way back.
        half = {
            name: cost.of(cases) / 2
            for name, cost in {
                "coordinator": costs.coordinator,
                "scheduler": costs.scheduler,
                "worker": costs.worker,
            }.items()
        }

        def at_scheduler() -> None:
            self.scheduler.work(half["scheduler"], lambda: self._clock.after(hop, at_worker))

        def at_worker() -> None:
            worker = min(self.workers, key=lambda one: one.held)
            worker.held += 1

            def answered() -> None:
                worker.process.work(half["worker"], leave)

            def leave() -> None:
                worker.held -= 1
                worker.ended()
                self._clock.after(hop, back_at_scheduler)

            def ask() -> None:
                self._clock.after(self._answer_s(cases), answered)

            worker.run(lambda: worker.process.work(half["worker"], ask))

        def back_at_scheduler() -> None:
            self.scheduler.work(half["scheduler"], lambda: self._clock.after(hop, received))

        def received() -> None:
            self.coordinator.work(half["coordinator"], write)

        def write() -> None:
            self._database.work(costs.database.of(cases), stored)

        def stored() -> None:
            self.stored.append((self._clock.now, cases))
            self._give_out()

        self.coordinator.work(half["coordinator"], lambda: self._clock.after(hop, at_scheduler))

    def _answer_s(self, cases: int) -> float:
        times = self._plan.answer_s
        if isinstance(times, (int, float)):
            return float(times)
        return max(self._rng.choice(times) for _ in range(cases))


def simulate(plan: Plan, costs: Costs) -> Simulated:
    """Return what a run takes with these costs: simulated, not measured."""
    clock = _Clock()
    machine = _Machine(plan.processors)
    database = _Process(clock, _Machine(None))
    shares = [plan.cases // plan.shards + (at < plan.cases % plan.shards) for at in range(plan.shards)]
    shards = [_Shard(clock, machine, database, plan, costs, cases) for cases in shares]
    for shard in shards:
        shard.begin()
    clock.run()
    stored = sorted(item for shard in shards for item in shard.stored)
    seconds = stored[-1][0]
    assert sum(cases for _, cases in stored) == plan.cases

    def busy(processes: Sequence[_Process]) -> float:
        return sum(process.busy_s for process in processes) / len(processes) / seconds

    return Simulated(
        seconds=seconds,
        per_s=plan.cases / seconds,
        steady_per_s=_steady_per_s(stored, plan.cases),
        busy={
            "coordinator": busy([shard.coordinator for shard in shards]),
            "scheduler": busy([shard.scheduler for shard in shards]),
            "worker": busy([worker.process for shard in shards for worker in shard.workers]),
            "database": busy([database]),
        },
    )


def _steady_per_s(stored: Sequence[tuple[float, int]], cases: int) -> float:
    total, first, last = 0, None, None
    for at, count in stored:
        total += count
        if first is None and total >= cases / 4:
            first = (at, total)
        if total <= cases * 3 / 4:
            last = (at, total)
    if first is None or last is None or last[0] <= first[0]:
        return cases / stored[-1][0]
    return (last[1] - first[1]) / (last[0] - first[0])
