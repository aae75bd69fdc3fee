"""A learner's progress, stored in the learner's home folder: one file per lesson."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, cast

FOLDER = "workshop"
"""The subfolder of a home folder for the progress and for the agents that are written in the lessons."""
_MOST_BYTES: Final = 1_000_000
"""Largest size in bytes of a progress file that is read; those that Loom writes are below 1 KB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """Progress with one exercise: whether it is solved, and the numbers of attempts and hints."""

    right: bool = False
    tries: int = 0
    hints: int = 0


class LessonProgress:
    """A learner's progress in one lesson. Without a `file`, it is kept only in memory."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._results: dict[str, Done] = {} if file is None else read_progress(file)

    def of(self, id: str) -> Done:
        """Return the progress with an exercise."""
        return self._results.get(id, Done())

    def tried(self, id: str, *, right: bool) -> None:
        """Count an attempt. A solved exercise stays solved, because cells may run again."""
        before = self.of(id)
        self._keep(id, replace(before, right=before.right or right, tries=before.tries + 1))

    def hinted(self, id: str) -> int:
        """Count a hint and return the number of hints so far."""
        before = self.of(id)
        self._keep(id, replace(before, hints=before.hints + 1))
        return before.hints + 1

    def _keep(self, id: str, result: Done) -> None:
        self._results[id] = result
        if self._file is None:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        # The file is replaced atomically, so that it stays complete if the kernel is killed here.
        temporary = self._file.with_name(f"{self._file.name}.{os.getpid()}")
        temporary.write_text(json.dumps({name: asdict(result) for name, result in self._results.items()}, indent=2))
        temporary.replace(self._file)


def progress_file(home: Path, lesson: int) -> Path:
    """Return the file of a lesson's progress."""
    return home / FOLDER / f"lesson_{lesson}.json"


def read_progress(file: Path) -> dict[str, Done]:
    """Read a progress file; a missing or unreadable file means that the lesson was not started.

    Learners can write anything to it, and a teacher reads those of all learners.
    """
    try:
        if not file.is_file() or file.stat().st_size > _MOST_BYTES:  # reading a named pipe would not return
            return {}
        content: object = json.loads(file.read_text())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(content, dict):
        return {}
    progress: dict[str, Done] = {}
    for id, entry in cast("dict[str, Any]", content).items():
        if isinstance(entry, dict):
            fields = cast("dict[str, Any]", entry)
            progress[id] = Done(
                right=fields.get("right") is True, tries=_count(fields.get("tries")), hints=_count(fields.get("hints"))
            )
    return progress


def _count(value: object) -> int:
    return value if isinstance(value, int) and value >= 0 else 0
