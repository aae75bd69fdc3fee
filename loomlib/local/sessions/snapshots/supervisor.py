"""The parent of an agent's process where bubblewrap is not: it adopts what the agent forks and ends all of it.

`python -I -S supervisor.py LISTENER LIFELINE COMMAND…` runs the command and ends with its status. When the command has
ended, or on SIGTERM, or when the service has ended, it kills every process that the command left, whatever session,
group or environment that has. It imports nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time

# prctl(2)
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
SIGNALS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD}


def supervise(descriptors: list[int], command: list[str]) -> int:
    """Run a command, end everything that it started, and return its exit code, or 128 and its signal's number."""
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    agent = os.fork()
    if agent == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.setsid()
        os.execv(command[0], command)  # noqa: S606 (the service's own command)
    for descriptor in descriptors:
        os.close(descriptor)
    return follow(agent)


def follow(agent: int) -> int:
    """Wait for a child's end, end everything that it started, and return its exit code, or 128 and its signal's number.

    The signals `SIGNALS` must be blocked; each of them but SIGCHLD ends the child.
    """
    status: int | None = None
    while status is None:
        if signal.sigwait(SIGNALS) != signal.SIGCHLD:
            break
        status = _reap(agent)
    while children := _descendants():
        for pid in children:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        ended = _reap(agent)
        status = ended if status is None else status
        time.sleep(0.001)
    if status is None:
        return 128 + signal.SIGKILL
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _reap(agent: int) -> int | None:
    """Reap all children that have ended; return the agent's status if it is among them."""
    status = None
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, ended = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == agent:
                status = ended
    return status


def _descendants() -> list[int]:
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        pid = waiting.pop()
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                    waiting += map(int, file.read().split())
        found.append(pid)
    return found[1:]


if __name__ == "__main__":
    sys.exit(supervise([int(sys.argv[1]), int(sys.argv[2])], sys.argv[3:]))
