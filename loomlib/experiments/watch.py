"""Record the machine's conditions during a measurement, from the client's own event loop, and store them."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress

from loomlib.errors import StoreError
from loomlib.jobs.machine import MachineCounters, MachineFiles, processor_count

from .conditions import MachineConditions, StudyConditions

INTERVAL_S = 0.1
"""Seconds between two samples. A sample takes about 0.1 ms of CPU time: a thousandth of one processor."""

SAVE_EVERY_S = 10.0
"""Seconds between two saves of the conditions: a process that is killed loses at most this much."""

_MAX_SAMPLES = 100_000


class MachineWatch:
    """Samples the machine's runnable tasks and the event loop's delay, within this process.

    Args:
        files: Where the machine's counters are read.
    """

    def __init__(self, files: MachineFiles | None = None) -> None:
        self._files = files or MachineFiles()
        self._began: MachineCounters = self._files.counters()
        self._delays_ms: deque[float] = deque(maxlen=_MAX_SAMPLES)
        self._tasks: deque[int] = deque(maxlen=_MAX_SAMPLES)
        self._load: float | None = self._files.load()

    async def sample(self) -> None:
        """Take samples until cancelled."""
        while True:
            due = time.monotonic() + INTERVAL_S
            await asyncio.sleep(INTERVAL_S)
            self._delays_ms.append(max(0.0, time.monotonic() - due) * 1000)
            if (tasks := self._files.runnable_tasks()) is not None:
                self._tasks.append(tasks)
            if len(self._delays_ms) % 10 == 0 and (load := self._files.load()) is not None:
                self._load = max(load, self._load or 0.0)

    def conditions(self) -> MachineConditions:
        """Return the conditions since the beginning."""
        began, now, delays = self._began, self._files.counters(), sorted(self._delays_ms)
        elapsed_s = now.at_s - began.at_s
        return MachineConditions(
            duration_s=elapsed_s,
            processors=processor_count(),
            samples=len(delays),
            tasks=sum(self._tasks) / len(self._tasks) if self._tasks else None,
            load_1_min=self._load,
            steal_share=_share(began.steal_ticks, now.steal_ticks, _difference(began.cpu_ticks, now.cpu_ticks)),
            throttled_share=_share(began.throttled_s, now.throttled_s, elapsed_s),
            pressure_share=_share(began.pressure_s, now.pressure_s, elapsed_s),
            delay_p50_ms=delays[len(delays) // 2] if delays else None,
            delay_p95_ms=delays[int(0.95 * (len(delays) - 1))] if delays else None,
            delay_max_ms=delays[-1] if delays else None,
        )


@asynccontextmanager
async def watched_machine(files: MachineFiles | None = None) -> AsyncGenerator[MachineWatch]:
    """Sample the machine during the block.

    Args:
        files: Where the machine's counters are read.

    Yields:
        The watch; its `conditions()` can be read at any time.
    """
    watch = MachineWatch(files)
    sampling = asyncio.create_task(watch.sample())
    try:
        yield watch
    finally:
        sampling.cancel()
        with suppress(asyncio.CancelledError):
            await sampling


class ConditionsRecord:
    """The conditions of all runs of a study: those of earlier runs, and those of the current run so far.

    Args:
        former: The conditions of earlier runs.
        watch: The watch of the current run.
        save: Stores the conditions.
        every_s: Time between two saves, in seconds.
    """

    def __init__(
        self, former: StudyConditions, watch: MachineWatch, save: Callable[[StudyConditions], None], every_s: float
    ) -> None:
        self._former, self._watch, self._save, self._every_s = former, watch, save, every_s
        self._saved_at = time.monotonic()

    def conditions(self) -> StudyConditions:
        """Return the conditions of all runs."""
        return StudyConditions((*self._former.runs, self._watch.conditions()))

    def save(self) -> None:
        """Store the conditions."""
        self._saved_at = time.monotonic()
        self._save(self.conditions())

    def save_when_due(self) -> None:
        """Store the conditions unless they were stored recently; call it between two measurements."""
        if time.monotonic() - self._saved_at >= self._every_s:
            self.save()


@asynccontextmanager
async def recorded_machine(
    former: StudyConditions, save: Callable[[StudyConditions], None], *, every_s: float = SAVE_EVERY_S
) -> AsyncGenerator[ConditionsRecord]:
    """Sample the machine during the block, and store the conditions when it ends, even when it is cancelled.

    Args:
        former: The conditions of the study's earlier runs.
        save: Stores the conditions of all runs. At the end of the block its `StoreError` is ignored.
        every_s: Time between two saves within the block, in seconds.

    Yields:
        The record. Its `save_when_due()` stores the conditions meanwhile.
    """
    async with watched_machine() as watch:
        record = ConditionsRecord(former, watch, save, every_s)
        try:
            yield record
        finally:
            with suppress(StoreError):
                record.save()


def _difference(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def _share(before: float | None, after: float | None, of: float | None) -> float | None:
    """Return the increase of a counter as a share; None when unknown or when the counter was reset."""
    change = _difference(before, after)
    if change is None or of is None or of <= 0 or change < 0:
        return None
    return min(1.0, change / of)
