"""What runs on a Dask worker: asynchronous code on one event loop of the process, and refusals as values."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Coroutine
from functools import lru_cache
from importlib.metadata import version
from typing import Any, TypeVar

from loomlib.errors import ClusterError, LoomError

T = TypeVar("T")


def run_on_worker(work: Coroutine[Any, Any, T]) -> T:
    """Run asynchronous code on this process's loop for Loom and wait for it in the task's thread.

    Dask's own loop answers the scheduler; code of an agent or of a user must not hold it up. One loop serves all tasks,
    so that connections stay open between them.

    Args:
        work: The code.
    """
    return asyncio.run_coroutine_threadsafe(work, _loop()).result()


def worker_name() -> str:
    """Return the name of the worker that runs this task: its `--name`, else its address."""
    from distributed import get_worker

    return str(get_worker().name)


def refused(error: Exception) -> str:
    """Return, as the result of a task, why this worker cannot do any task of a job.

    An error that is raised would reach Dask's log together with the arguments of the task.

    Args:
        error: The error.
    """
    if isinstance(error, LoomError):
        values = {"what": error.what, "on": error.on, "try": error.try_}
    else:
        values = {"what": f"A worker cannot start: {type(error).__name__}: {error}", "on": "", "try": ""}
    return json.dumps({"worker": worker_name(), "refused": values})


@lru_cache(maxsize=1)
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="loom-worker", daemon=True).start()
    return loop


def check_release(release: str) -> None:
    """Raise `ClusterError` when the process that makes the run has another release of Loom than this worker.

    Args:
        release: The other process's `loom_release`.
    """
    if release != loom_release():
        raise ClusterError(
            f"The worker has loomlib {loom_release()}, and the run was started by loomlib {release}",
            on=worker_name(),
            try_="install the same release on every worker",
        )


def loom_release() -> str:
    """Return the release of Loom in this process."""
    return version("loomlib")
