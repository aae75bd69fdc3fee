"""The built-in blueprints, registered through the same hook as a plugin's."""

from __future__ import annotations

from pathlib import Path

from ..plugins import hookimpl


@hookimpl
def loom_blueprints() -> dict[str, Path]:
    """Return the folders of `loomlib/blueprints` by name."""
    folder = Path(__file__).resolve().parent.parent / "blueprints"
    return {path.parent.name: path.parent for path in sorted(folder.glob("*/agent.py"))}
