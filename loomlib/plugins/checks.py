"""Check what a plugin provided without importing anything for the check."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import cast


def is_path(value: object) -> bool:
    """Return whether a value is a file system path."""
    return isinstance(value, (str, os.PathLike))


def is_command(value: object) -> bool:
    """Return whether a value is a click command, by its class's name, so that click is not imported."""
    return any(base.__name__ == "Command" and base.__module__ == "click.core" for base in type(value).__mro__)


def misfit(kind: str, value: object) -> str:
    """Return why a value cannot be an entry of a kind, as the end of a sentence; "" if it can.

    Args:
        kind: One of `HOOKS`.
        value: What the plugin's factory returned.
    """
    match kind:
        case "blueprints":
            return _path_misfit(value, "a folder with an agent.py", _is_blueprint)
        case "reports":
            return _path_misfit(value, "an .ipynb file", _is_notebook)
        case "commands":
            return "" if is_command(value) else f"expected a click command, not {_type_name(value)}"
        case "models":
            has_both = all(callable(getattr(value, name, None)) for name in ("converse", "converse_stream"))
            return "" if has_both else f"expected a model with converse and converse_stream, not {_type_name(value)}"
        case "span_sources":
            fits = callable(value) or callable(getattr(value, "look", None))
            return "" if fits else f"expected a function of an invocation, not {_type_name(value)}"
        case _:
            return "" if value is not None else "its factory returned None"


def _path_misfit(value: object, expected: str, fits: Callable[[Path], bool]) -> str:
    if not isinstance(value, (str, os.PathLike)):
        return f"expected {expected}, not {_type_name(value)}"
    path = Path(cast("str | os.PathLike[str]", value))
    return "" if fits(path) else f"expected {expected} at {path}"


def _is_blueprint(folder: Path) -> bool:
    return (folder / "agent.py").is_file() or (folder / "main.py").is_file()


def _is_notebook(path: Path) -> bool:
    return path.suffix == ".ipynb" and path.is_file()


def _type_name(value: object) -> str:
    return type(value).__name__
