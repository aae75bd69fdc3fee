"""The details under an answer in the Test panel: whose they are, the cold start, an opened span, and a failed call."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from .conftest import Lab, Watched
from .panels import CONNECT, end_kernels, panel_of, run_cell, run_notebook, screenshot

pytestmark = [pytest.mark.browser, pytest.mark.slow]

_SLOW_AGENT = """
import asyncio
from bedrock_agentcore import BedrockAgentCoreApp

app = BedrockAgentCoreApp()

@app.entrypoint
async def answer(payload, context):
    await asyncio.sleep(10)
    yield "first"
    await asyncio.sleep(10)
    yield " second"

app.run()
"""
_DRAWING_AGENT = """
import base64
import os
from bedrock_agentcore import BedrockAgentCoreApp
from bedrock_agentcore.tools.code_interpreter_client import code_session
from opentelemetry import trace

app, spans = BedrockAgentCoreApp(), trace.get_tracer("drawing")
DOT = (
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c63f8cfc0f01f00050001ff89993d1d0000000049454e44ae426082"
)
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "draw", "gen_ai.tool.call.id": "one"}
LOOK = {"gen_ai.tool.name": "look", "gen_ai.tool.call.id": "two"}

@app.entrypoint
def answer(payload, context):
    with spans.start_as_current_span("invoke_agent it", attributes={"gen_ai.operation.name": "invoke_agent"}):
        with spans.start_as_current_span("execute_tool draw", attributes=TOOL):
            with code_session(os.environ["AWS_REGION"]) as session:
                session.upload_file("<b>numbers</b>.csv", "1,2")
                list(session.execute_code(f"_ = open('dot.png', 'wb').write(bytes.fromhex('{DOT}'))")["stream"])
                session.download_file("dot.png")
        with spans.start_as_current_span("execute_tool look", attributes=TOOL | LOOK) as span:
            for picture in (DOT, DOT.replace("0000000100000001", "0000f0000000f000")):
                data = base64.b64encode(bytes.fromhex(picture)).decode()
                span.add_event("loom.picture", {"title": "page", "mime_type": "image/png", "data": data})
    return "drawn"

app.run()
"""
_CELLS = [
    CONNECT,
    "import pathlib, tempfile\nfolder = pathlib.Path(tempfile.mkdtemp())\n"
    f"(folder / 'agent.py').write_text({_SLOW_AGENT!r})\nbench.deploy(folder, name='slow')\n"
    f"(folder / 'agent.py').write_text({_DRAWING_AGENT!r})\nbench.deploy(folder, name='drawing')\n"
    "agent = bench.deploy('calculator')",
    "panel = loom_widgets.test(agent)\npanel",
]
# A killed process takes connections until the kernel has closed its sockets.
_KILL_SERVICE = """import os, signal, socket, urllib.parse
from loomlib import local
service = local.find(bench.context.settings.home)
address = urllib.parse.urlsplit(service.url)
os.kill(service.pid, signal.SIGKILL)
try:
    while True:
        socket.create_connection((address.hostname, address.port)).close()
