"""Open descriptors of a process that is forked for each session: which are shared, renewed, or prevent a fork.

A descriptor of a forked process is the same open file as in the process that it was forked from: two sessions would
share its offset, its bytes and its connection. Files are opened again; connections are closed, as after a restore on
AWS; a descriptor that cannot be opened again prevents a snapshot.
"""

from __future__ import annotations

import asyncio
import os
import selectors
import socket
import stat
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

_REOPEN_FLAGS = os.O_ACCMODE | os.O_APPEND | os.O_NONBLOCK | os.O_DSYNC | os.O_NOATIME | os.O_DIRECTORY
_MAPPED = "s"  # the fourth character of a mapping's permissions: shared with other processes


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A file or folder to open again."""

    descriptor: int
    identity: tuple[int, int]
    path: str
    flags: int
    offset: int
    inheritable: bool


@dataclass(frozen=True, slots=True)
class DescriptorPlan:
    """The treatment of the descriptors in a forked process, and the reasons that prevent a fork."""

    files: tuple[OpenFile, ...]
    connections: tuple[tuple[int, tuple[int, int]], ...]
    obstacles: tuple[str, ...]


def examine(own: Collection[int]) -> DescriptorPlan:
    """Return the treatment of this process's descriptors, except Loom's `own` ones."""
    files: list[OpenFile] = []
    connections: list[tuple[int, tuple[int, int]]] = []
    obstacles: list[str] = []
    for name in os.listdir("/proc/self/fd"):
        descriptor = int(name)
        if descriptor in own:
            continue
        try:
            status, target = os.fstat(descriptor), os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue  # the one that lists this folder
        if stat.S_ISCHR(status.st_mode):
            continue
        if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
            if _is_at(target, status):
                files.append(_open_file(descriptor, _identity(status), target))
            else:
                obstacles.append(f"an open file without a name ({target})")
        elif stat.S_ISSOCK(status.st_mode):
            if obstacle := _examine_socket(descriptor):
                obstacles.append(obstacle)
            else:
                connections.append((descriptor, _identity(status)))
        elif stat.S_ISFIFO(status.st_mode):
            obstacles.append("an open pipe")
        else:
            obstacles.append(f"an open {target.removeprefix('anon_inode:').strip('[]')} descriptor")
    return DescriptorPlan(tuple(files), tuple(connections), (*obstacles, *_mapped_files()))


def renew(plan: DescriptorPlan, folder: str, own_folder: str) -> None:
    """Open the files of a forked process again, and close its connections.

    Args:
        plan: The result of `examine`.
        folder: The working folder of the process that was forked.
        own_folder: The same folder of this process.
    """
    for file in plan.files:
        if not _is_still(file.descriptor, file.identity):
            continue
        path = file.path
        if path == folder or path.startswith(folder + "/"):
            path = own_folder + path[len(folder) :]
        opened = os.open(path, file.flags)
        if file.offset and not file.flags & os.O_DIRECTORY:
            os.lseek(opened, file.offset, os.SEEK_SET)
        os.dup2(opened, file.descriptor, inheritable=file.inheritable)
        os.close(opened)
    for descriptor, identity in plan.connections:
        if _is_still(descriptor, identity):
            closed, other = socket.socketpair()
            other.close()
            os.dup2(closed.fileno(), descriptor, inheritable=False)
            closed.close()


def loop_descriptors(loop: Any) -> set[int]:
    """Return the descriptors of an event loop itself."""
    return {loop._selector.fileno(), loop._ssock.fileno(), loop._csock.fileno()}


def renew_loop(loop: Any, dropped: int) -> None:
    """Give a forked process's event loop its own selector and wake-up socket, without the reader of `dropped`."""
    reading, writing = socket.socketpair()
    for loop_socket, new_socket in ((loop._ssock, reading), (loop._csock, writing)):
        new_socket.setblocking(False)
        os.dup2(new_socket.fileno(), loop_socket.fileno(), inheritable=False)
        new_socket.close()
    former = loop._selector
    renewed = selectors.DefaultSelector()
    for key in list(former.get_map().values()):
        if key.fd != dropped:
            renewed.register(key.fd, key.events, key.data)
    former.close()
    loop._selector = renewed
    # The running loop is identified by the process id.
    asyncio.set_event_loop(loop)
    asyncio._set_running_loop(loop)


def _is_at(target: str, status: os.stat_result) -> bool:
    try:
        target_status = os.stat(target)
    except OSError:
        return False
    return _identity(target_status) == _identity(status)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _is_still(descriptor: int, identity: tuple[int, int]) -> bool:
    """Return whether a descriptor is what it was: a thread that ended with the fork may have closed it before."""
    try:
        return _identity(os.fstat(descriptor)) == identity
    except OSError:
        return False


def _open_file(descriptor: int, identity: tuple[int, int], path: str) -> OpenFile:
    with open(f"/proc/self/fdinfo/{descriptor}", encoding="ascii") as file:
        values = dict(line.split(None, 1) for line in file if line.count(":") == 1)
    flags = int(values["flags:"], 8)
    return OpenFile(
        descriptor,
        identity,
        path,
        (flags & _REOPEN_FLAGS) | os.O_CLOEXEC,
        int(values["pos:"]),
        not flags & os.O_CLOEXEC,
    )


def _examine_socket(descriptor: int) -> str:
    """Return why a socket prevents a fork; empty for a connection, which can be closed."""
    with socket.socket(fileno=os.dup(descriptor)) as copy:
        if copy.family not in (socket.AF_INET, socket.AF_INET6):
            return "an open Unix socket" if copy.family == socket.AF_UNIX else "an open socket"
        if copy.type == socket.SOCK_STREAM and copy.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            return f"a server of its own at port {copy.getsockname()[1]}"
    return ""


def _mapped_files() -> list[str]:
    """Return the files that are mapped into memory for writing, which a child would share with its parent."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        rows = [line.split(None, 5) for line in maps]
    return [
        f"a file that is mapped for writing ({row[5].strip()})"
        for row in rows
        if len(row) == 6 and row[1][1] == "w" and row[1][3] == _MAPPED and row[5].startswith("/")
    ]
