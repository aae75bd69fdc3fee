"""The reports that ship with Loom, provided through the same hook as a plugin's."""

from __future__ import annotations

from pathlib import Path

from loomlib.plugins import hookimpl

_PACKAGE = Path(__file__).resolve().parent.parent
_FOLDERS = (_PACKAGE / "notebooks" / "reports", _PACKAGE.parent / "notebooks" / "reports")
"""In an installed wheel the notebooks lie inside the package; in a checkout they lie beside it."""


@hookimpl
def loom_reports() -> dict[str, Path]:
    """Return the notebooks of `notebooks/reports`, by their names."""
    folder = next((folder for folder in _FOLDERS if folder.is_dir()), None)
    return {file.stem: file for file in sorted(folder.glob("*.ipynb"))} if folder else {}