except ConnectionError:
    pass"""


@pytest.fixture
def page(lab: Lab, watched: Watched) -> Iterator[Page]:
    run_notebook(watched.page, lab, "test_details.ipynb", _CELLS)
    yield watched.page
    end_kernels(watched.page)


def ask(panel: Locator, question: str) -> Locator:
    panel.get_by_label("Prompt", exact=True).fill(question)
    panel.get_by_role("button", name="Invoke", exact=True).click()
    return panel.locator(".loom-turn").last


def test_details_name_their_question_and_a_failed_call_shows_one_error_and_no_earlier_waterfall(
    page: Page, watched: Watched, tmp_path: Path
) -> None:
    panel = panel_of(page, "Test")

    # Before the first byte the panel does not claim to stream, and it says how long it waits.
    panel.get_by_label("Agent", exact=True).select_option("slow")
    expect(panel.locator(".loom-turn")).to_have_count(0)
    turn = ask(panel, "Are you slow?")
    expect(turn).to_contain_text("waiting for the first byte")
    expect(turn.locator(".loom-elapsed")).to_have_text(re.compile(r"^[1-9][\d.]*\ss$"))
    expect(turn).to_contain_text("streaming")
    expect(turn).not_to_contain_text("waiting for the first byte")
    expect(turn).to_contain_text("complete")

    # The waterfall begins with the cold start, and its rows open.
    panel.get_by_label("Agent", exact=True).select_option("calculator")
    expect(panel.locator(".loom-turn")).to_have_count(0)
    turn = ask(panel, "What is 6 * 7?")
    expect(turn).to_contain_text("complete")
    expect(panel.get_by_text("Figures and waterfall of question 2: What is 6 * 7?")).to_be_visible()
    panel.get_by_role("tab", name="Waterfall").click()
    waterfall = panel.get_by_role("grid", name="waterfall of the last answer")
    first = waterfall.locator("tr[data-index='0']")
    expect(first).to_contain_text("cold start")
    assert first.locator(".loom-bar").evaluate("bar => bar.offsetWidth") > 20
    first.click()
    expect(panel.get_by_role("region", name="cold start")).to_contain_text("measured from")
    screenshot(page, "test-cold-start", tmp_path)
    waterfall.get_by_text("execute_tool calculator").click()
    attributes = panel.get_by_role("table", name="attributes of the span")
    expect(attributes).to_contain_text("gen_ai.tool.name")
    screenshot(page, "test-span", tmp_path)

    # The cold start that Figures shows is in the row of its session too.
    panel.get_by_role("tab", name="Sessions").click()
    sessions = panel.get_by_role("grid", name="sessions of this agent")
    expect(sessions.locator("tr[data-index] td.loom-ms").first).to_have_text(re.compile(r"\d\s(ms|s)$"))

    # The card of a tool shows the files and pictures of its code interpreter, as text and as images.
    panel.get_by_label("Agent", exact=True).select_option("drawing")
    expect(panel.locator(".loom-turn")).to_have_count(0)
    turn = ask(panel, "Draw a dot.")
    card = turn.locator(".loom-toolcard", has_text="draw")
    expect(card.get_by_role("list", name="files")).to_contain_text("wrote <b>numbers</b>.csv")
    picture = card.get_by_role("img", name="dot.png")
    expect(picture).to_have_js_property("width", 1)
    expect(picture).to_have_js_property("height", 1)
    # One with a picture and no files has nothing in their place, and an image of gigabytes is left out.
    look = turn.locator(".loom-toolcard", has_text="look")
    expect(look.get_by_role("img")).to_have_count(1)
    expect(look.locator(".loom-card-body")).to_have_text(re.compile(r"^took [\d.]+\s(µs|ms|s)$"))
    screenshot(page, "test-pictures", tmp_path)

    # The service is gone: one error, below the question, and nothing of the answer before.
    panel.get_by_role("tab", name="Waterfall").click()
    run_cell(page, _KILL_SERVICE)
    turn = ask(panel, "What is 7 * 7?")
    expect(turn).to_contain_text("nothing answers")
    expect(panel.get_by_text("Figures and waterfall of question 4: What is 7 * 7?")).to_be_visible()
    expect(panel.locator(".loom-status").first).to_have_text("Question 4 failed.")
    expect(panel.get_by_text("The spans could not be read.")).to_be_visible()
    expect(waterfall).to_have_count(0)
    expect(panel.locator(".loom-error")).to_be_hidden()
    assert (
        panel.get_by_text("nothing answers", exact=False).locator("visible=true").count() == 2
    )  # answer and waterfall
    screenshot(page, "test-service-gone", tmp_path)
    assert (watched.errors, watched.outside) == ([], [])
