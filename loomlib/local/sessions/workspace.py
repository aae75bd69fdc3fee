"""A session's own folder and the record of its process, and the sweep of those a former life left behind."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
from pathlib import Path

from .processes import kill_marked, signal_group, start_ticks

SMALL_FILES = 200
SMALL_BYTES = 8 * 1024 * 1024
"""A package within both limits is copied whole; of a larger one, folders are linked and only files are copied."""


def make_workspace(sessions: Path, mark: str, code: Path) -> Path:
    """A fresh folder `sessions/<mark>` with the package in it, so that an agent may write beside its code."""
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
    """Remove the folder and the record; a file that cannot be removed is left to the next sweep."""
    folder = sessions / mark
    shutil.rmtree(folder, ignore_errors=True)
    if not folder.exists():
        record_path(sessions, mark).unlink(missing_ok=True)


def record_path(sessions: Path, mark: str) -> Path:
    return sessions / f"{mark}.json"


def write_record(sessions: Path, mark: str, pid: int) -> None:
    """Note the process on disk, so that a later service can end it should this one die first."""
    record_path(sessions, mark).write_text(json.dumps({"pid": pid, "start_ticks": start_ticks(pid)}), "ascii")


def sweep_leftovers(sessions: Path) -> int:
    """End every process and remove every folder a former service left here; how many sessions that were.

    A pid counts only with its start time: the number alone may belong to somebody else by now.
    """
    if not sessions.is_dir():
        return 0
    entries = list(sessions.iterdir())
    marks = {entry.name.removesuffix(".json") for entry in entries}
    for mark in marks:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            record = json.loads(record_path(sessions, mark).read_text("ascii"))
            pid, ticks = int(record["pid"]), int(record["start_ticks"])
            if ticks and start_ticks(pid) == ticks:
                signal_group(pid, signal.SIGKILL)
    kill_marked(marks)
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
