"""Whether what a plugin gave can be what it is asked for, told without importing anything for it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import cast


def is_path(value: object) -> bool:
    """Whether it names a place in the file system."""
    return isinstance(value, (str, os.PathLike))


def is_command(value: object) -> bool:
    """Whether it is a click command. Told by name, so that click is not imported for this."""
    return any(each.__name__ == "Command" and each.__module__ == "click.core" for each in type(value).__mro__)


def misfit(kind: str, value: object) -> str:
    """Why `value` is no thing of that kind, as a sentence's end; "" when it fits as far as can be told."""
    match kind:
        case "blueprints":
            return _path_misfit(value, "a folder with an agent.py", _is_blueprint)
        case "reports":
            return _path_misfit(value, "an .ipynb file", _is_notebook)
        case "commands":
            return "" if is_command(value) else f"a click command was expected, not {_named(value)}"
        case "models":
            has_both = all(callable(getattr(value, each, None)) for each in ("converse", "converse_stream"))
            return "" if has_both else f"a model with converse and converse_stream was expected, not {_named(value)}"
        case "span_sources":
            fits = callable(value) or callable(getattr(value, "look", None))
            return "" if fits else f"a function of a call was expected, not {_named(value)}"
        case _:
            return "" if value is not None else "its factory gave nothing"


def _path_misfit(value: object, expected: str, fits: Callable[[Path], bool]) -> str:
    if not isinstance(value, (str, os.PathLike)):
        return f"{expected} was expected, not {_named(value)}"
    path = Path(cast("str | os.PathLike[str]", value))
    return "" if fits(path) else f"{expected} was expected at {path}"


def _is_blueprint(folder: Path) -> bool:
    return (folder / "agent.py").is_file() or (folder / "main.py").is_file()


def _is_notebook(path: Path) -> bool:
    return path.suffix == ".ipynb" and path.is_file()


def _named(value: object) -> str:
    return type(value).__name__
