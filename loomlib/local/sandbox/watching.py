"""Checks the processes and the working folders of sessions once a second, and reports sessions that reach a limit."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .cgroups import Cgroups
from .limits import Limits

_EVERY_S = 1.0
_FOLDER_SHARE = 0.02  # of the time may be spent on adding up one session's files
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(slots=True)
class _Watched:
    leader: int
    folders: Sequence[Path]
    limits: Limits
    on_reached: Callable[[str], None]
    next_walk_s: float = 0.0
    reported: set[str] = field(default_factory=set[str])


class Watch:
    """The watch over all sessions of a pool; it runs while there are any.

    Args:
        cgroups: The groups in which the kernel enforces some of the limits.
    """

    def __init__(self, cgroups: Cgroups) -> None:
        self._cgroups = cgroups
        self._watched: dict[str, _Watched] = {}
        self._task: asyncio.Task[None] | None = None

    def add(
        self, mark: str, leader: int, folders: Sequence[Path], limits: Limits, on_reached: Callable[[str], None]
    ) -> None:
        """Watch a session.

        Args:
            mark: The session's mark.
            leader: Its first process, from which all others descend.
            folders: Its working folder, and its storage.
            limits: Its limits.
            on_reached: Called on the event loop with the name of a limit, once for each.
        """
        self._watched[mark] = _Watched(leader, folders, limits, on_reached)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    def remove(self, mark: str) -> None:
        """Stop watching a session that has ended."""
        self._watched.pop(mark, None)

    def close(self) -> None:
        """Stop watching all sessions."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(_EVERY_S)
            for mark, watched in list(self._watched.items()):
                for name in await asyncio.to_thread(self._look, mark, watched):
                    if name not in watched.reported and mark in self._watched:
                        watched.reported.add(name)
                        watched.on_reached(name)

    def _look(self, mark: str, watched: _Watched) -> list[str]:
        limits, names = watched.limits, list[str]()
        if limit_name := self._cgroups.reached(mark):
            names.append(limit_name)
        pids = list(descendants(watched.leader))
        # Where setrlimit(2) keeps the limit, the count stops there: forks fail, and the session would try for ever.
        if limits.processes is not None and sum(map(_threads, pids)) >= limits.processes:
            names.append("processes")
        if limits.memory is not None and "memory" not in self._cgroups.resources and _exceeds(pids, limits.memory):
            names.append("memory")
        if limits.open_files is not None and any(_open_files(pid) >= limits.open_files for pid in pids):
            names.append("open_files")
        began_s = time.monotonic()
        if limits.storage is not None and began_s >= watched.next_walk_s:
            if any(_folder_bytes(folder, limits.storage) > limits.storage for folder in watched.folders):
                names.append("storage")
            watched.next_walk_s = began_s + (time.monotonic() - began_s) / _FOLDER_SHARE
        return names


def descendants(pid: int) -> Iterator[int]:
    """Yield a process's pid and those of its descendants; those that are orphaned belong to their new parent."""
    waiting = [pid]
    while waiting:
        pid = waiting.pop()
        yield pid
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{pid}/task"):
                waiting += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text("ascii").split())


def _exceeds(pids: list[int], memory: int) -> bool:
    # The quick figure counts memory that forks share once for each; the exact one takes milliseconds.
    return sum(map(_own_bytes, pids)) > memory and sum(map(_proportional_bytes, pids)) > memory


def _own_bytes(pid: int) -> int:
    """Return the resident memory that a process does not share; 0 when it has ended."""
    try:
        _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text("ascii").split()
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * _PAGE_BYTES


def _proportional_bytes(pid: int) -> int:
    """Return the resident memory of a process, with its part of what it shares (PSS)."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1_024
    except (OSError, ValueError):
        pass
    return _own_bytes(pid)


def _threads(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return 0


def _open_files(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def _folder_bytes(folder: Path, enough: int) -> int:
    """Return the size of a folder's files in bytes, or any figure above `enough` as soon as it is exceeded.

    It is exceeded as well by a path that is too long for the system, below which files cannot be counted.
    """
    total, folders, inodes = 0, [os.fspath(folder)], set[int]()
    while folders and total <= enough:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                        continue
                    status = entry.stat(follow_symlinks=False)
                    if status.st_nlink == 1 or status.st_ino not in inodes:
                        total += status.st_blocks * 512
                        inodes.add(status.st_ino) if status.st_nlink > 1 else None
        except OSError as failure:
            if failure.errno == errno.ENAMETOOLONG:
                return enough + 1
    return total
