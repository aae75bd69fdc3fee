"""A Dask cluster of processes on loopback: workers are added, killed and replaced while work goes on."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from waiting import wait_until


class LocalDask:
    """A scheduler and workers, each a process, without dashboards, on ports that the system chooses."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder, self._environment = folder, {**os.environ, **environment}
        self._numbers, self._names = itertools.count(), itertools.count(1)
        self.workers: list[subprocess.Popen[bytes]] = []
        file = folder / "scheduler.json"
        self.scheduler = self._started("scheduler", "--port", "0", "--scheduler-file", str(file))
        self.address: str = wait_until(lambda: _address(file), what="the start of the Dask scheduler")

    def add_workers(self, count: int, *, threads: int = 1) -> None:
        """Start workers; they join when they are ready."""
        for _ in range(count):
            options = ("--nthreads", str(threads), "--no-nanny", "--memory-limit", "0", "--name", self._name())
            folder = ("--local-directory", str(self._folder))
            self.workers.append(self._started("worker", self.address, *options, *folder))

    def kill_worker(self, place: int) -> None:
        """Kill a worker as a lost machine would end: without a word to anybody."""
        worker = self.workers.pop(place)
        worker.send_signal(signal.SIGKILL)
        worker.wait()

    def log(self) -> str:
        """What the scheduler and the workers have logged."""
        return "\n".join(file.read_text(errors="replace") for file in sorted(self._folder.glob("*.log")))

    def close(self) -> None:
        """Kill every process."""
        for process in [*self.workers, self.scheduler]:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()

    def _name(self) -> str:
        return f"worker-{next(self._names)}"

    def _started(self, kind: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", kind, *arguments, "--host", "127.0.0.1", "--no-dashboard"]
        with (self._folder / f"{kind}-{next(self._numbers)}.log").open("wb") as log:
            return subprocess.Popen(command, env=self._environment, stdout=log, stderr=log, cwd=self._folder)


def _address(file: Path) -> Any:
    with contextlib.suppress(OSError, ValueError, KeyError):
        return json.loads(file.read_text())["address"]
    return None


@contextlib.contextmanager
def local_dask(folder: Path, *, workers: int = 2, threads: int = 1, **environment: str) -> Iterator[LocalDask]:
    """Start a cluster in a folder for its logs, and end it."""
    folder.mkdir(parents=True, exist_ok=True)
    cluster = LocalDask(folder, environment)
    try:
        cluster.add_workers(workers, threads=threads)
        yield cluster
    finally:
        cluster.close()
