"""A Dask cluster of processes on loopback: workers are added, killed and replaced while work goes on.

The scheduler and the workers are forked from one process that has imported what they need: importing costs each of
them seconds of processor time otherwise. They have no dashboards, and ports that the system chooses.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_IMPORTED = (
    *("distributed", "loomlib.evals.runs.cluster_worker", "loomlib.experiments.worker_units"),
    *("loomlib.workbench.worker_agents", "loomlib.latency", "boto3", "aiohttp", "sqlalchemy", "alembic.command"),
)


class ClusterProcess:
    """The scheduler or a worker."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    @property
    def is_running(self) -> bool:
        """Whether it runs."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def kill(self) -> None:
        """End it as a lost machine would end: without a word to anybody."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


class LocalDask:
    """A scheduler and workers."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._names = itertools.count(1)
        self._source = subprocess.Popen(
            [sys.executable, "-P", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **environment},
            cwd=folder,
        )
        self.workers: list[ClusterProcess] = []
        try:
            started = self._start({"kind": "scheduler"})
            self.scheduler, self.address = ClusterProcess(started["pid"]), str(started["address"])
        except BaseException:
            self.close()
            raise

    def add_workers(self, count: int, *, threads: int = 1) -> None:
        """Start workers; they have joined when this returns."""
        for _ in range(count):
            name = f"worker-{next(self._names)}"
            asked = {"kind": "worker", "address": self.address, "threads": threads, "name": name}
            self.workers.append(ClusterProcess(self._start(asked)["pid"]))

    def kill_worker(self, place: int) -> None:
        """Kill a worker."""
        self.workers.pop(place).kill()

    def log(self) -> str:
        """What the scheduler and the workers have logged."""
        return "\n".join(file.read_text(errors="replace") for file in sorted(self._folder.glob("*.log")))

    def close(self) -> None:
        """Kill every process."""
        for process in [*self.workers, *([self.scheduler] if hasattr(self, "scheduler") else [])]:
            process.kill()
        with self._source:  # closes its pipes: its input ends, and so does it
            pass

    def _start(self, asked: dict[str, Any]) -> dict[str, Any]:
        assert self._source.stdin
        assert self._source.stdout
        log = self._folder / f"{asked.get('name', asked['kind'])}.log"
        self._source.stdin.write(json.dumps({**asked, "log": str(log)}).encode() + b"\n")
        self._source.stdin.flush()
        line = self._source.stdout.readline()
        assert line, "the processes of the cluster cannot be started"
        return json.loads(line)


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


def _serve() -> None:
    for name in _IMPORTED:
        __import__(name)
    gc.freeze()  # a collection in a forked process would copy what they share
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that are killed
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        reading, writing = os.pipe()
        if not (pid := os.fork()):
            os.close(reading)
            _run(asked, writing)
        os.close(writing)
        with os.fdopen(reading) as answer:
            print(json.dumps({"pid": pid, "address": answer.readline().strip()}), flush=True)


def _run(asked: dict[str, Any], ready: int) -> None:
    """Be the scheduler or a worker; never returns."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        log = os.open(asked["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for number, file in enumerate((nothing, log, log)):
            os.dup2(file, number)
        asyncio.run(_main(asked, ready))
    finally:
        os._exit(0)


async def _main(asked: dict[str, Any], ready: int) -> None:
    from distributed import Scheduler, Worker

    server: Any
    if asked["kind"] == "scheduler":
        server = Scheduler(host="127.0.0.1", port=0, dashboard=False)
    else:
        server = Worker(
            asked["address"],
            host="127.0.0.1",
            nthreads=asked["threads"],
            name=asked["name"],
            memory_limit=0,
            dashboard=False,
            local_directory=str(Path(asked["log"]).parent),
        )
    await server
    os.write(ready, f"{server.address}\n".encode())
    os.close(ready)
    await server.finished()


if __name__ == "__main__":
    _serve()
