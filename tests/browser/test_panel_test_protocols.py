"""The Test panel in a real JupyterLab with an MCP server and an A2A agent."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from .conftest import Lab, Watched
from .panels import CONNECT, end_kernels, panel_of, run_notebook

pytestmark = [pytest.mark.browser, pytest.mark.slow]

_CELLS = [
    CONNECT,
    "agent = bench.deploy('mcp_server')\nbench.deploy('a2a_agent')",
    "panel = loom_widgets.test(agent)\npanel",
]


@pytest.fixture
def page(lab: Lab, watched: Watched) -> Iterator[Page]:
    run_notebook(watched.page, lab, "test_protocols.ipynb", _CELLS)
    yield watched.page
    end_kernels(watched.page)


def test_a_tool_is_called_from_its_form_a_question_answered_and_a_task_shown(page: Page) -> None:
    panel = panel_of(page, "Test")
    expect(panel.get_by_label("Prompt", exact=True)).to_be_hidden(timeout=30_000)
    panel.get_by_role("button", name="List the tools").click()
    tools = panel.get_by_label("Tool", exact=True)
    expect(tools.locator("option", has_text="calculator")).to_be_attached(timeout=60_000)
    tools.select_option("calculator")
    field = panel.get_by_label("expression", exact=True)
    field.fill("6 * 7")
    field.press("Control+Enter")
    turn = panel.locator(".loom-turn").last
    expect(turn).to_contain_text("complete", timeout=60_000)
    expect(turn).to_contain_text("42")

    # The server asks while its tool runs; the answer is given in the panel.
    tools.select_option("split_bill")
    panel.get_by_label("bill", exact=True).fill("90")
    panel.get_by_role("button", name="Call", exact=True).click()
    question = panel.get_by_role("region", name="question of the server")
    question.get_by_label("people", exact=True).fill("3")
    question.get_by_role("button", name="Answer").click()
    expect(panel.locator(".loom-turn").last).to_contain_text("30", timeout=60_000)
    expect(question).to_be_hidden()

    # What does not fit is refused beside the form, which keeps its values.
    panel.get_by_label("bill", exact=True).fill("much")
    panel.get_by_role("button", name="Call", exact=True).click()
    expect(panel).to_contain_text("bill is not a number", timeout=30_000)
    expect(panel.get_by_label("bill", exact=True)).to_have_value("much")

    panel.get_by_label("Agent", exact=True).select_option("a2a_agent")
    expect(panel.get_by_label("Prompt", exact=True)).to_be_visible(timeout=30_000)
    panel.get_by_role("button", name="Read the card").click()
    expect(panel.get_by_role("region", name="agent card")).to_contain_text("Calculates", timeout=60_000)
    panel.get_by_label("Prompt", exact=True).fill("What is 15 * 37?")
    panel.get_by_role("button", name="Invoke", exact=True).click()
    turn = panel.locator(".loom-turn").last
    expect(turn).to_contain_text("complete", timeout=60_000)
    # When the trace arrives, the agent's tool calls are added after the cards of the task.
    expect(turn.locator(".loom-toolcard").filter(has_text="15 * 37").first).to_be_visible(timeout=60_000)
    expect(turn.locator(".loom-toolcard").first).to_contain_text(re.compile("task .*done", re.S))
    expect(turn.locator(".loom-toolcard").nth(1)).to_contain_text("artifact")
    expect(turn).to_contain_text("555")
