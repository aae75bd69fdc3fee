"""Read notebook files; the only place that handles nbformat's untyped nodes."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import nbformat

from loomlib.errors import ReportError

Notebook: TypeAlias = Any
"""An nbformat `NotebookNode` (a notebook, a cell or an output): a dictionary with attribute access, without types."""


def read_notebook(path: Path) -> Notebook:
    """Read a notebook and convert it to format 4.

    Raises:
        ReportError: The file is not a notebook.
    """
    try:
        notebook = nbformat.read(path, as_version=4)
        if not all(_is_cell(cell) for cell in notebook.cells):
            raise ValueError("a cell has no source or no metadata")
    except Exception as error:
        raise ReportError("The notebook cannot be read", on=str(path), try_="open it in JupyterLab") from error
    return notebook


def _is_cell(cell: Any) -> bool:
    source, tags = cell.source, cell.metadata.get("tags", [])
    lines = [source] if isinstance(source, str) else source
    return isinstance(lines, list) and isinstance(tags, list) and all(isinstance(text, str) for text in [*lines, *tags])


def notebook_text(notebook: Notebook) -> str:
    """Return the notebook as the text of its file."""
    return nbformat.writes(notebook)


def source_of(cell: Notebook) -> str:
    """Return a cell's source as one string."""
    return cell.source if isinstance(cell.source, str) else "".join(cell.source)


def tags_of(cell: Notebook) -> tuple[str, ...]:
    """Return a cell's tags."""
    return tuple(cell.metadata.get("tags", ()))


def as_node(value: object) -> Notebook:
    """Convert nested dictionaries to nbformat's nodes."""
    return nbformat.from_dict(value)
