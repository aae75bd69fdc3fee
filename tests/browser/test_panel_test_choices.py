"""The Test panel after another choice: what belongs to the former agent is gone, and refused answers are corrected."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from .conftest import Lab, Watched
from .panels import CONNECT, end_kernels, panel_of, run_cell, run_notebook

pytestmark = [pytest.mark.browser, pytest.mark.slow]

_ASKING_AGENT = """
from bedrock_agentcore import BedrockAgentCoreApp

app = BedrockAgentCoreApp()
SIZE = {"type": "object", "properties": {"size": {"type": "integer"}}}
ASKS = {"id": "size", "reason": "choice", "message": "Which size?", "responseSchema": SIZE}

@app.entrypoint
async def answer(payload, context):
    run = {"threadId": "thread", "runId": "run"}
    yield {"type": "RUN_STARTED", **run}
    if resume := payload.get("resume"):
        yield {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "role": "assistant", "delta": f"resumed with {resume}"}
        yield {"type": "RUN_FINISHED", **run}
    else:
        yield {"type": "STATE_SNAPSHOT", "snapshot": {"order": 1234567890123456789}}
        yield {"type": "RUN_FINISHED", **run, "outcome": {"type": "interrupt", "interrupts": [ASKS]}}

app.run()
"""
_CELLS = [
    CONNECT,
    "import pathlib, tempfile\nfolder = pathlib.Path(tempfile.mkdtemp())\n"
    f"(folder / 'agent.py').write_text({_ASKING_AGENT!r})\nbench.deploy(folder, name='asking')\n"
    "bench.deploy('calculator')\nbench.deploy('calculator', name='also_guarded', authorizer='local')\n"
    "guarded = bench.deploy('calculator', name='guarded', authorizer='local')\n"
    "pathlib.Path('token.txt').write_text(bench.identity.token('alice'))",
    "panel = loom_widgets.test(guarded)\npanel",
]
_HOLD_LISTS = """import threading
may_continue, told = threading.Event(), []
panel.listen(lambda message: told.append(message["is"]))
panel.listen(lambda message: message["is"] == "logs" and may_continue.wait(240))"""


@pytest.fixture
def page(lab: Lab, lab_page: Watched) -> Iterator[Page]:
    run_notebook(lab_page.page, lab, "test_choices.ipynb", _CELLS)
    yield lab_page.page
    end_kernels(lab_page.page)


def choose(panel: Locator, agent: str) -> None:
    panel.get_by_label("Agent", exact=True).select_option(agent)


def ask(panel: Locator, question: str) -> None:
    panel.get_by_label("Prompt", exact=True).fill(question)
    panel.get_by_role("button", name="Invoke", exact=True).click()


def test_an_agents_token_and_log_lines_are_gone_and_a_question_waits_for_the_choice(
    page: Page, lab: Lab, lab_page: Watched
) -> None:
    panel = panel_of(page, "Test")
    token, turns = panel.get_by_label("Bearer token", exact=True), panel.locator(".loom-turn")
    logs = panel.get_by_role("grid", name="log lines of this session")
    token.fill((lab.root / "token.txt").read_text())
    ask(panel, "What is 6 * 7?")
    expect(turns.last).to_contain_text("complete")
    panel.get_by_role("tab", name="Logs").click()
    logs.locator("tr[data-index]").first.dispatch_event("click", timeout=120_000)  # in one step: rows may be redrawn
    expect(panel.get_by_label("selected line")).to_be_visible()

    choose(panel, "also_guarded")
    expect(turns).to_have_count(0)
    expect(token).to_be_visible()
    expect(token).to_have_value("")
    expect(panel.get_by_role("tabpanel")).to_contain_text("No log lines of this session yet.")
    expect(panel.get_by_label("selected line")).to_be_hidden()

    # While the log lines are read again, another agent is chosen and asked.
    run_cell(page, _HOLD_LISTS)
    panel.get_by_role("button", name="Read again").click()
    choose(panel, "calculator")
    ask(panel, "What is 15 * 37?")
    run_cell(page, "may_continue.set()")
    expect(turns.last).to_contain_text("complete")
    expect(turns).to_have_count(1)
    expect(turns).to_contain_text("555")
    run_cell(page, "assert told.index('chat') < told.index('began'), told")

    # Stop, pressed meanwhile: nothing is asked.
    run_cell(page, "may_continue.clear()")
    panel.get_by_role("button", name="Read again").click()
    choose(panel, "guarded")
    ask(panel, "What is 7 * 8?")
    panel.get_by_role("button", name="Stop", exact=True).click()
    run_cell(page, "may_continue.set()")
    expect(turns).to_have_count(0)
    expect(panel.get_by_role("button", name="Invoke", exact=True)).to_be_enabled()
    expect(panel.get_by_label("Prompt", exact=True)).to_have_value("What is 7 * 8?")
    run_cell(page, "assert told.count('began') == 1, told")
    assert (lab_page.errors, lab_page.outside) == ([], [])


def test_an_answer_that_is_refused_is_corrected_and_sent_again(page: Page, lab_page: Watched) -> None:
    panel = panel_of(page, "Test")
    choose(panel, "asking")
    ask(panel, "Order a desk.")
    turns = panel.locator(".loom-turn")
    expect(turns.get_by_role("group", name="shared state")).to_contain_text("1234567890123456789")
    question = turns.first.locator(".loom-question")
    answer, send = question.get_by_label("Answer as JSON"), question.get_by_role("button", name="Send")
    answer.fill('{"size": 2')
    send.click()
    expect(panel).to_contain_text("The answer is not valid JSON")
    expect(send).to_be_enabled()
    expect(answer).to_have_value('{"size": 2')
    answer.fill('{"size": 2}')
    send.click()
    expect(turns.last).to_contain_text("'payload': {'size': 2}")
    expect(send).to_be_disabled()
    assert (lab_page.errors, lab_page.outside) == ([], [])
