"""Which report notebooks there are, and where."""

from __future__ import annotations

import difflib
from pathlib import Path

from loomlib.errors import ReportError
from loomlib.plugins import load_plugins

_PACKAGE = Path(__file__).resolve().parent.parent
_FOLDERS = (_PACKAGE / "notebooks" / "reports", _PACKAGE.parent / "notebooks" / "reports")
"""In an installed wheel the notebooks lie inside the package; in a checkout they lie beside it."""


def report_notebooks() -> dict[str, Path]:
    """The reports that come with Loom, then those of plugins: name to notebook file, each group by name."""
    folder = next((folder for folder in _FOLDERS if folder.is_dir()), None)
    own = {file.stem: file for file in sorted(folder.glob("*.ipynb"))} if folder else {}
    plugins = load_plugins()
    return {name: Path(str(plugins.get("reports", name))) for name in plugins.names("reports")} | own


def find_report(name_or_path: str | Path) -> Path:
    """The notebook file of a report, by the report's name or by a path. Raises `ReportError` naming the close match."""
    known = report_notebooks()
    if str(name_or_path) in known:
        return known[str(name_or_path)]
    path = Path(name_or_path).expanduser()
    if path.suffix == ".ipynb" and path.is_file():
        return path
    if path.suffix == ".ipynb" or len(path.parts) > 1:
        raise ReportError("No such notebook", on=str(name_or_path), try_="a path to an existing .ipynb file")
    close = difflib.get_close_matches(str(name_or_path), known, n=1)
    hint = f"{close[0]} (did you mean that?), or a path to a notebook" if close else ", ".join([*known, "a path"])
    raise ReportError("No such report", on=str(name_or_path), try_=hint)
