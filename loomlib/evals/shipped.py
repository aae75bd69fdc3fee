"""The eval sets that ship with Loom, by name: one for each blueprint that has something to be judged."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .eval_set import EvalSet

_ENDING = ".evalset.json"
_NAME = re.compile(r"[a-z0-9_]+")


def shipped_sets() -> dict[str, EvalSet]:
    """The shipped sets by name.

    evals.shipped_sets()["calculator"]
    """
    from .formats import read

    return {name: read(path) for name in shipped_names() if (path := shipped_path(name)) is not None}


def shipped_names() -> tuple[str, ...]:
    """Their names, which `EvalSet.read` takes as well."""
    return tuple(sorted(path.name.removesuffix(_ENDING) for path in _folder().glob(f"*{_ENDING}")))


def shipped_path(source: str | os.PathLike[str]) -> Path | None:
    """The file of a shipped set's name; None when it is none, or when a file of that name lies here."""
    if not isinstance(source, str) or not _NAME.fullmatch(source):
        return None
    if source not in shipped_names():
        return None
    return None if Path(source).is_file() else _folder() / f"{source}{_ENDING}"


def _folder() -> Path:
    return Path(__file__).parent / "sets"
