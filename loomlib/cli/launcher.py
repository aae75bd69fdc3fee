"""Launcher cards for plugins' panels and report templates, as `loom lab` adds them to JupyterLab.

Both are files in a folder on `JUPYTER_PATH`: jupyter-app-launcher reads
`jupyter_app_launcher/jp_app_launcher_*.yaml`, jupyterlab-templates `notebook_templates/*/*.ipynb`. An installed
loom-widgets brings its own panels' cards and the shipped reports to any JupyterLab; they are not added again. Both are
written at each start, so that they include all installed plugins.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from ..errors import LoomError
from ..plugins import find_plugins
from ..reports import report_notebooks

FOLDER: Final = "loom_lab"
"""Where `loom lab` writes them, in the home folder."""
_CATALOG: Final = "Loom"
_OWN: Final = ("build", "test", "operate", "evaluate", "memory", "tools")
"""Panels of loom-widgets, which installs its own cards."""


def prepare_jupyter(folder: Path) -> Path:
    """Write cards and templates below `folder` and return it.

    Raises:
        LoomError: The folder cannot be written.
    """
    try:
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "jupyter_app_launcher").mkdir(parents=True)
        (folder / "notebook_templates" / "Loom").mkdir(parents=True)
        _write_cards(folder / "jupyter_app_launcher")
        _write_templates(folder / "notebook_templates" / "Loom")
    except OSError as error:
        raise LoomError(
            f"The launcher of JupyterLab could not be set up ({error.strerror or error})",
            on=str(folder),
            try_="--home with a writable folder",
        ) from error
    return folder


def _write_cards(folder: Path) -> None:
    cards: list[dict[str, str]] = []
    for name in find_plugins("panels").names("panels"):
        if name not in _OWN and (safe := _file_name(name)):
            (folder / f"{safe}.ipynb").write_text(json.dumps(_panel_notebook(name), ensure_ascii=False), "utf-8")
            card = {"title": name, "description": "A panel of a plugin", "catalog": _CATALOG}
            # The card runs the notebook with a kernel of its own and shows its output.
            cards.append({**card, "type": "notebook-grid", "source": f"{safe}.ipynb"})
    # JSON is YAML, too.
    (folder / "jp_app_launcher_loom_plugins.yaml").write_text(json.dumps(cards, ensure_ascii=False), "utf-8")


def _write_templates(folder: Path) -> None:
    for name, path in report_notebooks().items():
        if (safe := _file_name(name)) and not _is_installed("notebook_templates", "Loom", f"{safe}.ipynb"):
            shutil.copyfile(path, folder / f"{safe}.ipynb")


def _panel_notebook(name: str) -> dict[str, Any]:
    cell: dict[str, object] = {"cell_type": "code", "execution_count": None, "outputs": []}
    whole = {"col": 0, "row": 0, "width": 12, "height": 22, "hidden": False}
    view = {"jupyter_dashboards": {"activeView": "grid_default", "views": {"grid_default": whole}}}
    # The reader of a card may not read code: show an error in one line.
    terse = 'get_ipython().InteractiveTB.set_mode("Minimal")'
    connect = f"import loomlib as loom\n\n{terse}\nbench = loom.connect()"
    cells: list[dict[str, object]] = [
        {**cell, "id": "connect", "metadata": dict[str, object](), "source": connect},
        {**cell, "id": "panel", "metadata": {"extensions": view}, "source": f"bench.panel({name!r})"},
    ]
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _file_name(name: str) -> str:
    """Return a plugin's name as a file name, or "" when it cannot be one."""
    return name if name.replace("_", "").replace("-", "").isalnum() else ""


def _is_installed(*parts: str) -> bool:
    return any(Path(command, *parts).is_file() for command in _jupyter_places())


def _jupyter_places() -> Iterator[str]:
    try:
        from jupyter_core.paths import jupyter_path
    except ImportError:  # the notebook extra is not installed; starting JupyterLab will say so
        return
    yield from jupyter_path()
