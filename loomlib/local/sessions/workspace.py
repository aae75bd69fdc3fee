"""A session's working folder and process record, and the removal of those of an earlier service."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
from collections.abc import Iterable
from pathlib import Path

from ..sandbox.removal import remove_tree
from ..sandbox.users import end_leftovers
from .processes import kill_marked, signal_group, start_ticks

SMALL_FILES = 200
SMALL_BYTES = 8 * 1024 * 1024
"""A package within both limits is copied; of a larger one top-level files are copied, and folders are linked."""


def make_workspace(sessions: Path, mark: str, code: Path) -> Path:
    """Create the folder `sessions/<mark>` with a copy of the package, so that an agent may write next to its code.

    Args:
        sessions: Folder of all sessions.
        mark: The session's mark.
        code: The extracted package.
    """
    folder = sessions / mark
    sessions.mkdir(parents=True, exist_ok=True)
    if _is_small(code):
        shutil.copytree(code, folder, symlinks=True)
        return folder
    folder.mkdir()
    for entry in os.scandir(code):
        target = folder / entry.name
        if entry.is_file() and entry.stat().st_size <= SMALL_BYTES:
            shutil.copy2(entry.path, target)
        else:
            target.symlink_to(entry.path)
    return folder


def remove_workspace(sessions: Path, mark: str) -> None:
    """Remove a session's folder and record; leftovers are removed by the next sweep."""
    folder = sessions / mark
    remove_tree(folder)
    if not folder.exists():
        record_path(sessions, mark).unlink(missing_ok=True)


def record_path(sessions: Path, mark: str) -> Path:
    """Return the file with a session's process id."""
    return sessions / f"{mark}.json"


def write_record(sessions: Path, mark: str, pid: int, user: int = 0) -> None:
    """Write a session's process id to disk, so that a later service can end it if this one is killed.

    Args:
        sessions: The folder of the sessions.
        mark: The mark of the session's process, which is the file's name.
        pid: The process id.
        user: Its user id, if all processes of that id are the session's.
    """
    record = {"pid": pid, "start_ticks": start_ticks(pid), "user": user}
    record_path(sessions, mark).write_text(json.dumps(record), "ascii")


def sweep_leftovers(sessions: Path, names: Iterable[str] | None = None) -> int:
    """End the processes and remove the folders of an earlier service; return the number of sessions.

    A pid is trusted only together with its start time, because it may have been reused.

    Args:
        sessions: Folder of all sessions.
        names: Files and folders of the earlier service; all that the folder contains by default.
    """
    if not sessions.is_dir():
        return 0
    marks = {name.removesuffix(".json") for name in (os.listdir(sessions) if names is None else names)}
    users: set[int] = set()
    for mark in marks:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            record = json.loads(record_path(sessions, mark).read_text("ascii"))
            pid, ticks = int(record["pid"]), int(record["start_ticks"])
            if ticks and start_ticks(pid) == ticks:
                signal_group(pid, signal.SIGKILL)
            users.add(int(record["user"]))
    kill_marked(marks)
    for user in users:
        end_leftovers(user)
    for mark in marks:
        remove_workspace(sessions, mark)
    return len(marks)


def _is_small(folder: Path) -> bool:
    files = size = 0
    pending = [os.fspath(folder)]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                    continue
                files += 1
                size += entry.stat(follow_symlinks=False).st_size
                if files > SMALL_FILES or size > SMALL_BYTES:
                    return False
    return True
