"""A process that outlives the service by a moment, to end its agents when it was killed.

Each agent has a thread that waits for the service's end; it cannot run while foreign code holds the interpreter or the
process is stopped. The keeper can: it waits on a pipe that closes with the service, and then sweeps the sessions. It is
a bare interpreter until then, and imports what it needs only to sweep.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path


class Keeper:
    """The keeper of one folder of sessions; runs from now until `close()`, or until this process has ended."""

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
        """Let it go, and wait until it is gone; closing twice is no error."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()


def _keep(sessions: str) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # a signal to everybody must not take away the one who cleans up
    while os.read(0, 1):
        continue
    sys.path.extend(os.environ["LOOM_IMPORT_PATH"].split(os.pathsep))
    from loomlib.local.sessions.workspace import sweep_leftovers

    sweep_leftovers(Path(sessions))


if __name__ == "__main__":
    _keep(sys.argv[1])
