"""Eval sets that can be read by name: Loom ships one per blueprint that can be evaluated; a catalog adds its own."""

from __future__ import annotations

import os
import re
from difflib import get_close_matches
from pathlib import Path

from ...settings import catalog_folder

_SETS = Path(__file__).parent.parent / "sets"
_SUFFIX = ".evalset.json"
_NAME = re.compile(r"[a-z0-9_]+")


def shipped_names() -> tuple[str, ...]:
    """Return the names of the shipped sets and of the shared catalog's, which `EvalSet.read` accepts."""
    return tuple(sorted(_files()))


def shipped_path(source: str | os.PathLike[str]) -> Path | None:
    """Return the file of a shipped set.

    Args:
        source: The set's name.

    Returns:
        None when no shipped set has that name, or when the working folder has a file of that name.
    """
    if not isinstance(source, str) or not _NAME.fullmatch(source):
        return None
    file = _files().get(source)
    return None if file is None or Path(source).is_file() else file


def suggest_set(source: str) -> str:
    """Return what to try instead of a path that does not exist."""
    names = ", ".join(shipped_names())
    similar = get_close_matches(Path(source).name.partition(".")[0].lower(), shipped_names(), n=1)
    question = f"did you mean {similar[0]!r}? " if similar else ""
    return f"{question}Give the path of a file, its text, or a shipped set: {names}"


def _files() -> dict[str, Path]:
    catalog = catalog_folder()
    folders = (_SETS,) if catalog is None else (catalog / "eval_sets", _SETS)
    return {path.name.removesuffix(_SUFFIX): path for folder in folders for path in folder.glob(f"*{_SUFFIX}")}
