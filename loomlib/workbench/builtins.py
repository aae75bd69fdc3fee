"""The built-in blueprints and those of the shared catalog, registered through the same hook as a plugin's."""

from __future__ import annotations

from pathlib import Path

from ..plugins import hookimpl
from ..settings import catalog_folder


@hookimpl
def loom_blueprints() -> dict[str, Path]:
    """Return the folders of `loomlib/blueprints` by name, and those of the shared catalog (`LOOM_CATALOG`)."""
    catalog = catalog_folder()
    shared = {} if catalog is None else _folders(catalog / "blueprints")
    return shared | _folders(Path(__file__).resolve().parent.parent / "blueprints")


def _folders(folder: Path) -> dict[str, Path]:
    return {path.parent.name: path.parent for path in sorted(folder.glob("*/agent.py"))}
