"""Setting a damaged file aside: it is renamed, never deleted, and stays until its user removes it."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

_log = logging.getLogger(__name__)
_MARK: Final = ".corrupt-"
_FOLDERS: Final = ("", "identity/", "runtimes/*/*/")
"""Folders of a home whose files are set aside when they are damaged."""

_NAME: Final = re.compile(r"(?P<name>.+)\.corrupt-(?P<time>\d{8}T\d{6}Z)(-\d+)?\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedFile:
    """A damaged file that was set aside.

    Attributes:
        file: Its former name.
        aside: Its present name.
        at: When it was set aside.
        reason: What was found to be wrong; empty if it is read from the folder afterwards.
        recovered: What was recovered from it into the new file, such as "120 rows of 3 tables"; empty for nothing.
    """

    file: Path
    aside: Path
    at: datetime
    reason: str = ""
    recovered: str = ""

    def __str__(self) -> str:
        outcome = (
            f"{self.recovered} recovered into a new file" if self.recovered else "nothing could be recovered from it"
        )
        return f"{self.file} was damaged ({self.reason}); it was set aside as {self.aside.name}, {outcome}"


def set_aside(file: Path, reason: str) -> DamagedFile:
    """Rename a damaged file to `NAME.corrupt-<time>`, log an error that names both, and return what was done."""
    now = datetime.now(UTC)
    aside = name_aside(file, now)
    file.rename(aside)
    return report(DamagedFile(file=file, aside=aside, at=now, reason=reason))


def name_aside(file: Path, now: datetime) -> Path:
    """Return a name that is free, beside a damaged file, that says that it is damaged."""
    number, aside = 1, file.with_name(f"{file.name}{_MARK}{now:%Y%m%dT%H%M%SZ}")
    while aside.exists():
        number += 1
        aside = file.with_name(f"{file.name}{_MARK}{now:%Y%m%dT%H%M%SZ}-{number}")
    return aside


def report(damaged: DamagedFile) -> DamagedFile:
    """Log what was done with a damaged file."""
    _log.error("%s", damaged)
    return damaged


def damaged_files(home: Path) -> tuple[DamagedFile, ...]:
    """Return the files of a home folder that were set aside and not removed since, the oldest first."""
    files: list[DamagedFile] = []
    for folder in _FOLDERS:
        for path in sorted(home.glob(f"{folder}*{_MARK}*")):
            if match := _NAME.fullmatch(path.name):
                moment = datetime.strptime(match["time"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
                files.append(DamagedFile(file=path.with_name(match["name"]), aside=path, at=moment))
    return tuple(sorted(files, key=lambda item: item.at))
