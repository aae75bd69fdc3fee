"""One process of the engine: its start, the commands on its input, its end."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, Any, Final

from loomlib.errors import StudyInterruptedError

_START_LIMIT_S: Final = 60.0
_END_LIMIT_S: Final = 5.0
_ERROR_BYTES: Final = 2_000


class LoadProcess:
    """A process of `loomlib.aws.load_client`. It ends when its input closes, and so with this process.

    Args:
        begin: The configuration to start with; it contains the secrets, so it goes through a pipe.
        keep_open: Files that it inherits, by their descriptors.
    """

    def __init__(self, begin: Mapping[str, Any], keep_open: tuple[int, ...]) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `close`
        # It does not need credentials in its environment: those that it uses come through its input.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "loomlib.aws.load_client"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            pass_fds=keep_open,
            env=environment,
        )
        self.tell(begin)

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    @property
    def has_failed(self) -> bool:
        """Whether it ended before all of its calls had ended."""
        return self._process.poll() not in (None, 0)

    def tell(self, command: Mapping[str, Any]) -> None:
        """Send it a command; no effect on one that has ended."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(command).encode() + b"\n")
            self._process.stdin.flush()

    def wait_until_ready(self) -> None:
        """Wait until its first requests are prepared.

        Raises:
            StudyInterruptedError: It ended, or did not become ready in time.
        """
        assert self._process.stdout is not None
        readable, _, _ = select.select([self._process.stdout], [], [], _START_LIMIT_S)
        if not readable or not self._process.stdout.readline():
            raise self.failure()

    def wait(self, timeout_s: float) -> None:
        """Wait until it ends, `timeout_s` at most."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_s)

    def failure(self) -> StudyInterruptedError:
        """Return the error for a process that ended before all of its calls had ended."""
        self.wait(_END_LIMIT_S)
        self._errors.seek(0)
        error_lines = self._errors.read()[-_ERROR_BYTES:].decode("utf-8", "replace").strip().splitlines()
        code = self._process.returncode
        how = "did not become ready" if code is None else f"was ended by signal {-code}" if code < 0 else "failed"
        return StudyInterruptedError(
            f"A process of the load engine {how}",
            on=error_lines[-1] if error_lines else f"process {self.pid}",
            try_="run the same step again: what was measured is stored, and only calls that were never sent are made",
        )

    def close(self) -> None:
        """End it if it is still running."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self.wait(_END_LIMIT_S)
        if self.is_alive:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._errors.close()
