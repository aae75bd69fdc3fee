"""A connection to a Dask scheduler: tasks go to workers, and those of killed workers to others."""

from __future__ import annotations

import asyncio
import itertools
import json
import uuid
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Self

from loomlib.errors import ClusterError

from .slots import Slots

_POLL_S: Final = 0.5
"""Seconds between two checks of the workers."""

_MOST_LOSSES: Final = 5
"""How many times a task is submitted again after Dask gave up on it, each time after several killed workers
(`distributed.scheduler.allowed-failures`, 3 by default)."""

_AHEAD: Final = 2
"""Tasks for each thread: one that runs and one that waits there, so that no thread is idle for a round trip."""

_LAST_WORK_S: Final = 30.0
"""Time limit of `call_everywhere`, in seconds."""

_CHECKED: Final = ("distributed", "dask", "msgpack", "cloudpickle")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a worker cannot do any task of a job.

    Attributes:
        worker: The worker's name.
        what: What failed.
        on: What it was working on.
        try_: What to do.
    """

    worker: str
    what: str
    on: str
    try_: str


class ClusterConnection:
    """Gives tasks to the workers of a cluster; made by `DaskCluster.connected`.

    Args:
        client: Dask's asynchronous client.
        address: The scheduler's address.
        batch: Units in one task.
        at_once: The maximum number of units given to the cluster at once; None for what its threads can take.
        report: Receives what the connection waits for, and "" when it continues.
    """

    def __init__(
        self, client: Any, address: str, *, batch: int, at_once: int | None, report: Callable[[str], None]
    ) -> None:
        self._client, self.address, self.batch, self._at_once, self._report = client, address, batch, at_once, report
        self.slots = Slots(0)
        self.threads = 0
        """Threads of all workers at the last check."""
        self.workers = 0
        """Number of workers at the last check."""
        self._stage = "connecting"
        self._numbers = itertools.count()
        self._run = uuid.uuid4().hex[:8]
        self._watch: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        try:
            await self._look()
        except (OSError, TimeoutError) as error:
            raise self._scheduler_ended() from error
        self._watch = asyncio.create_task(self._keep_looking())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._watch is not None:
            self._watch.cancel()
            with suppress(asyncio.CancelledError):
                await self._watch

    async def call(self, function: Callable[..., str], *texts: str, name: str) -> Mapping[str, Any] | Refusal:
        """Run a function on some worker and return the JSON object that it returns.

        The task of a worker that is killed goes to another worker. A function must therefore tolerate being called
        again, and its caller stores the result once.

        Args:
            function: A function of an installed module; workers import it.
            texts: Its arguments, JSON texts without secrets.
            name: Prefix of the task's key, which Dask's dashboard shows.

        Raises:
            ClusterError: The scheduler ended, the worker cannot import Loom, or every worker that took the task ended.
        """
        from distributed import CancelledError
        from distributed.client import ClosedClientError
        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker

        for _ in range(_MOST_LOSSES):
            key = f"{name}-{self._run}-{next(self._numbers)}"
            try:
                future = self._client.submit(function, *texts, key=key, pure=False)
            except ClosedClientError as error:
                raise self._scheduler_ended() from error
            try:
                result: dict[str, Any] = json.loads(await future)
            except KilledWorker:
                continue
            except (CancelledError, CommClosedError) as error:  # while it waited, or while it fetched the result
                raise self._scheduler_ended() from error
            except (ImportError, AttributeError) as error:
                raise ClusterError(
                    f"A worker cannot run Loom's tasks: {error}",
                    on=self.address,
                    try_="install the same release of loomlib on every worker",
                ) from error
            finally:
                future.release()
            if why := result.get("refused"):
                return Refusal(worker=result["worker"], what=why["what"], on=why["on"], try_=why["try"])
            return result
        raise WorkersLostError(
            "Every worker that took this task ended",
            on=f"{name}, assigned {_MOST_LOSSES} times",
            try_="check the workers' logs: they may be out of memory",
        )

    async def call_everywhere(self, function: Callable[..., Coroutine[Any, Any, None]], *texts: str) -> None:
        """Run an asynchronous function once on each worker, on Dask's event loop, and wait for all of them.

        This is for clean-up after the last task: errors of a worker, and the loss of the scheduler, are ignored.

        Args:
            function: A function of an installed module; workers import it.
            texts: Its arguments, JSON texts without secrets.
        """
        # Dask raises an OSError for a scheduler that is lost, a RuntimeError for a client that it has closed since.
        with suppress(OSError, RuntimeError, TimeoutError):
            async with asyncio.timeout(_LAST_WORK_S):
                await self._client.run(function, *texts, on_error="ignore")

    def _scheduler_ended(self) -> ClusterError:
        return ClusterError("The Dask scheduler ended", on=self.address, try_="start it again and resume the run")

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(_POLL_S)
            # When the scheduler has ended, the tasks themselves end with that error.
            with suppress(OSError, TimeoutError):
                await self._look()

    async def _look(self) -> None:
        threads: dict[str, int] = await self._client.scheduler.ncores()
        self.workers, self.threads = len(threads), sum(threads.values())
        ahead = _AHEAD * self.threads * self.batch
        # Without workers no task is submitted: a used-up budget could not cancel a task at the scheduler.
        self.slots.resize(ahead if self._at_once is None else min(self._at_once, ahead))
        stage = "" if threads else f"waiting for workers of {self.address}"
        if stage or self._stage:
            self._report(stage)
        self._stage = stage


class WorkersLostError(ClusterError):
    """Every worker that took a task ended; perhaps the task itself ends them, by its use of memory."""


def check_versions(versions: Mapping[str, Any], address: str) -> None:
    """Raise `ClusterError` when the scheduler or a worker has another Python or Dask than this process.

    Args:
        versions: What Dask's `Client.get_versions` returned.
        address: The scheduler's address.
    """
    own = _versions(versions["client"])
    for place, one in [("the scheduler", versions["scheduler"]), *versions["workers"].items()]:
        if not one:
            continue
        remote = _versions(one)
        differing = [f"{name} {remote[name]} instead of {own[name]}" for name in own if remote[name] != own[name]]
        if differing:
            raise ClusterError(
                f"The cluster has other versions than this process: {', '.join(differing)}",
                on=f"{place} of {address}",
                try_="install the same versions everywhere",
            )


def _versions(one: Mapping[str, Any]) -> dict[str, str]:
    python = ".".join(str(one["host"]["python"]).split(".")[:2])
    return {"python": python, **{name: str(one["packages"].get(name)) for name in _CHECKED}}
