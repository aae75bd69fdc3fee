"""Finding, measuring and ending processes by group, by mark and by start time; only `/proc` and signals."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Collection
from pathlib import Path

from .environment import MARK

_PROC = Path("/proc")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def start_ticks(pid: int) -> int:
    """When the process started, in the kernel's clock ticks since boot; 0 when unknown. Tells a reused pid apart."""
    try:
        text = (_PROC / str(pid) / "stat").read_text("utf-8", "replace")
    except OSError:
        return 0
    return int(text.rpartition(")")[2].split()[19])


def resident_bytes(pid: int) -> int:
    """Resident memory of the process; 0 when unknown (no `/proc`, or it has ended)."""
    try:
        return int((_PROC / str(pid) / "statm").read_text("ascii").split()[1]) * _PAGE_BYTES
    except (OSError, IndexError):
        return 0


def marked_processes(marks: Collection[str]) -> list[int]:
    """Every process whose environment carries one of the session marks; none where there is no `/proc`."""
    wanted = {f"{MARK}={mark}".encode() for mark in marks}
    found: list[int] = []
    try:
        names = [entry.name for entry in os.scandir(_PROC) if entry.name.isdigit()]
    except OSError:
        return found
    for name in names:
        with contextlib.suppress(OSError):
            if not wanted.isdisjoint((_PROC / name / "environ").read_bytes().split(b"\0")):
                found.append(int(name))
    return found


def signal_group(pid: int, number: signal.Signals) -> None:
    """Signal the process group that `pid` leads; nothing when it is gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def kill_marked(marks: Collection[str]) -> None:
    """Kill whatever carries one of the marks: an MCP server in a process group of its own, say.

    Looks again until nothing is found, since a process may fork between being listed and being killed.
    """
    for _ in range(5):
        found = marked_processes(marks)
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            return
