"""Learners' home folders, for teachers: the progress of all learners, and a reset for the next group."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .lesson import TITLES
from .progress import FOLDER, progress_file, read_progress

_DATABASES: Final = (
    "loom.db",
    "logs.db",
    "memory.db",
    "resources.db",
    "runtimes.db",
    "telemetry.db",
    "memory-records.sqlite",
    "knowledge.db",
)
_ENDINGS: Final = ("", "-wal", "-shm", "-journal", ".corrupt-*", ".recovering*", ".damaged*")
"""Suffixes of the files of a database: itself, its journals, damaged copies, and incomplete recoveries."""
OWN: Final = (
    *(f"{name}{ending}" for name in _DATABASES for ending in _ENDINGS),
    "service.json*", "service.log*", "service.lock", "start.lock", "runtimes", "sessions", "environments",
    "aws-names", "identity", "identity.key*", "session-tenants.jsonl", "images", "functions", "browser-profiles",
    "deployments", "shadow", "load-tests", "history", "loom_lab", FOLDER,
)  # fmt: skip
"""Names of Loom's own files in a home folder. Other files belong to the learner and are kept."""
_CONTENTS: Final = {"functions": "*/package.zip", "history": "loom-history.json"}
"""Folders that a learner could have created under the same name: they are Loom's only if they contain such a file."""
_SIGNS: Final = ("loom.db", "service.lock")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleared:
    """The result of a reset: names of deleted files, and of other files that were kept."""

    home: Path
    deleted: tuple[str, ...]
    kept: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnerProgress:
    """One learner's progress: solved exercises by lesson, and exercises that were tried without success."""

    home: Path
    right: dict[int, int]
    stuck: tuple[str, ...]


def learner_homes(folder: Path) -> list[Path]:
    """Return the Loom home folders below a folder: its subfolders, or `.loom` in them.

    Symbolic links are left out: a learner's link could lead to the files of somebody else.
    """
    homes: list[Path] = []
    for entry in sorted(folder.iterdir()):
        if entry.is_dir() and not entry.is_symlink():
            homes += [home for home in (entry, entry / ".loom") if not home.is_symlink() and is_home(home)]
    return homes


def is_home(folder: Path) -> bool:
    """Return whether a folder is a Loom home folder. A subfolder named `workshop` alone is not sufficient."""
    signs = [*(folder / sign for sign in _SIGNS), *(progress_file(folder, number) for number in TITLES)]
    return any(sign.is_file() for sign in signs)


def clear_home(home: Path) -> Cleared:
    """Delete the agents, sessions, measurements, memories and progress of a home whose service has ended.

    Measurements include their export to `history`, whose ids the next learner's invocations would have again.

    This cannot be undone. Symbolic links are removed, never followed.
    """
    own = {path for pattern in OWN for path in home.glob(pattern) if _is_own(path)}
    for path in own:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    remaining = [path.name for path in home.iterdir()] if home.is_dir() else []
    return Cleared(home=home, deleted=tuple(sorted(path.name for path in own)), kept=tuple(sorted(remaining)))


def _is_own(path: Path) -> bool:
    content = _CONTENTS.get(path.name)
    return content is None or any(path.glob(content))


def standing(home: Path) -> LearnerProgress:
    """Return a learner's progress from their home folder."""
    progress = {number: read_progress(progress_file(home, number)) for number in TITLES}
    return LearnerProgress(
        home=home,
        right={number: sum(result.right for result in lesson.values()) for number, lesson in progress.items()},
        stuck=tuple(
            id
            for lesson in progress.values()
            for id, result in sorted(lesson.items())
            if result.tries and not result.right
        ),
    )
