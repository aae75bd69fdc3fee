"""The Operate panel in a real JupyterLab: numbers looked up, an agent opened, places compared, an alert checked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from .conftest import Lab, Watched
from .panels import CONNECT, end_kernels, panel_of, run_cell, run_notebook, screenshot

pytestmark = [pytest.mark.browser, pytest.mark.slow]

_CELLS = [
    CONNECT,
    "agent = bench.deploy('calculator', name='operated')\nsession = agent.invoke('What is 6 * 7?').session_id\n"
    "for n in range(7):\n    agent.invoke(f'What is {n} * {n}?', session_id=session)",
    "panel = loom_widgets.operate(bench)\npanel",
]
_SESSIONS_FIT = """() => {
    const box = document.querySelector("[aria-label='sessions of the agent']")?.parentElement;
    return box && box.scrollWidth <= box.clientWidth;
}"""


@pytest.fixture
def page(lab: Lab, lab_page: Watched) -> Iterator[Page]:
    run_notebook(lab_page.page, lab, "operate_panel.ipynb", _CELLS)
    yield lab_page.page
    end_kernels(lab_page.page)


def test_numbers_an_agent_places_and_alerts_are_inspected(page: Page, lab_page: Watched, tmp_path: Path) -> None:
    panel = panel_of(page, "Operate")
    tiles = panel.get_by_role("group", name="numbers").first
    for title in ("agents", "invocations", "average cold start", "p90 cold start", "error rate", "cost"):
        expect(tiles).to_contain_text(title)
    panel.get_by_role("button", name="Look up now").click()
    expect(panel.get_by_text(re.compile(r"\d+ of \d+ starts? found"))).to_be_visible()
    panel.get_by_label("Time", exact=True).select_option("1h")
    expect(panel.locator(".loom-hint").filter(has_text="since ")).to_be_visible()

    # By keyboard into the agent, whose row is among those of other tests' agents.
    agents = panel.get_by_role("grid", name="agents and their numbers")
    few = agents.locator("tr", has_text="operated").locator("span[title^='n too small']")
    expect(few.first).to_have_text(re.compile(r"^[\d.]+\sm?s$"))  # of one start, and faint
    agents.get_by_text("operated", exact=True).click()
    opened = panel.get_by_role("region", name="selected agent")
    expect(opened).to_contain_text("8 invocations in 1 session, none failed.")
    expect(opened).to_contain_text("log group")
    opened.get_by_role("tab", name="Numbers").focus()
    page.keyboard.press("ArrowRight")
    expect(opened.get_by_role("img")).to_have_count(2)  # each call, and the median of a bin with calls enough
    expect(opened.get_by_role("grid", name="latency over time")).to_be_visible()
    screenshot(page, "operate-latency", tmp_path)
    page.keyboard.press("ArrowRight")
    sessions = opened.get_by_role("grid", name="sessions of the agent")
    expect(sessions).to_contain_text("8")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.wait_for_function(_SESSIONS_FIT)  # JupyterLab fits its panes to the window a little later
    page.set_viewport_size({"width": 1200, "height": 900})
    page.keyboard.press("ArrowRight")
    expect(opened.get_by_role("grid", name="recent log lines of the agent")).to_contain_text("Agent invoked")

    # With auto-refresh, what is asked now comes by itself.
    panel.get_by_label("refresh every", exact=False).check()
    run_cell(page, "agent.invoke('What is 2 * 2?', session_id=session);")
    expect(opened).to_contain_text("9 invocations in 1 session")
    panel.get_by_label("refresh every", exact=False).uncheck()

    panel.get_by_role("tab", name="Regions and accounts").click()
    expect(panel.get_by_role("grid", name="regions and accounts")).to_contain_text("us-east-1")
    panel.get_by_role("tab", name="Alerts").click()
    panel.get_by_text("Add an alert", exact=True).click()
    panel.get_by_label("Number", exact=True).select_option("invocations")
    panel.get_by_label("Limit (calls)").fill("3")
    panel.get_by_label("Name", exact=True).fill("<img src=x onerror=alert(1)>")
    panel.get_by_role("button", name="Add the alert").click()
    alerts = panel.get_by_role("grid", name="alerts", exact=True)
    expect(alerts).to_contain_text("not checked")
    panel.get_by_role("button", name="Check now").click()
    expect(alerts).to_contain_text("alarm")
    expect(panel.get_by_role("grid", name="history of the alerts")).to_contain_text(
        "the whole interval is above the limit"
    )
    screenshot(page, "operate-alerts", tmp_path)
    alerts.locator("tr[data-index]").first.click()
    panel.get_by_role("button", name="Remove", exact=True).click()
    panel.get_by_role("button", name="Yes", exact=True).click()
    expect(panel.locator(".loom-empty").filter(has_text="No alerts yet.")).to_be_visible()
    assert panel.evaluate("e => e.scrollWidth <= e.clientWidth")
    assert lab_page.errors == []
    assert lab_page.outside == []
