"""*Start here* in a real JupyterLab, as a newcomer runs it: Run All, in a browser without any network."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

from .conftest import Lab, Watched

pytestmark = [pytest.mark.browser, pytest.mark.slow]

_KERNEL_IDLE = """() => {
    const panel = window.jupyterapp?.shell?.currentWidget;
    const kernel = panel?.sessionContext?.session?.kernel;
    return panel?.content?.model?.cells?.length > 1 && kernel?.status === "idle";
}"""
_CODE_CELLS = """() => {
    const cells = window.jupyterapp.shell.currentWidget.content.model.sharedModel.cells;
    return cells.filter((cell) => cell.cell_type === "code").map((cell) => ({
        count: cell.execution_count,
        source: cell.source,
        errors: cell.outputs.filter((each) => each.output_type === "error").map((each) => each.evalue),
        kinds: cell.outputs.flatMap((each) => Object.keys(each.data ?? {})),
    }));
}"""
_ALL_RAN = f"""() => ({_CODE_CELLS})().every((cell) => cell.count !== null || cell.errors.length)
    && window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === "idle" """


@pytest.fixture
def start_here(lab: Lab, watched: Watched) -> Page:
    page = watched.page
    page.goto(lab.address("notebooks/00_start_here.ipynb"))
    page.wait_for_function(_KERNEL_IDLE, timeout=180_000)
    page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
    page.wait_for_function(_ALL_RAN, timeout=300_000)
    return page


def test_every_cell_runs_and_shows_what_it_promises(start_here: Page, watched: Watched, tmp_path: Path) -> None:
    page = start_here
    cells = page.evaluate(_CODE_CELLS)
    assert [cell["errors"] for cell in cells if cell["errors"]] == []
    assert all(cell["count"] for cell in cells)
    assert any("application/vnd.plotly.v1+json" in cell["kinds"] for cell in cells)
    # JupyterLab keeps cells out of the page until they are near.
    page.evaluate("() => window.jupyterapp.shell.currentWidget.content.scrollToItem(0)")
    page.locator(".loom-card").first.wait_for()
    page.screenshot(path=tmp_path / "first-screen.png")
    page.evaluate(
        """() => {
        const notebook = window.jupyterapp.shell.currentWidget.content;
        const isChart = (output) => output.data?.["application/vnd.plotly.v1+json"];
        const at = notebook.widgets.findIndex((cell) => (cell.model.sharedModel.outputs ?? []).some(isChart));
        notebook.activeCellIndex = at;
        return notebook.scrollToItem(at);
        }"""
    )
    page.locator(".js-plotly-plot .main-svg").first.wait_for(timeout=120_000)
    page.screenshot(path=tmp_path / "chart.png")
    assert watched.outside == []
