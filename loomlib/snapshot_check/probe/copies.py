"""Copies of the process, as a snapshot that is restored several times makes them."""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import time
from collections.abc import Callable
from typing import Any

_WITHIN_S = 10.0


def restore(examine: Callable[[], Any], *, with_hooks: bool) -> Any:
    """Copy the process, run `examine` in the copy, and return its JSON value, or None when the copy fails.

    Args:
        examine: What the copy does; it must not depend on other threads.
        with_hooks: Whether the interpreter's fork hooks run. A microVM that is restored runs none; among them is the
            one by which `random` seeds itself again.
    """
    reader, writer = os.pipe()
    pid = os.fork() if with_hooks else _fork_without_hooks()
    if pid == 0:
        code = 1
        try:
            os.write(writer, json.dumps(examine()).encode()[:60_000])
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    try:
        return _read(reader)
    finally:
        os.close(reader)
        for number in (signal.SIGKILL,):
            try:
                os.kill(pid, number)
                os.waitpid(pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass


def _fork_without_hooks() -> int:
    """Call fork(2) as C does; the interpreter is not informed, and only this thread is left in the copy."""
    return int(ctypes.PyDLL(None).fork())


def _read(reader: int) -> Any:
    data, deadline = b"", time.monotonic() + _WITHIN_S
    while (remaining_s := deadline - time.monotonic()) > 0:
        if not select.select([reader], [], [], remaining_s)[0]:
            break
        part = os.read(reader, 65_536)
        if not part:
            break
        data += part
    try:
        return json.loads(data)
    except ValueError:
        return None
