"""Find, measure and end processes by group, mark and start time, with `/proc` and signals."""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Collection
from pathlib import Path

from .environment import MARK

_PROC = Path("/proc")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def start_ticks(pid: int) -> int:
    """Return a process's start time in clock ticks since boot, which identifies a reused pid; 0 when unknown."""
    try:
        text = (_PROC / str(pid) / "stat").read_text("utf-8", "replace")
    except OSError:
        return 0
    return int(text.rpartition(")")[2].split()[19])


def resident_bytes(pid: int) -> int:
    """Return the resident memory of a process in bytes; 0 when unknown (no `/proc`, or it has ended)."""
    try:
        return int((_PROC / str(pid) / "statm").read_text("ascii").split()[1]) * _PAGE_BYTES
    except (OSError, IndexError):
        return 0


def marked_processes(marks: Collection[str]) -> list[int]:
    """Return the pids of processes whose environment has one of the session marks; none without `/proc`."""
    markers = {f"{MARK}={mark}".encode() for mark in marks}
    pids: list[int] = []
    try:
        names = [entry.name for entry in os.scandir(_PROC) if entry.name.isdigit()]
    except OSError:
        return pids
    for name in names:
        with contextlib.suppress(OSError):
            if not markers.isdisjoint((_PROC / name / "environ").read_bytes().split(b"\0")):
                pids.append(int(name))
    return pids


def parent_of(pid: int) -> int:
    """Return the parent's pid; 0 when unknown."""
    try:
        return int((_PROC / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return 0


def group_of(pid: int) -> int:
    """Return the process group of a process; the pid itself when it has ended."""
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return pid


def wait_readable(descriptor: int, *, within_s: float) -> bool:
    """Return whether a descriptor can be read, or its other end was closed, within `within_s` seconds.

    poll(2) has no bound on the descriptor's number; select(2) fails from 1,024 on.
    """
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(within_s * 1000))


def wait_for_end(pid: int, *, within_s: float) -> None:
    """Block until a process that is not a child of this one has ended, at most `within_s` seconds."""
    try:
        descriptor = os.pidfd_open(pid)
    except (AttributeError, OSError):
        return
    try:
        wait_readable(descriptor, within_s=within_s)
    finally:
        os.close(descriptor)


def signal_process(pid: int, number: signal.Signals) -> None:
    """Signal one process, if it still exists."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def signal_group(pid: int, number: signal.Signals) -> None:
    """Signal the process group that `pid` leads, if it still exists."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def kill_marked(marks: Collection[str]) -> None:
    """Kill every process with one of the marks, such as an MCP server in a process group of its own.

    The search is repeated until it finds none, because a process may fork between being listed and being killed.
    """
    for _ in range(5):
        pids = marked_processes(marks)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not pids:
            return
