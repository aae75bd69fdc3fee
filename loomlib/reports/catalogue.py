"""The available report notebooks and their files."""

from __future__ import annotations

import difflib
from pathlib import Path

from loomlib.errors import ReportError
from loomlib.plugins import find_plugins


def report_notebooks() -> dict[str, Path]:
    """Return the notebook files of Loom's reports and those of plugins, sorted by name.

    A report that a plugin declares but does not contain is left out; `loom plugins` names it.
    """
    return {name: Path(path) for name, path in find_plugins("reports").usable("reports").items()}


def find_report(name_or_path: str | Path) -> Path:
    """Return the notebook file of a report.

    Args:
        name_or_path: The report's name, or the path of a notebook.

    Raises:
        ReportError: There is no such report; the message names a close match.
        PluginError: The plugin that provides it is broken.
    """
    plugins = find_plugins("reports")
    names = plugins.names("reports")
    if str(name_or_path) in names:
        return Path(plugins.get("reports", str(name_or_path)))
    path = Path(name_or_path).expanduser()
    if path.suffix == ".ipynb" and path.is_file():
        return path
    if path.suffix == ".ipynb" or len(path.parts) > 1:
        raise ReportError("No such notebook", on=str(name_or_path), try_="a path to an existing .ipynb file")
    close = difflib.get_close_matches(str(name_or_path), names, n=1)
    if not close and plugins.may_have("reports", str(name_or_path)):
        plugins.get("reports", str(name_or_path))  # raises the plugin's error with its fix
    hint = f"{close[0]} (did you mean that?), or a path to a notebook" if close else ", ".join([*names, "a path"])
    raise ReportError("No such report", on=str(name_or_path), try_=hint)
