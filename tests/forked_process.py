"""A process of a test that is killed again and again, forked each time from one that has imported what it needs.

Starting it then takes milliseconds, not a second of imports, so that a hundred kills are affordable.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Self

from waiting import PATIENCE_S


class ForkedProcess:
    """Runs a function in a process, one at a time: `start`, then `kill` or `finish`.

    Args:
        module: The file whose function is called; its folder comes first in the import path.
        function: Its name.
        arguments: Its arguments, as texts.
    """

    def __init__(self, module: Path, function: str, *arguments: object) -> None:
        self._source = subprocess.Popen(
            [sys.executable, __file__, str(module), function, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,  # `is_running` looks for what has not been read
        )
        self._pid: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pid is not None:
            self.kill()
        with self._source:  # closes its pipes: its input ends, and so does it
            pass

    @property
    def is_running(self) -> bool:
        """Whether the function still runs."""
        assert self._source.stdout
        return self._pid is not None and not select.select([self._source.stdout], [], [], 0)[0]

    def start(self) -> None:
        """Fork a process, which calls the function."""
        assert self._pid is None
        assert self._source.stdin
        self._source.stdin.write(b"\n")
        self._pid = self._read()

    def run_until(self, holds: Callable[[], bool]) -> None:
        """Wait until `holds` or the end of the function; without pauses that grow, so that a certain moment is met."""
        deadline = time.monotonic() + PATIENCE_S
        while self.is_running and not holds():
            assert time.monotonic() < deadline, f"it did not happen within {PATIENCE_S:g} s"
            time.sleep(0.001)

    def kill(self) -> bool:
        """End the process as a lost machine would end; return whether the function still ran."""
        assert self._pid is not None
        # Its number is not given to another process before the next start: until then nobody has asked how it ended.
        os.kill(self._pid, signal.SIGKILL)
        return self.finish() == -signal.SIGKILL

    def finish(self) -> int:
        """Wait for the end of the function and return the process's exit code: 0 unless it raised."""
        self._pid = None
        return self._read()

    def _read(self) -> int:
        assert self._source.stdout
        line = self._source.stdout.readline()
        assert line, "the process cannot be started"
        return int(line)


def _serve(module: str, function: str, arguments: list[str]) -> None:
    sys.path.insert(0, str(Path(module).parent))
    for name in ("psycopg", "sqlalchemy.dialects.postgresql", "alembic.command", "loomlib.store.schema", "numpy"):
        import_module(name)
    run = getattr(import_module(Path(module).stem), function)
    gc.freeze()
    pid = 0
    for _ in sys.stdin:
        if pid:
            os.waitpid(pid, 0)
        if not (pid := os.fork()):
            _run(run, arguments)
        print(pid, flush=True)
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert ended is not None
        print(ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status, flush=True)


def _run(run: object, arguments: list[str]) -> None:
    """Call the function and end; its output must not reach the test."""
    code = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        os.dup2(2, 1)
        assert callable(run)
        run(*arguments)
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)


if __name__ == "__main__":
    _serve(sys.argv[1], sys.argv[2], sys.argv[3:])
