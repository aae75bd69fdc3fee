"""The files in a user's home folder: the lessons. They are written as the user, never by the hub."""

from __future__ import annotations

import shutil
from pathlib import Path

from ..errors import LoomError


def copy_lessons(home: Path) -> list[Path]:
    """Copy the workshop's lessons into `home/workshop`; existing files are not changed.

    Returns:
        The new files.
    """
    source = _lessons()
    copies: list[Path] = []
    for file in sorted(source.rglob("*.ipynb")):
        if ".ipynb_checkpoints" in file.parts:
            continue
        target = home / "workshop" / file.relative_to(source)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
            copies.append(target)
    return copies


def _lessons() -> Path:
    package = Path(__file__).resolve().parent.parent
    for folder in (package.parent / "notebooks", package / "notebooks"):
        if (folder / "workshop").is_dir():
            return folder / "workshop"
    raise LoomError("The notebooks are not installed", on=str(package), try_="install loomlib[notebook] again")
