"""What every panel does in JupyterLab: shown twice, drawn again after a reload, and honest when its kernel is gone."""

from __future__ import annotations

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from .conftest import Lab, Watched
from .panels import CONNECT, panel_of, run_cell, run_notebook, screenshot

pytestmark = [pytest.mark.browser, pytest.mark.slow]

_IDLE = "() => window.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"


def test_a_panel_is_shown_twice_comes_back_and_tells_of_a_dead_kernel(
    lab: Lab, watched: Watched, tmp_path: Path
) -> None:
    page = watched.page
    run_notebook(page, lab, "kit.ipynb", [CONNECT, "panel = bench.panel('test')\npanel", "panel"])
    panels = page.locator(".loom-panel[aria-label='Test']")
    expect(panels).to_have_count(2)
    for at in range(2):
        expect(panels.nth(at)).to_contain_text("No agents yet.")
        expect(panels.nth(at).get_by_role("button", name="Invoke", exact=True)).to_be_disabled()
    run_cell(page, "agent = bench.deploy('calculator')\nNone")
    panels.first.get_by_role("tab", name="Sessions").click()
    panels.first.get_by_role("button", name="Refresh").click()
    for at in range(2):
        expect(panels.nth(at).get_by_label("Agent", exact=True)).to_have_value("calculator")

    found = Axe().run(page, context=".loom-panel")
    bad = [each for each in found.response["violations"] if each["impact"] in ("serious", "critical")]
    assert [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in bad] == []

    # The page is loaded again while the kernel lives: the panel is drawn from what the kernel knows.
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    page.goto(lab.address("kit.ipynb").replace("&reset", ""))
    page.wait_for_function(_IDLE, timeout=180_000)
    panel = panel_of(page, "Test")
    expect(panel.get_by_label("Agent", exact=True)).to_have_value("calculator")
    panel.get_by_label("Prompt", exact=True).fill("What is 6 * 7?")
    panel.get_by_role("button", name="Invoke", exact=True).click()
    expect(panel.locator(".loom-answer")).to_contain_text("42", timeout=60_000)

    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    panel.get_by_label("Prompt", exact=True).fill("Are you there?")
    panel.get_by_role("button", name="Invoke", exact=True).click()
    expect(panel.get_by_role("alert").first).to_contain_text("The kernel does not answer", timeout=20_000)
    screenshot(page, "panel-without-kernel", tmp_path)
    assert watched.outside == []
