"""The Build panel in a real JupyterLab: deploy, inspect, register a wrong ARN, remove after a confirmation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from .conftest import Lab, Watched
from .panels import CONNECT, end_kernels, panel_of, run_notebook, screenshot

pytestmark = [pytest.mark.browser, pytest.mark.slow]

_CELLS = [
    f"{CONNECT}\nfor entry in bench.context.catalog.list():\n    bench.context.catalog.remove(entry)",
    "panel = loom_widgets.build(bench)\npanel",
]


@pytest.fixture
def page(lab: Lab, lab_page: Watched) -> Iterator[Page]:
    run_notebook(lab_page.page, lab, "build_panel.ipynb", _CELLS)
    yield lab_page.page
    end_kernels(lab_page.page)


def test_an_agent_is_deployed_inspected_and_removed(page: Page, lab_page: Watched, tmp_path: Path) -> None:
    panel = panel_of(page, "Build")
    expect(panel.locator(".loom-status").first).to_have_text("No agents yet.")
    expect(panel.locator(".loom-tablebox .loom-empty")).to_contain_text("press Deploy")
    # By keyboard: the blueprint is chosen already.
    expect(panel.get_by_label("Blueprint", exact=True)).to_have_value("calculator")
    panel.get_by_role("button", name="Show plan", exact=True).click()
    plan = panel.get_by_label("the plan of calculator")
    expect(plan).to_contain_text("runtime calculator")
    expect(plan).to_be_focused()
    expect(panel.locator(".loom-status").first).to_contain_text("Nothing was created")
    panel.get_by_role("button", name="Deploy", exact=True).focus()
    page.keyboard.press("Enter")
    going = panel.get_by_role("group", name="the last deployment")
    expect(going).to_contain_text("done")
    for step in ("packing", "READY"):
        expect(going).to_contain_text(step)
    agents = panel.get_by_role("grid", name="agents of the catalog")
    expect(agents.locator("tr[data-index]")).to_have_count(1)
    for cell in ("calculator", "READY", "us-east-1", "DEFAULT"):
        expect(agents.locator("tr[data-index]")).to_contain_text(cell)
    expect(panel.get_by_label("a first invocation as Python")).to_contain_text("bench.agent('calculator').invoke(")
    panel.get_by_text("As Python", exact=True).click()
    expect(panel.locator(".loom-code")).to_contain_text("bench.deploy('calculator')")
    screenshot(page, "build-deployed", tmp_path)

    # An endpoint is made, and the table of endpoints stays open.
    panel.get_by_text("Endpoints and versions", exact=True).click()
    endpoints = panel.get_by_role("table", name="endpoints of calculator")
    expect(endpoints).to_contain_text("always the newest version")
    panel.get_by_label("Endpoint", exact=True).fill("prod")
    panel.get_by_role("button", name="Promote", exact=True).click()
    panel.get_by_role("button", name="Yes", exact=True).click()
    expect(endpoints.get_by_role("row", name="prod")).to_contain_text("no earlier version is known")
    expect(agents.locator("tr[data-index]")).to_contain_text("DEFAULT, prod")
    screenshot(page, "build-endpoints", tmp_path)

    panel.get_by_label("ARN of a deployed runtime").fill("<img src=x onerror=alert(1)>")
    page.keyboard.press("Enter")
    expect(panel.get_by_role("alert").filter(has_text="Failed:")).to_contain_text("<img src=x onerror=alert(1)>")
    screenshot(page, "build-error", tmp_path)

    # Asked once more, taken back by Escape, then meant.
    delete = panel.get_by_role("button", name="Delete the runtime too")
    delete.click()
    page.keyboard.press("Escape")
    expect(delete).to_be_focused()
    delete.click()
    panel.get_by_role("button", name="Yes", exact=True).click()
    expect(panel.locator(".loom-status").first).to_contain_text("its runtime was deleted")
    expect(panel.locator(".loom-tablebox .loom-empty")).to_be_visible()

    # Optional settings count as soon as their part of the form has been opened.
    for title in ("Name, memory and environment", "Runtime settings", "Who may call it"):
        panel.get_by_text(title, exact=True).click()
    panel.get_by_label("Name", exact=True).fill("second")
    panel.get_by_label("Idle time-out").fill("120")
    panel.get_by_label("Callers", exact=True).select_option("jwt")
    expect(panel.get_by_label("Discovery URL", exact=True)).to_be_visible()
    panel.get_by_label("Callers", exact=True).select_option("local")
    expect(panel.get_by_label("Discovery URL", exact=True)).to_be_hidden()
    panel.get_by_role("button", name="Show plan", exact=True).click()
    expect(panel.get_by_label("the plan of second")).to_contain_text("runtime second")
    screenshot(page, "build-options", tmp_path)
    assert panel.evaluate("e => e.scrollWidth <= e.clientWidth")
    assert lab_page.errors == []
    assert lab_page.outside == []
