"""The process: it reads the request form, the secrets and the start from standard input, and ends with its parent.

Its input is one JSON object per line: first `{"form", "secrets", "journal", "plan", "base_ns"}`, to which it replies
`ready`, then `{"start": origin_ns}`, any number of `{"secrets"}`, `{"stop": true}` and `{"cancel": true}`. The process
exits as soon as its input ends.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any, Final

from .form import RequestForm
from .journal import JournalWriter
from .plan import Plan
from .requests import Secrets, request_maker
from .schedule import Schedule

_PR_SET_PDEATHSIG: Final = 1
_GARBAGE_AFTER: Final = 20_000


class _Input(asyncio.Protocol):
    """The parent's commands."""

    def __init__(self, process: _Process) -> None:
        self._process, self._rest = process, b""

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._process.obey(json.loads(line))

    def connection_lost(self, exc: Exception | None) -> None:
        os._exit(1)  # the parent has ended; calls in flight stay in the journal without an end


class _Process:
    def __init__(self, loop: asyncio.AbstractEventLoop, begin: dict[str, Any]) -> None:
        self._loop = loop
        self._maker = request_maker(form := RequestForm(**begin["form"]), Secrets(**begin["secrets"]))
        self._journal = JournalWriter(Path(begin["journal"]))
        self._schedule = Schedule(
            loop,
            Plan(begin["plan"], begin["base_ns"]),
            form=form,
            maker=self._maker,
            journal=self._journal,
            on_done=self._end,
        )
        self._cpu_ns = 0
        self.done = loop.create_future()

    def obey(self, command: dict[str, Any]) -> None:
        """Carry out a command of the parent."""
        if "secrets" in command:
            self._maker.renew(Secrets(**command["secrets"]))
        elif "start" in command:
            self._cpu_ns = time.process_time_ns()
            self._schedule.start(command["start"])
        elif "stop" in command:
            self._schedule.stop()
        elif "cancel" in command:
            self._schedule.cancel()

    def _end(self) -> None:
        if self.done.done():
            return
        self._journal.used(time.process_time_ns() - self._cpu_ns, _largest_kb())
        self._journal.close()
        self._schedule.close()
        self.done.set_result(None)


def _largest_kb() -> int:
    """Return the largest resident set of this process; getrusage's would include its parent's, from before `exec`."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(status.partition("VmHWM:")[2].split(maxsplit=1)[0])


def _end_with(parent: int) -> None:
    """Make the kernel end this process with its parent (Linux only); elsewhere the end of its input does so."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it ended before the call
            os._exit(1)


async def _run(begin: dict[str, Any]) -> None:
    loop = asyncio.get_running_loop()
    process = _Process(loop, begin)
    # No object created until now becomes garbage, and a call leaves no cycles: a collection in the middle of a
    # measurement would only delay stamps.
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GARBAGE_AFTER, 50, 1000)
    await loop.connect_read_pipe(lambda: _Input(process), sys.stdin.buffer)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await process.done


def main() -> None:
    """Run the calls of the plan that standard input names."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles an interrupt of the notebook
    begin: dict[str, Any] = json.loads(_first_line())
    _end_with(begin["parent"])
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard) if hard > soft else (soft, hard))
    asyncio.run(_run(begin))
    os._exit(0)


def _first_line() -> bytes:
    """Read one line without reading ahead: the rest of the input is the event loop's."""
    line = bytearray()
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            os._exit(1)
        line += byte
    return bytes(line)


if __name__ == "__main__":
    main()
