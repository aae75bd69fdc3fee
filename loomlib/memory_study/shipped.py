"""Lives that come with Loom, and lives read from a file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, cast

from loomlib.errors import StudyError

from .life import Life

_ENDING = ".life.json"


def shipped_lives() -> tuple[str, ...]:
    """The names of the shipped lives."""
    return tuple(sorted(path.name.removesuffix(_ENDING) for path in _folder().glob(f"*{_ENDING}")))


def read_life(source: str | os.PathLike[str]) -> Life:
    """A shipped life by its name, or the one in a file.

    >>> read_life("shellfish").questions[-1].fact
    'allergy'
    """
    name = os.fspath(source)
    path = _folder() / f"{name}{_ENDING}" if name in shipped_lives() else Path(name).expanduser()
    try:
        stored = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise StudyError(
            "There is no life that can be read", on=name, try_=f"a file, or one of {', '.join(shipped_lives())}"
        ) from error
    if not isinstance(stored, dict):
        raise StudyError("A life is a JSON object", on=name)
    return Life.read(cast("dict[str, Any]", stored))


def _folder() -> Path:
    return Path(__file__).parent / "lives"
