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


class ProcessSource:
    """A process that has imported what a cluster needs, and forks the processes of clusters."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **environment},
        )

    def start(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Fork a scheduler or a worker; it serves when this returns its process id and address."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(asked).encode() + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the processes of the cluster cannot be started"
        return json.loads(line)

    def close(self) -> None:
        """End the process, not those that it forked."""
        with self._process:  # closes its pipes: its input ends, and so does it
            pass


class LocalDask:
    """A scheduler and workers."""

    def __init__(self, folder: Path, source: ProcessSource, path: Path | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._source = folder, source
        self._names = itertools.count(1)
        self.workers: list[ClusterProcess] = []
        reply = self._start({"kind": "scheduler"}, path)
        self.scheduler, self.address = ClusterProcess(reply["pid"]), str(reply["address"])

    def add_workers(self, count: int, *, threads: int = 1, path: Path | None = None) -> None:
        """Start workers; they have joined when this returns. `path` comes first in their import path."""
        for _ in range(count):
            name = f"worker-{next(self._names)}"
            request = {"kind": "worker", "address": self.address, "threads": threads, "name": name}
            self.workers.append(ClusterProcess(self._start(request, path)["pid"]))

    def kill_worker(self, place: int) -> None:
        """Kill a worker."""
        self.workers.pop(place).kill()

    def log(self) -> str:
        """What the scheduler and the workers have logged."""
        return "\n".join(file.read_text(errors="replace") for file in sorted(self._folder.glob("*.log")))

    def close(self) -> None:
        """Kill every process."""
        for process in [*self.workers, self.scheduler]:
            process.kill()

    @contextlib.contextmanager
    def beside(
        self, folder: Path, *, workers: int = 2, threads: int = 1, path: Path | None = None
    ) -> Iterator[LocalDask]:
        """Start another cluster of the same environment; nothing is imported again."""
        with _running(LocalDask(folder, self._source, path), workers, threads) as cluster:
            yield cluster

    def _start(self, request: dict[str, Any], path: Path | None) -> dict[str, Any]:
        log = self._folder / f"{request.get('name', request['kind'])}.log"
        return self._source.start({**request, "log": str(log), "path": str(path or "")})


@contextlib.contextmanager
def local_dask(folder: Path, *, workers: int = 2, threads: int = 1, **environment: str) -> Iterator[LocalDask]:
    """Start a cluster in a folder for its logs, and end it."""
    with (
        contextlib.closing(ProcessSource(environment)) as source,
        _running(LocalDask(folder, source), workers, threads) as cluster,
    ):
        yield cluster


@contextlib.contextmanager
def _running(cluster: LocalDask, workers: int, threads: int) -> Iterator[LocalDask]:
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
        request = json.loads(line)
        reading, writing = os.pipe()
        if not (pid := os.fork()):
            os.close(reading)
            _run(request, writing)
        os.close(writing)
        with os.fdopen(reading) as answer:
            print(json.dumps({"pid": pid, "address": answer.readline().strip()}), flush=True)


def _run(request: dict[str, Any], ready: int) -> None:
    """Be the scheduler or a worker; never returns."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for number, file in enumerate((nothing, log, log)):
            os.dup2(file, number)
        os.chdir(Path(request["log"]).parent)
        if request["path"]:
            sys.path.insert(0, request["path"])
        asyncio.run(_main(request, ready))
    finally:
        os._exit(0)


async def _main(request: dict[str, Any], ready: int) -> None:
    from distributed import Scheduler, Worker

    server: Any
    if request["kind"] == "scheduler":
        server = Scheduler(host="127.0.0.1", port=0, dashboard=False)
    else:
        server = Worker(
            request["address"],
            host="127.0.0.1",
            nthreads=request["threads"],
            name=request["name"],
            memory_limit=0,
            dashboard=False,
            local_directory=str(Path(request["log"]).parent),
        )
    await server
    os.write(ready, f"{server.address}\n".encode())
    os.close(ready)
    await server.finished()


if __name__ == "__main__":
    _serve()
