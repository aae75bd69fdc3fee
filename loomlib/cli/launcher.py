"""What `loom lab` adds to JupyterLab: launcher cards for the panels, and the reports as templates.

Both are files in a folder that Jupyter is told to look into (`JUPYTER_PATH`): jupyter-app-launcher reads
`jupyter_app_launcher/jp_app_launcher_*.yaml`, jupyterlab-templates `notebook_templates/*/*.ipynb`. An installed
loom-widgets brings the shipped reports as templates for any JupyterLab; what is there is not added again. Written anew
each time, so that what plugins give is there too.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from ..errors import LoomError
from ..plugins import find_plugins

_CATALOG: Final = "Loom"
_PANELS: Final = ("build", "test", "operate", "evaluate", "memory")
"""Those that have a notebook in `notebooks/panels`, in the order of the work."""


def prepare_jupyter(folder: Path, notebooks: Path) -> Path:
    """Writes cards and templates below `folder` and gives it back. Raises `LoomError` when it cannot be written."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "jupyter_app_launcher").mkdir(parents=True)
        (folder / "notebook_templates" / "Loom").mkdir(parents=True)
        _write_cards(folder / "jupyter_app_launcher", notebooks / "panels")
        _write_templates(folder / "notebook_templates" / "Loom")
    except OSError as error:
        raise LoomError(
            f"JupyterLab's launcher cannot be prepared ({error.strerror or error})",
            on=str(folder),
            try_="--home with a folder that can be written",
        ) from error
    return folder


def _write_cards(folder: Path, panels: Path) -> None:
    icon = str(panels / "loom.svg")
    cards = [{**_opening(panels / f"{name}.ipynb"), "icon": icon} for name in _PANELS]
    for name in find_plugins("panels").names("panels"):
        if name not in _PANELS and (safe := _file_name(name)):
            notebook = folder / f"{safe}.ipynb"
            notebook.write_text(json.dumps(_panel_notebook(name), ensure_ascii=False), "utf-8")
            card = {"title": name, "description": "A panel of a plugin", "type": "notebook", "source": str(notebook)}
            cards.append({**card, "catalog": _CATALOG, "icon": icon})
    # JSON is YAML, too.
    (folder / "jp_app_launcher_loom.yaml").write_text(json.dumps(cards, ensure_ascii=False), "utf-8")


def _opening(notebook: Path) -> dict[str, Any]:
    """A card that opens the notebook, whose first heading is `# Title: description`."""
    first = "".join(json.loads(notebook.read_text("utf-8"))["cells"][0]["source"]).partition("\n")[0]
    title, _, description = first.removeprefix("# ").partition(": ")
    path = "/".join(notebook.parts[-3:])  # as JupyterLab sees it from the folder above the notebooks
    # It is not run as well: a command that runs cells before the kernel is there asks for one.
    steps: list[dict[str, object]] = [
        {"label": "open", "id": "docmanager:open", "args": {"path": path, "factory": "Notebook"}}
    ]
    card = {"title": title, "description": description, "catalog": _CATALOG}
    return {**card, "type": "jupyterlab-commands", "source": steps}


def _write_templates(folder: Path) -> None:
    from ..reports import report_notebooks

    for name, path in report_notebooks().items():
        if (safe := _file_name(name)) and not _is_installed("notebook_templates", "Loom", f"{safe}.ipynb"):
            shutil.copyfile(path, folder / f"{safe}.ipynb")


def _panel_notebook(name: str) -> dict[str, Any]:
    sources = ["import loomlib as loom\n\nbench = loom.connect()\nbench", f"bench.panel({name!r})"]
    cells: list[dict[str, object]] = [
        {"cell_type": "code", "id": str(at), "metadata": {}, "execution_count": None, "outputs": [], "source": source}
        for at, source in enumerate(sources)
    ]
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _file_name(name: str) -> str:
    """A plugin's name as a file's; "" when it is none."""
    return name if name.replace("_", "").replace("-", "").isalnum() else ""


def _is_installed(*parts: str) -> bool:
    return any(Path(place, *parts).is_file() for place in _jupyter_places())


def _jupyter_places() -> Iterator[str]:
    try:
        from jupyter_core.paths import jupyter_path
    except ImportError:  # the notebook extra is not installed; starting JupyterLab will say so
        return
    yield from jupyter_path()
