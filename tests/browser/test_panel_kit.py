"""What every panel does in JupyterLab: shown twice, drawn again after a reload, and honest when its kernel is gone."""

from __future__ import annotations

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from .conftest import Lab, Watched
from .panels import CONNECT, LOOK_MS, panel_of, run_cell, run_notebook, screenshot

pytestmark = [pytest.mark.browser, pytest.mark.slow]

_IDLE = "() => window.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"


_OTHERS = """from datetime import UTC, datetime
from IPython.display import display
memory = bench.memories.create("kept", strategies=["semantic"])
said = {"conversational": {"role": "USER", "content": {"text": "I like tea."}}}
memory.reader.clients.data().create_event(memoryId=memory.id, actorId="anna", sessionId="monday",
    eventTimestamp=datetime.now(UTC), payload=[said])
display(*(bench.panel(name) for name in ("build", "operate", "evaluate", "memory")))"""


def _all_are_back(page: Page) -> None:
    """After a reload: what was open is open, and a click is answered."""
    build = panel_of(page, "Build")
    expect(build.get_by_role("grid", name="agents of the catalog")).to_contain_text("calculator")
    build.get_by_role("button", name="Deploy", exact=True).click()
    expect(build.get_by_role("group", name="the last deployment")).to_contain_text("done")
    operate = panel_of(page, "Operate")
    opened = operate.get_by_role("region", name="selected agent")
    expect(opened.get_by_role("heading", name="calculator")).to_be_visible()
    opened.get_by_role("button", name="Close", exact=True).click()
    expect(opened).to_be_hidden()
    evaluate = panel_of(page, "Evaluate")
    expect(evaluate.get_by_label("calculator", exact=True)).to_be_visible()
    evaluate.get_by_role("tab", name="Capture").click()
    evaluate.get_by_role("tabpanel", name="Capture").get_by_role("button", name="Refresh").click()
    expect(evaluate.get_by_text("This agent has no invocations yet.")).to_be_visible()
    memory = panel_of(page, "Memory")
    expect(memory.get_by_label("Actor", exact=True)).to_have_value("anna")
    memory.get_by_role("tab", name="Events").click()
    expect(memory.get_by_role("grid", name="events", exact=True)).to_contain_text("I like tea.")


def test_a_panel_is_shown_twice_comes_back_and_reports_a_dead_kernel(
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

    results = Axe().run(page, context=".loom-panel")
    violations = [
        violation for violation in results.response["violations"] if violation["impact"] in ("serious", "critical")
    ]
    assert [(violation["id"], [node["html"][:200] for node in violation["nodes"]]) for violation in violations] == []

    # The page is loaded again while the kernel lives: each panel is drawn from what the kernel knows, and answers.
    run_cell(page, _OTHERS)
    operate = panel_of(page, "Operate")
    operate.get_by_role("grid", name="agents and their numbers").get_by_text("calculator", exact=True).click()
    expect(operate.get_by_role("region", name="selected agent")).to_be_visible()
    panel_of(page, "Memory").get_by_role("grid", name="actors", exact=True).get_by_text("anna", exact=True).click()
    expect(panel_of(page, "Memory").get_by_label("Actor", exact=True)).to_have_value("anna")
    # Before the file is written nothing would be shown: the promise of it is waited for.
    page.evaluate("async () => { await window.jupyterapp.commands.execute('docmanager:save'); }")
    page.goto(lab.address("kit.ipynb").replace("&reset", ""))
    page.wait_for_function(_IDLE, timeout=180_000, polling=LOOK_MS)
    _all_are_back(page)
    panel = panel_of(page, "Test")
    expect(panel.get_by_label("Agent", exact=True)).to_have_value("calculator")
    panel.get_by_label("Prompt", exact=True).fill("What is 6 * 7?")
    panel.get_by_role("button", name="Invoke", exact=True).click()
    expect(panel.locator(".loom-answer")).to_contain_text("42")

    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    panel.get_by_label("Prompt", exact=True).fill("Are you there?")
    panel.get_by_role("button", name="Invoke", exact=True).click()
    expect(panel.get_by_role("alert").first).to_contain_text("The kernel does not respond")
    screenshot(page, "panel-without-kernel", tmp_path)
    assert watched.outside == []
