"""The first process of a code interpreter's session: it starts the process for cells, and performs file operations.

Its arguments are those of `sessions/bootstrap.py`, whose lifeline, limits and shutdown it shares. The cells run in a
process of their own, so that a crash, or clearing the context, loses only their variables.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import sys
import time
from _thread import allocate_lock
from socket import socketpair
from typing import TYPE_CHECKING, Any, cast

FOLDER = os.path.dirname(os.path.abspath(__file__))

if TYPE_CHECKING or __name__ != "__main__":
    from ...sessions import work_channel
    from . import files
else:
    sys.path[:1] = [os.path.join(FOLDER, "..", "..", "sessions"), FOLDER]
    import files
    import work_channel

CELLS = os.path.join(FOLDER, "cells.py")
OUTPUT_BYTES = 1 << 20
"""The most bytes that are stored of a cell's stdout, and of its stderr. AWS documents no figure."""

_CELLS_FD = 3
_CHUNK_BYTES = 65_536
_SIGPIPE, _SIGXFSZ = 13, 25  # which Python ignores
_WAIT_ALL = 0x100  # MSG_WAITALL


class StreamOutput:
    """The output of one of the cells' streams, up to a limit."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.parts: list[bytes] = []
        self.size = 0
        os.set_blocking(descriptor, False)

    def read(self) -> bool:
        """Read some of the available output; return whether there was any."""
        try:
            part = os.read(self.descriptor, _CHUNK_BYTES)
        except BlockingIOError:
            return False
        if room := max(0, OUTPUT_BYTES - self.size):
            self.parts.append(part[:room])
        self.size += len(part)
        return bool(part)

    def take(self) -> str:
        """Return the text that was read, and reset the buffer."""
        text = b"".join(self.parts).decode("utf-8", "replace")
        self.parts, self.size = [], 0
        return text


class CellProcess:
    """The process that executes cells."""

    def __init__(self) -> None:
        self.channel, other = socketpair()
        stdout, stdout_end = os.pipe()
        stderr, stderr_end = os.pipe()
        environment = {**os.environ, "LOOM_CELLS": str(_CELLS_FD)}
        self.pid = os.posix_spawn(
            sys.executable,
            [sys.executable, CELLS],
            environment,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, stdout_end, 1),
                (os.POSIX_SPAWN_DUP2, stderr_end, 2),
                (os.POSIX_SPAWN_DUP2, other.fileno(), _CELLS_FD),
            ],
            setpgroup=0,
            setsigdef=(_SIGPIPE, _SIGXFSZ),
        )
        for descriptor in (stdout_end, stderr_end):
            os.close(descriptor)
        other.close()
        self.stdout, self.stderr = StreamOutput(stdout), StreamOutput(stderr)
        # A process that a cell has forked may keep the socket open when this one ends.
        self.exit = os.pidfd_open(self.pid) if hasattr(os, "pidfd_open") else -1

    def execute(self, code: str) -> dict[str, Any]:
        """Execute a cell; return its exit code and its output, or how the process ended."""
        request = json.dumps({"code": code}).encode()
        poll = select.poll()
        sources = {
            self.channel.fileno(): None,
            self.stdout.descriptor: self.stdout,
            self.stderr.descriptor: self.stderr,
        }
        for descriptor in (*sources, self.exit):
            if descriptor >= 0:
                poll.register(descriptor, select.POLLIN)
        answer: dict[str, Any] | None = None
        try:
            self.channel.sendall(len(request).to_bytes(8, "big") + request)
        except OSError:
            answer = {}
        while answer is None:
            for descriptor, _ in poll.poll():
                output = sources.get(descriptor)
                if output is None:
                    answer = self.receive() if descriptor == self.channel.fileno() else {}
                elif not output.read():  # closed by the cell
                    poll.unregister(descriptor)
        for output in (self.stdout, self.stderr):
            for _ in range(2 * OUTPUT_BYTES // _CHUNK_BYTES):  # a process may continue to write for ever
                if not output.read():
                    break
        result = {
            "exitCode": answer.get("exitCode"),
            "cut": [name for name in ("stdout", "stderr") if getattr(self, name).size > OUTPUT_BYTES],
            "stdout": self.stdout.take(),
            "stderr": self.stderr.take(),
        }
        if not isinstance(result["exitCode"], int):
            result["exitCode"] = self.end()
            result["ended"] = True
        return result

    def receive(self) -> dict[str, Any]:
        """Return the answer of the process; empty if it has ended or sent something else."""
        try:
            head = self.channel.recv(8, _WAIT_ALL)
            size = int.from_bytes(head, "big")
            answer: object = json.loads(self.channel.recv(size, _WAIT_ALL)) if 0 < size < 1_000 else None
        except (OSError, ValueError):
            return {}
        return cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}

    def end(self) -> int:
        """Kill the process with its group; return its exit code in the shell's convention."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, 9)
        _, status = os.waitpid(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        self.channel.close()
        for descriptor in (self.stdout.descriptor, self.stderr.descriptor, self.exit):
            if descriptor >= 0:
                os.close(descriptor)
        return 128 - code if code < 0 else code


class CellQueue:
    """The cells of a session, one at a time."""

    def __init__(self) -> None:
        self.turn = allocate_lock()
        self.process: CellProcess | None = CellProcess()

    def execute(self, request: dict[str, Any]) -> dict[str, Any]:
        """Execute a cell, in a new process if the context is to be cleared or the last one has ended."""
        with self.turn:
            if request["clear"] and self.process is not None:
                self.process.end()
                self.process = None
            if self.process is None:
                self.process = CellProcess()
            begun = time.monotonic()
            result = self.process.execute(request["code"])
            result["executionTime"] = time.monotonic() - begun
            if result.get("ended"):
                self.process = None
            return result


def main() -> None:
    """Prepare the session and serve it until the service ends it."""
    channel = work_channel.WorkChannel()
    cells = CellQueue()
    channel.follow(lambda name, request: cells.execute(request) if name == "cell" else files.answer(name, request))
    while True:
        time.sleep(3_600)


if __name__ == "__main__":
    main()
