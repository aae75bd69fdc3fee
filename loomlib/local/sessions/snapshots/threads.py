"""Threads of a process that is about to be forked: only the one that forks exists in the child."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from typing import Any

KNOWN = frozenset({"loom-spans"})
"""Threads that start again in the child when they are needed."""


def retire_workers(loop: asyncio.AbstractEventLoop) -> None:
    """End idle workers of the event loop's thread pools; the pools start new ones when they are needed."""
    executor: Any = getattr(loop, "_default_executor", None)
    if executor is not None:
        executor.shutdown(wait=False)
        loop._default_executor = None  # pyright: ignore[reportAttributeAccessIssue]
    backend: Any = sys.modules.get("anyio._backends._asyncio")
    if backend is None:
        return
    try:
        idle: list[Any] = list(backend._threadpool_idle_workers.get())
    except LookupError:
        return
    for worker in idle:
        worker.stop()


def wait_for_threads(within_s: float) -> None:
    """Wait until threads that are ending have ended, at most `within_s` seconds."""
    deadline = time.monotonic() + within_s
    while python_threads() and time.monotonic() < deadline:
        time.sleep(0.005)


def python_threads() -> list[str]:
    """Return the names of the agent's own threads."""
    return [
        thread.name
        for thread in threading.enumerate()
        if thread is not threading.main_thread() and thread.name not in KNOWN
    ]


def native_threads() -> int:
    """Return the number of threads that Python does not manage, such as those of a numerical library.

    Fork-safe libraries, such as OpenBLAS, end their threads when the process forks, so call this after a fork.
    """
    known_count = sum(1 for thread in threading.enumerate() if thread.name in KNOWN)
    own_count = 2 + known_count + len(python_threads())  # the main thread, and the one that follows the service
    return max(0, len(os.listdir("/proc/self/task")) - own_count)


def try_a_fork(within_s: float) -> bool:
    """Fork a child that ends at once, so that handlers of libraries run; return whether it ended in time."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    deadline = time.monotonic() + within_s
    while not os.waitpid(pid, os.WNOHANG)[0]:
        if time.monotonic() > deadline:  # a library's handler waits for a thread that the child does not have
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return False
        time.sleep(0.001)
    return True
