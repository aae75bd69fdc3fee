"""A process that ends the agents of a killed service.

Each agent has a thread that waits for the service's end; it cannot run while native code holds the GIL or the
process is stopped. The keeper can: it waits on a pipe that closes with the service, then sweeps the sessions. Until
then it is a bare interpreter, which imports nothing. It leaves the folder to the next service if that has started
already: that service sweeps what it finds, and the sessions may be its own.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


class Keeper:
    """The keeper of one sessions folder; runs until `close()`, or until this process exits."""

    def __init__(self, sessions: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", os.path.abspath(__file__), str(sessions), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={"LOOM_IMPORT_PATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,
        )

    def close(self) -> None:
        """End the keeper and wait for it; a second call has no effect."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()


def _is_taken_over(sessions: str, service: str) -> bool:
    """Return whether a service other than the given process runs in the home folder of the sessions."""
    try:
        lock = os.open(os.path.join(os.path.dirname(sessions), "service.lock"), os.O_RDONLY)
    except OSError:
        return False
    try:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                if os.pread(lock, 32, 0) != service.encode():
                    return True
                time.sleep(0.01)  # the killed service has closed its pipe and not yet this file
            else:
                return False
    finally:
        os.close(lock)


def _keep(sessions: str, service: str) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # a signal to the whole group must not end the process that cleans up
    while os.read(0, 1):
        continue
    names = os.listdir(sessions) if os.path.isdir(sessions) else []
    # Listed first: what a service that is not there yet adds later is not swept.
    if not names or _is_taken_over(sessions, service):
        return  # nothing to sweep, and the import would take longer than the rest of the shutdown
    sys.path.extend(os.environ["LOOM_IMPORT_PATH"].split(os.pathsep))
    from loomlib.local.sessions.workspace import sweep_leftovers  # importable only now

    sweep_leftovers(Path(sessions), names)


if __name__ == "__main__":
    _keep(*sys.argv[1:])
