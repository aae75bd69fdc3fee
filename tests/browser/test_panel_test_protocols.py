"""The Test panel in a real JupyterLab with an MCP server and an A2A agent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from .conftest import Lab, Watched
from .panels import CONNECT, end_kernels, panel_of, run_notebook

pytestmark = [pytest.mark.browser, pytest.mark.slow]

_CELLS = [
    CONNECT,
    "agent = bench.deploy('mcp_server')\nagent.releases.create('prod', version=1)\nbench.deploy('a2a_agent')",
    "panel = loom_widgets.test(agent)\npanel",
]
_TALKER = Path(__file__).parents[1] / "service" / "workbench" / "socket_test_agent.py"
_GUARDED = [
    CONNECT,
    f"agent = bench.deploy({str(_TALKER)!r}, name='talker', authorizer='local')",
    "panel = loom_widgets.test(agent)\npanel",
    "from pathlib import Path\nPath('token.txt').write_text(bench.identity.token('alice'))",
]


def _run(lab_page: Watched, lab: Lab, name: str, cells: list[str]) -> Iterator[Page]:
    run_notebook(lab_page.page, lab, name, cells)
    yield lab_page.page
    end_kernels(lab_page.page)


@pytest.fixture
def page(lab: Lab, lab_page: Watched) -> Iterator[Page]:
    yield from _run(lab_page, lab, "test_protocols.ipynb", _CELLS)


@pytest.fixture
def guarded(lab: Lab, lab_page: Watched) -> Iterator[Page]:
    """A panel with an agent that has a WebSocket and takes tokens only; a token is in the file token.txt."""
    yield from _run(lab_page, lab, "test_websocket.ipynb", _GUARDED)


def test_a_tool_is_called_from_its_form_a_question_answered_and_a_task_shown(page: Page) -> None:
    panel = panel_of(page, "Test")
    expect(panel.get_by_label("Prompt", exact=True)).to_be_hidden()
    panel.get_by_role("button", name="List the tools").click()
    tools = panel.get_by_label("Tool", exact=True)
    expect(tools.locator("option", has_text="calculator")).to_be_attached()
    tools.select_option("calculator")
    field = panel.get_by_label("expression", exact=True)
    field.fill("6 * 7")
    field.press("Control+Enter")
    turn = panel.locator(".loom-turn").last
    expect(turn).to_contain_text("complete")
    expect(turn).to_contain_text("42")

    # The server asks while its tool runs; the answer is given in the panel.
    tools.select_option("split_bill")
    panel.get_by_label("bill", exact=True).fill("90")
    panel.get_by_role("button", name="Call", exact=True).click()
    question = panel.get_by_role("region", name="question of the server")
    question.get_by_label("people", exact=True).fill("3")
    question.get_by_role("button", name="Answer").click()
    expect(panel.locator(".loom-turn").last).to_contain_text("30")
    expect(question).to_be_hidden()

    # A sampling request is answered by hand; the model could write the answer.
    tools.select_option("explain")
    panel.get_by_label("expression", exact=True).fill("6 * 7")
    panel.get_by_role("button", name="Call", exact=True).click()
    expect(question).to_contain_text("Say in one sentence that 6 * 7 is 42.")
    question.get_by_role("button", name="Let the model answer").click()
    answer = question.get_by_label("Answer", exact=True)
    expect(answer).not_to_have_value("")
    answer.fill("Six times seven is forty-two.")
    question.get_by_role("button", name="Send the answer").click()
    expect(panel.locator(".loom-turn").last).to_contain_text("42: Six times seven is forty-two.")

    panel.get_by_role("tab", name="Resources").click()
    panel.get_by_role("button", name="List the resources").click()
    resources = panel.get_by_label("Resource", exact=True)
    expect(resources).to_have_value("calculations://session")
    panel.get_by_role("button", name="Read", exact=True).click()
    expect(panel.locator(".loom-turn").last).to_contain_text("6 * 7 = 42")
    panel.get_by_role("tab", name="Prompts").click()
    panel.get_by_role("button", name="List the prompts").click()
    panel.get_by_role("group", name="arguments of word_problem").get_by_label("text").fill("<b>two</b> lamps")
    panel.get_by_role("button", name="Get", exact=True).click()
    expect(panel.locator(".loom-turn").last).to_contain_text(
        "call the tool calculator with it: <b>two</b> lamps", timeout=120_000
    )
    panel.get_by_role("tab", name="Tools").click()
    tools.select_option("split_bill")

    # What does not fit is refused beside the form, which keeps its values.
    panel.get_by_label("bill", exact=True).fill("much")
    panel.get_by_role("button", name="Call", exact=True).click()
    expect(panel).to_contain_text("bill is not a number")
    expect(panel.get_by_label("bill", exact=True)).to_have_value("much")

    # Another version of the server may have other tools.
    panel.get_by_label("Qualifier", exact=True).select_option("prod")
    expect(tools).to_contain_text("not listed yet")
    expect(panel.get_by_role("button", name="Call", exact=True)).to_be_disabled()
    panel.get_by_role("button", name="List the tools").click()
    expect(tools.locator("option", has_text="calculator")).to_be_attached()

    panel.get_by_label("Agent", exact=True).select_option("a2a_agent")
    expect(panel.get_by_label("Prompt", exact=True)).to_be_visible()
    panel.get_by_role("button", name="Read the card").click()
    expect(panel.get_by_role("region", name="agent card")).to_contain_text("Calculates")
    panel.get_by_label("Prompt", exact=True).fill("What is 15 * 37?")
    panel.get_by_role("button", name="Invoke", exact=True).click()
    turn = panel.locator(".loom-turn").last
    expect(turn).to_contain_text("complete")
    # When the trace arrives, the agent's tool calls are added after the cards of the task.
    expect(turn.locator(".loom-toolcard").filter(has_text="15 * 37").first).to_be_visible()
    expect(turn.locator(".loom-toolcard").first).to_contain_text(re.compile("task .*done", re.S))
    expect(turn.locator(".loom-toolcard").nth(1)).to_contain_text("artifact")
    expect(turn).to_contain_text("555")


def test_messages_go_over_a_websocket_and_the_page_says_how_it_was_authorized(guarded: Page, lab: Lab) -> None:
    panel = panel_of(guarded, "Test")
    panel.get_by_label("Bearer token", exact=True).fill((lab.root / "token.txt").read_text())
    panel.get_by_text("WebSocket", exact=True).click()
    panel.get_by_role("button", name="Open a WebSocket").click(timeout=120_000)
    send = panel.get_by_role("button", name="Send", exact=True)
    expect(send).to_be_enabled()
    message = panel.get_by_label("Message", exact=True)
    message.fill("<b>hello</b>")
    message.press("Control+Enter")
    turn = panel.locator(".loom-turn").last
    expect(turn).to_contain_text("received: heard <b>hello</b>")
    expect(turn).to_contain_text("after the last message sent")
    expect(message).to_have_value("")
    expect(panel.get_by_role("button", name="Invoke", exact=True)).to_be_enabled()
    panel.get_by_role("button", name="Close it").click()
    expect(turn).to_contain_text("complete")
    expect(send).to_be_disabled()
    turn.get_by_role("button", name="How was it authorized?").click()
    expect(turn).to_contain_text(re.compile("Allowed: .*alice, by bearer token"))
    expect(turn.get_by_role("table", name="Rules of the runtime's authorizer")).to_contain_text("client_id")
