"""A process that ends the agents of a killed service.

Each agent has a thread that waits for the service's end; it cannot run while foreign code holds the interpreter or the
process is stopped. The keeper can: it waits on a pipe that closes with the service, then sweeps the sessions. Until
then it is a bare interpreter, which imports nothing.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path


class Keeper:
    """The keeper of one sessions folder; runs until `close()`, or until this process exits."""

    def __init__(self, sessions: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", os.path.abspath(__file__), str(sessions)],
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


def _keep(sessions: str) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # a signal to the whole group must not end the process that cleans up
    while os.read(0, 1):
        continue
    if not os.path.isdir(sessions) or not os.listdir(sessions):
        return  # the service ended its sessions itself; the import would take longer than the rest of the shutdown
    sys.path.extend(os.environ["LOOM_IMPORT_PATH"].split(os.pathsep))
    from loomlib.local.sessions.workspace import sweep_leftovers  # importable only now

    sweep_leftovers(Path(sessions))


if __name__ == "__main__":
    _keep(sys.argv[1])
