"""The Test panel in a real JupyterLab: invoke, watch, stop and inspect, by mouse and by keyboard."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from .conftest import Lab, Watched
from .panels import CONNECT, end_kernels, panel_of, run_notebook, screenshot

pytestmark = [pytest.mark.browser, pytest.mark.slow]

_CELLS = [
    CONNECT,
    "agent = bench.deploy('assistant', environment={'QUERY_SECONDS': '10'})\nbench.deploy('calculator')",
    "panel = loom_widgets.test(agent)\npanel",
]


@pytest.fixture
def page(lab: Lab, lab_page: Watched) -> Iterator[Page]:
    run_notebook(lab_page.page, lab, "test_panel.ipynb", _CELLS)
    yield lab_page.page
    end_kernels(lab_page.page)


def ask(panel: Locator, question: str) -> Locator:
    panel.get_by_label("Prompt", exact=True).fill(question)
    panel.get_by_role("button", name="Invoke", exact=True).click()
    return panel.locator(".loom-turn").last


def test_an_agent_is_asked_watched_stopped_and_inspected(page: Page, lab_page: Watched, tmp_path: Path) -> None:
    panel = panel_of(page, "Test")
    turn = ask(panel, "Where is order A-1042?")
    # The tool takes ten seconds. Its card is shown while it runs, before any text arrives.
    tool = turn.locator(".loom-toolcard")
    expect(tool).to_contain_text(re.compile("find_order.*running", re.S))
    screenshot(page, "test-tool-runs", tmp_path)
    expect(turn.locator(".loom-answer")).not_to_be_empty()
    expect(turn).to_contain_text("complete")
    expect(tool).to_contain_text("done")
    figures = panel.get_by_role("tabpanel")
    for name in (
        "client invoke time",
        "agent start",
        "cold start",
        "time to first byte",
        "duration",
        "tokens in",
        "cost",
    ):
        expect(figures).to_contain_text(name)
    expect(figures).not_to_contain_text("looking up …")
    screenshot(page, "test-figures", tmp_path)

    panel.get_by_role("tab", name="Waterfall").focus()
    page.keyboard.press("Enter")
    waterfall = panel.get_by_role("grid", name="waterfall of the last answer")
    expect(waterfall).to_contain_text("find_order")
    screenshot(page, "test-waterfall", tmp_path)
    page.keyboard.press("ArrowRight")
    expect(panel.get_by_role("grid", name="log lines of this session")).to_contain_text("Agent invoked")

    # A second question goes on with the session; it is stopped while its tool runs.
    session = panel.get_by_label("Session", exact=True).input_value()
    assert len(session) >= 33
    panel.get_by_role("tab", name="Figures").click()
    height = figures.evaluate("node => node.offsetHeight")
    turn = ask(panel, "Where is order A-1043?")
    expect(turn.locator(".loom-toolcard")).to_contain_text("running")
    expect(figures).to_have_text("Shown when the answer has ended.")
    assert figures.evaluate("node => node.offsetHeight") == height, "what follows on the page does not move"
    panel.get_by_role("button", name="Stop", exact=True).click()
    expect(turn).to_contain_text("Stopped")
    expect(panel.get_by_role("button", name="Invoke", exact=True)).to_be_enabled()

    # Another agent by keyboard alone, then the first session again from its row.
    panel.get_by_label("Agent", exact=True).select_option("calculator")
    expect(panel.locator(".loom-turn")).to_have_count(0)
    panel.get_by_label("Prompt", exact=True).focus()
    page.keyboard.type("What is 6 * 7?")
    page.keyboard.press("Control+Enter")
    expect(panel.locator(".loom-turn").last).to_contain_text("complete")
    expect(panel.locator(".loom-answer").last).to_contain_text("42")
    panel.get_by_label("Agent", exact=True).select_option("assistant")
    panel.get_by_role("tab", name="Sessions").click()
    history = panel.get_by_role("grid", name="sessions of this agent")
    expect(history.locator("tr[data-index] td.loom-number").first).to_have_text("2")
    expect(history.locator("tr[data-index] td.loom-ms")).to_contain_text("s")  # its cold start
    history.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(panel.locator(".loom-turn")).to_have_count(2)
    panel.get_by_text("As Python", exact=True).click()
    expect(panel.locator(".loom-code")).to_contain_text("agent.history.conversation(")
    screenshot(page, "test-history", tmp_path)
    assert lab_page.errors == []
    assert lab_page.outside == []
