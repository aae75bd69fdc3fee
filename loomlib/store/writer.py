"""The process that wrote a row, and whether it still runs, to distinguish abandoned rows from slow ones."""

from __future__ import annotations

import functools
import os
import socket
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """A process. `born` distinguishes it from a later process with the same id (empty if unavailable).

    On Linux it is the boot id, the PID namespace (containers can share a host name) and the clock tick of the process's
    start, joined by hyphens.
    """

    host: str
    pid: int
    born: str


def this_process() -> Writer:
    """Return the calling process, also right after a fork."""
    return _identify(os.getpid())


def is_alive(writer: Writer) -> bool | None:
    """Return whether `writer` still runs; None when it is on another host or in another container."""
    if writer.host != _host():
        return None
    me = this_process()
    if writer.pid == me.pid and writer.born in ("", me.born):
        return True
    (boot, _, namespace), (my_boot, _, my_namespace) = (
        process.born.rpartition("-")[0].partition("-") for process in (writer, me)
    )
    if boot and my_boot and boot != my_boot:
        return False
    if namespace and my_namespace and namespace != my_namespace:
        return None
    try:
        os.kill(writer.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    born = _born(writer.pid)
    return born != "dead" and (not writer.born or not born or born == writer.born)


@functools.lru_cache(maxsize=2)
def _identify(pid: int) -> Writer:
    return Writer(host=_host(), pid=pid, born=_born(pid))


@functools.lru_cache(maxsize=1)
def _host() -> str:
    return socket.gethostname()


def _born(pid: int) -> str:
    """Return `Writer.born` of a process from proc(5); "dead" for a zombie, "" without /proc."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text("ascii", errors="replace").rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii")[:8]
        namespace = os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return ""
    return "dead" if after_name[0] in "ZX" else f"{boot}-{namespace}-{after_name[19]}"
