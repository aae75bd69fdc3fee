"""Reading notebook files: the one place where nbformat's untyped nodes enter."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import nbformat

from loomlib.errors import ReportError

Notebook: TypeAlias = Any
"""An nbformat `NotebookNode` (a notebook, a cell or an output): a dictionary with attribute access, without types."""


def read_notebook(path: Path) -> Notebook:
    """The notebook at `path` in format 4. Raises `ReportError` when the file is no notebook."""
    try:
        return nbformat.read(path, as_version=4)
    except (OSError, ValueError, nbformat.reader.NotJSONError) as error:
        raise ReportError("The notebook cannot be read", on=str(path), try_="open it in JupyterLab") from error


def notebook_text(notebook: Notebook) -> str:
    """The notebook as the text of its file."""
    return nbformat.writes(notebook)


def source_of(cell: Notebook) -> str:
    """A cell's source as one string."""
    return cell.source if isinstance(cell.source, str) else "".join(cell.source)


def tags_of(cell: Notebook) -> tuple[str, ...]:
    """A cell's tags."""
    return tuple(cell.metadata.get("tags", ()))


def as_node(value: object) -> Notebook:
    """A dictionary as the node that nbformat works with, all the way down."""
    return nbformat.from_dict(value)
