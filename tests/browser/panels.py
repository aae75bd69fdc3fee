"""A panel in a real JupyterLab: a notebook of a few cells, run in a browser, with the panel in its output."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Locator, Page

from .conftest import Lab

STARTED_MS = 180_000
LOOK_MS = 100
"""How often the page looks for what may take seconds: with each frame, as by default, it would draw all the time."""
_IDLE = """() => {
    const panel = window.jupyterapp?.shell?.currentWidget;
    const kernel = panel?.sessionContext?.session?.kernel;
    return panel?.content?.model?.cells?.length > 0 && kernel?.status === "idle";
}"""
_HAS_KERNEL = """() => {
    const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session?.kernel;
    return kernel && !["unknown", "starting"].includes(kernel.status);
}"""
_RAN = """() => {
    const panel = window.jupyterapp.shell.currentWidget;
    const cells = [...panel.content.model.sharedModel.cells].filter((cell) => cell.cell_type === "code");
    return cells.every((cell) => cell.execution_count !== null || cell.outputs.some((o) => o.output_type === "error"))
        && panel.sessionContext.session.kernel.status === "idle";
}"""
_ERRORS = """() => window.jupyterapp.shell.currentWidget.content.model.sharedModel.cells
    .flatMap((cell) => (cell.outputs ?? []).filter((o) => o.output_type === "error").map((o) => o.evalue))"""
CONNECT = "import loomlib as loom, loom_widgets\nbench = loom.connect()"


def run_notebook(page: Page, lab: Lab, name: str, cells: Sequence[str]) -> None:
    """Write a notebook of these cells, open it, run them all and wait until they ran without an error.

    Its home is its own: no test sees the agents and memories of another.
    """
    own = f"import os\nos.environ['LOOM_HOME'] = {str(lab.root.parent / 'homes' / Path(name).stem)!r}\n"
    cells = [own + cells[0], *cells[1:]]
    sources = [
        {"cell_type": "code", "id": f"c{at}", "metadata": {}, "source": source, "outputs": [], "execution_count": None}
        for at, source in enumerate(cells)
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": sources}
    (lab.root / name).write_text(json.dumps(notebook))
    open_notebook(page, lab, name)
    page.wait_for_function(_IDLE, timeout=STARTED_MS, polling=LOOK_MS)
    page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
    page.wait_for_function(_RAN, timeout=STARTED_MS, polling=LOOK_MS)
    assert page.evaluate(_ERRORS) == []


_IS_LAB = "() => window.jupyterapp !== undefined"
_OPEN = """async (path) => {
    const { commands, shell } = window.jupyterapp;
    const opened = await commands.execute("docmanager:open", { path });
    for (const widget of [...shell.widgets("main")]) if (widget !== opened) widget.dispose();
    shell.activateById(opened.id);
}"""


def open_notebook(page: Page, lab: Lab, path: str) -> None:
    """Open a notebook as the only document, in the JupyterLab that the page shows, or in one that is loaded first."""
    if page.evaluate(_IS_LAB):
        page.evaluate(_OPEN, path)
    else:
        page.goto(lab.address(path))


_LAST_ERRORS = """() => (window.jupyterapp.shell.currentWidget.content.activeCell.model.sharedModel.outputs ?? [])
    .filter((output) => output.output_type === "error").map((output) => output.evalue)"""
_RUN_CELL = """async (source) => {
    const app = window.jupyterapp, notebook = app.shell.currentWidget.content;
    notebook.activeCellIndex = notebook.widgets.length - 1;
    await app.commands.execute("notebook:insert-cell-below");
    notebook.activeCell.model.sharedModel.setSource(source);
    const start = performance.now();
    const done = app.commands.execute("notebook:run-cell");
    window.loomCellStart = start;
    await done;
}"""


def run_cell(page: Page, source: str) -> None:
    """Add a cell at the end, run it and wait for its end; it must not fail. Its start is in window.loomCellStart."""
    page.evaluate(_RUN_CELL, source)
    if errors := page.evaluate(_LAST_ERRORS):
        raise AssertionError(f"the cell failed: {errors[0]}")


def panel_of(page: Page, title: str) -> Locator:
    """The panel of that title, in sight."""
    panel = page.locator(f".loom-panel[aria-label='{title}']").first
    panel.wait_for(timeout=STARTED_MS)
    panel.scroll_into_view_if_needed()
    return panel


def end_kernels(page: Page) -> None:
    """End the kernel of the open notebook, once it has started, so that its service ends too.

    A Jupyter Server that is told to end while a kernel starts waits for more than a minute.
    """
    page.wait_for_function(_HAS_KERNEL, timeout=STARTED_MS, polling=LOOK_MS)
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")


def screenshot(page: Page, name: str, otherwise: Path) -> None:
    """Keep what the page looks like: in LOOM_SCREENSHOTS, else in the test's own folder."""
    folder = Path(os.environ.get("LOOM_SCREENSHOTS") or otherwise)
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"{name}.png")
