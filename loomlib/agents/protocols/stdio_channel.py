"""JSON-RPC through the stdin and stdout of a process: one message a line (MCP's stdio transport)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from loomlib.errors import LoomError, PeerClosedError
from loomlib.json_values import as_list, mapping_or_none
from loomlib.presentation.formats import number

from .channels import OnClosed, OnMessage
from .measured_call import MeasuredCall

_INHERITED: Final = (
    "HOME",
    "LANG",
    "LC_ALL",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
)
"""Variables that a server inherits. Others, such as AWS keys, have to be passed by name."""

_LINE_LIMIT: Final = 64 * 2**20
_END_S: Final = 2.0
"""How long a server may take to end after its stdin is closed, and again after SIGTERM (MCP, transports, stdio)."""


class StdioChannel:
    """A server process; it starts with `open` and ends with `close`.

    Args:
        command: The program and its arguments.
        environment: Variables beside the inherited ones.
        folder: The working directory; this process's by default.
        name: The server's name in errors.

    Attributes:
        answers_in_send: False: responses arrive on one stream for all requests.
        log: The last 200 lines of the server's stderr.
    """

    answers_in_send = False

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        folder: str | Path | None = None,
        name: str,
    ) -> None:
        self._command, self._environment, self._folder, self._name = list(command), environment, folder, name
        self._process: asyncio.subprocess.Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._writing = asyncio.Lock()
        self._closing = False
        self.log: deque[str] = deque(maxlen=200)

    async def open(self, on_message: OnMessage, on_closed: OnClosed) -> None:
        """Start the process.

        Raises:
            PeerClosedError: The program cannot be started.
        """
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        try:
            self._process = process = await asyncio.create_subprocess_exec(
                _program(self._command[0]),
                *self._command[1:],
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={**inherited, **(self._environment or {})},
                cwd=self._folder,
                limit=_LINE_LIMIT,
                start_new_session=True,  # Ctrl-C in the notebook's terminal is not for the server
            )
        except OSError as error:
            raise PeerClosedError(
                f"The server cannot be started: {error.strerror or error}",
                on=self._command[0],
                try_='the full path of the program, as in bench.tools.mcp(["/usr/bin/node", "server.js"])',
            ) from error
        self._tasks = [
            asyncio.create_task(self._read(process, on_message, on_closed)),
            asyncio.create_task(self._read_log(process)),
        ]

    async def send(self, message: Mapping[str, Any], call: MeasuredCall | None) -> None:
        """Write a message."""
        process = self._process
        if process is None or process.stdin is None or process.stdin.is_closing():
            raise self._ended()
        data = json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
        async with self._writing:
            if call is not None:
                call.record_sent(message, time.perf_counter_ns(), len(data))
            try:
                process.stdin.write(data)
                await process.stdin.drain()
            except (BrokenPipeError, ConnectionError) as error:
                raise self._ended() from error

    def listen(self) -> None:
        """Do nothing: everything arrives on stdout."""

    async def close(self) -> None:
        """End the process: close its stdin, then SIGTERM, then SIGKILL, two seconds apart."""
        process, self._process, self._closing = self._process, None, True
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        for end in (None, signal.SIGTERM, signal.SIGKILL):
            if end is not None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, end)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), _END_S)
                break
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _read(self, process: asyncio.subprocess.Process, on_message: OnMessage, on_closed: OnClosed) -> None:
        assert process.stdout is not None
        error: LoomError | None = None
        while True:
            try:
                line = await process.stdout.readline()
            except ValueError:
                error = PeerClosedError(
                    f"A message is longer than {number(_LINE_LIMIT)} bytes",
                    on=self._name,
                    try_="return less, or a resource link",
                )
                break
            if not line:
                break
            at_ns = time.perf_counter_ns()
            try:
                value: object = json.loads(line)
            except (ValueError, RecursionError):  # a print() of the server; it belongs on stderr
                self.log.append(f"(stdout) {line.decode('utf-8', 'replace').rstrip()[:500]}")
                continue
            for one in as_list(value) or (value,):
                if (message := mapping_or_none(one)) is not None:
                    on_message(message, at_ns, len(line), None)
        if not self._closing:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), _END_S)
            on_closed(error or self._ended(process.returncode))

    async def _read_log(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        with contextlib.suppress(ValueError):
            while line := await process.stderr.readline():
                self.log.append(line.decode("utf-8", "replace").rstrip()[:2_000])

    def _ended(self, code: int | None = None) -> PeerClosedError:
        how = "" if code is None else f" with exit code {code}" if code >= 0 else f" by signal {-code}"
        last = next((line for line in reversed(self.log) if line.strip()), "")
        return PeerClosedError(
            f"The server ended{how}{f': {last[:300]}' if last else ''}",
            on=self._name,
            try_="mcp.log for its last lines on stderr, then open it again with bench.tools.mcp(…)",
        )


def _program(name: str) -> str:
    """Return the interpreter of this process for `python` where the search path has none."""
    return sys.executable if name in ("python", "python3") and shutil.which(name) is None else name
