"""The Evaluate panel in a real JupyterLab: a set is run, its cases opened, two runs compared, a case captured."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from .conftest import Lab, Watched
from .panels import CONNECT, end_kernels, panel_of, run_notebook, screenshot

pytestmark = [pytest.mark.browser, pytest.mark.slow]

_HOSTILE = "<img src=x onerror=window.canary=1>"
_CELLS = [
    CONNECT,
    f"""from loomlib.evals import EvalCase, EvalSet, ExpectedTool, Turn
def case(id, prompt, expected, *tags):
    turn = Turn(prompt=prompt, expected_answer=expected, expected_tools=(ExpectedTool(name="calculator"),))
    return EvalCase(id=id, turns=(turn,), tags=tags)
EvalSet(name="sums", cases=(case("product", "What is 6 * 7?", "42", "sums"), case({_HOSTILE!r}, "What is 2 + 2?", "5"),
)).write("sums.json")""",
    "bench.deploy('calculator')\nbench.deploy('calculator_guessing')\nNone",
    "panel = bench.panel('evaluate')\npanel",
]


@pytest.fixture
def page(lab: Lab, lab_page: Watched) -> Iterator[Page]:
    run_notebook(lab_page.page, lab, "evaluate_panel.ipynb", _CELLS)
    yield lab_page.page
    end_kernels(lab_page.page)


def test_a_set_is_run_inspected_compared_and_a_case_is_captured(page: Page, lab_page: Watched, tmp_path: Path) -> None:
    panel = panel_of(page, "Evaluate")
    panel.get_by_label("Set", exact=True).select_option("file:")
    panel.get_by_label("Path of the eval set").fill("sums.json")
    page.keyboard.press("Tab")
    expect(panel).to_contain_text("sums: 2 cases, scored by contains, trajectory")
    for name in ("calculator", "calculator_guessing"):
        panel.get_by_label(name, exact=True).check()
    panel.get_by_label("Gate", exact=True).fill("trajectory>=90%")
    panel.get_by_role("button", name="Run", exact=True).click()
    expect(panel.get_by_role("button", name="Stop", exact=True)).to_be_enabled()
    expect(panel.get_by_role("progressbar", name="answered")).to_be_visible()

    # Two agents: the comparison opens by itself, its verdict first; a case opens to both answers.
    flips = panel.get_by_role("grid", name="cases with different outcomes")
    expect(flips).to_contain_text("lost")
    flips.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(panel.get_by_role("heading", name="new: calculator_guessing")).to_be_visible()
    expect(panel.get_by_role("heading", name="baseline: calculator", exact=True)).to_be_visible()
    expect(panel.get_by_role("table", name="trajectory: expected and called")).to_contain_text("missing")
    screenshot(page, "evaluate-compared", tmp_path)

    # The first run again from its row; what failed, and where its time went.
    panel.get_by_role("tab", name="Stored runs").click()
    panel.get_by_role("grid", name="stored runs").get_by_text("calculator", exact=True).click()
    cases = panel.get_by_role("grid", name="cases of this run")
    expect(cases).to_contain_text("low score")
    panel.get_by_label("State", exact=True).select_option("low score")
    expect(cases.locator("tr[data-index]")).to_have_count(1)
    expect(cases).to_contain_text(_HOSTILE)
    cases.locator("tr[data-index]").click()
    expect(panel.get_by_role("table", name="verdict of each evaluator").last).to_contain_text("contains")
    panel.get_by_role("tabpanel").get_by_role("button", name="Show trace").click()
    expect(panel.get_by_role("grid", name="waterfall of")).to_contain_text("calculator")
    screenshot(page, "evaluate-case", tmp_path)
    results = Axe().run(page, context=".loom-panel")
    violations = [
        violation for violation in results.response["violations"] if violation["impact"] in ("serious", "critical")
    ]
    assert [(violation["id"], [node["html"][:200] for node in violation["nodes"]]) for violation in violations] == []

    panel.get_by_role("tab", name="Capture").click()
    panel.get_by_role("tabpanel").get_by_label("Agent", exact=True).select_option("calculator")
    panel.get_by_role("tabpanel").get_by_role("button", name="Refresh").click()
    panel.get_by_role("grid", name="invocations of the agent").get_by_text("What is 6 * 7?").click()
    panel.get_by_role("button", name="Capture as case").click()
    expect(panel.get_by_text("is case 1 of captured.json").first).to_be_visible()
    panel.get_by_text("As Python", exact=True).click()
    expect(panel.locator(".loom-code")).to_contain_text("capture_into(")
    screenshot(page, "evaluate-captured", tmp_path)
    assert page.evaluate("() => window.canary") is None
    assert lab_page.errors == []
    assert lab_page.outside == []
