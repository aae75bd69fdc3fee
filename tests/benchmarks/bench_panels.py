"""Panels in a real JupyterLab, in Chromium: how fast an answer is on the screen, and what stays smooth beside it.

Times of the kernel and of the page are by one machine's clock. A frame is what `requestAnimationFrame` gives.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import psutil
from playwright.sync_api import Locator, Page, expect, sync_playwright

import loom_widgets
from loom_widgets.kit.panel import Panel, script_of

sys.path.append(str(Path(__file__).resolve().parent.parent))

from tests.browser.conftest import CHROMIUM, FLAGS, running_lab
from tests.browser.panels import end_kernels, panel_of, run_cell, run_notebook

from .table import Row, ms

ANSWERS, CHUNKS, LINES, SPANS = 20, 1_000, 10_000, 5_000
PAUSE_S = 0.3
"""An agent's pause before its first word in seconds; by then the page has drawn the question."""
OPENINGS, SCROLLS = 5, 5
LARGEST_SCRIPT = 60_000
_NAMES = {"build": "build_agents", "test": "test", "operate": "operate", "evaluate": "evaluate", "memory": "memory"}
"""Names of the panels' functions, and of their packages."""

_SET_UP = """
import os, pathlib, tempfile, time
import loomlib as loom
bench = loom.connect()
pathlib.Path(os.environ["LOOM_HOME"], "kernel.pid").write_text(str(os.getpid()))
folder = pathlib.Path(tempfile.mkdtemp(dir=os.environ["LOOM_HOME"]))
agents = {}
for name, text in {"words": WORDS, "paced": PACED}.items():
    (folder / name).mkdir()
    (folder / name / "agent.py").write_text(text)
    agents[name] = bench.deploy(folder / name, name=name)
"""
_WORDS = """
import asyncio
from bedrock_agentcore import BedrockAgentCoreApp

app = BedrockAgentCoreApp()

@app.entrypoint
async def answer(payload):
    if (pause_s := float(payload["prompt"])) > 0:
        await asyncio.sleep(pause_s)
    yield "a word "
    yield "and another"

app.run()
"""
_PACED = """
import asyncio
import time
from bedrock_agentcore import BedrockAgentCoreApp

app = BedrockAgentCoreApp()

@app.entrypoint
async def answer(payload):
    due = time.perf_counter()
    for number in range(int(payload["prompt"])):
        due += 0.01
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        yield f"word {number} "

app.run()
"""
_ROWS = """
panel.tables.put("logs", [{"timestamp": 1.7e9 + n, "level": "INFO", "message": f"line {n} " * 8} for n in range(LINES)])
panel.send_message("logs", count=LINES)
panel.tables.put("bars", [{"label": f"span {n}", "depth": n % 7, "start_ms": n, "duration_ms": 40.0, "part": "tools",
                           "failed": False, "marks": ""} for n in range(SPANS)])
panel.send_message("trace", turn=1, count=SPANS, first=0, last=SPANS + 40, parts={}, sentences=["A long trace."])
"""
# What was on the screen when: for each batch the age of its first piece in the frame after it was put into the page.
_WATCH = """() => {
    window.loomSeen = [];
    document.addEventListener("loom-pieces", (event) => requestAnimationFrame(() => {
        for (const piece of event.detail) if (piece.kind === "text") window.loomSeen.push(Date.now() - piece.at);
    }), true);
}"""
# Scrolls from top to bottom in 120 frames (or rests as long, for comparison), and tells the longest frame.
_SCROLL = """(node, rests) => new Promise((done) => {
    let last = performance.now(), longest = 0, step = 0;
    const turn = (now) => {
        longest = Math.max(longest, now - last);
        last = now;
        step += 1;
        if (!rests) node.scrollTop = (node.scrollHeight - node.clientHeight) * step / 120;
        if (step < 125) requestAnimationFrame(turn); else done(longest);
    };
    requestAnimationFrame((now) => { last = now; turn(now); });
})"""
_DRAWN = """(count) => new Promise((done) => {
    const look = () => document.querySelectorAll(".jp-OutputArea .loom-panel .loom-body > *").length > count
        ? done(performance.now() - window.loomCellStart) : requestAnimationFrame(look);
    look();
})"""
_PARTS = "() => document.querySelectorAll('.jp-OutputArea .loom-panel .loom-body > *').length"


def rows() -> Iterator[Row]:
    """The sizes of the scripts, then everything in one notebook."""
    for name, size in sorted(_script_sizes().items()):
        yield Row(what=f"script of {name}", ours=f"{size / 1000:.1f} KB", aim="≤ 60 KB", met=size <= LARGEST_SCRIPT)
    with tempfile.TemporaryDirectory(prefix="loom-bench-") as folder, _notebook(Path(folder)) as (page, kernel):
        yield from _opening(page)
        yield from _streaming(page, kernel)
        yield from _scrolling(page)


def _script_sizes() -> dict[str, int]:
    """What the page is given for each kind of panel and display that there is, in bytes."""
    for module in pkgutil.walk_packages(loom_widgets.__path__, "loom_widgets."):
        importlib.import_module(module.name)
    kinds, more = [Panel], [Panel]
    while more := [subclass for kind in more for subclass in kind.__subclasses__()]:
        kinds += more
    return {kind.__name__: len(script_of(kind).encode()) for kind in kinds if kind.script != Panel.script}


@contextmanager
def _notebook(place: Path) -> Iterator[tuple[Page, psutil.Process]]:
    """A notebook with the agents deployed, and its kernel's process."""
    running = running_lab(place)
    lab = next(running)
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
            page = browser.new_page(viewport={"width": 1200, "height": 900})
            cells = [f"WORDS, PACED = {_WORDS!r}, {_PACED!r}", _SET_UP, "import loom_widgets"]
            run_notebook(page, lab, "bench.ipynb", cells)
            yield page, psutil.Process(int((place / "homes" / "bench" / "kernel.pid").read_text()))
            end_kernels(page)
            browser.close()
    finally:
        running.close()


def _opening(page: Page) -> Iterator[Row]:
    for name, package in _NAMES.items():
        try:
            run_cell(page, f"import loom_widgets.panels.{package}")
        except AssertionError as error:
            yield Row(what=f"opening {name}", ours=f"does not open: {str(error)[:90]}", met=False)
            continue
        openings_ms: list[float] = []
        for _ in range(OPENINGS):
            before = page.evaluate(_PARTS)
            run_cell(page, f"{name}_panel = loom_widgets.{name}(bench)\n{name}_panel")
            openings_ms.append(page.evaluate(_DRAWN, before))
        middle = median(openings_ms)
        yield Row(
            what=f"opening {name}: from the cell's start to the panel on the page",
            ours=ms(openings_ms), reference=f"the first {openings_ms[0]:.0f} ms",
            aim="≤ 1000 ms (median)", met=middle <= 1000, n=len(openings_ms),
        )  # fmt: skip


def _streaming(page: Page, kernel: psutil.Process) -> Iterator[Row]:
    run_cell(page, "panel = loom_widgets.test(agents['words'])\npanel.title = 'Bench'\npanel")
    panel = panel_of(page, "Bench")
    page.evaluate(_WATCH)
    for what, pause_s in (
        ("first text on the screen after the socket gave it", 0.0),
        ("first text on the screen, of an agent that pauses before it", PAUSE_S),
    ):
        firsts = [_first_text(page, panel, pause_s) for _ in range(ANSWERS + 1)][1:]  # the first one starts the agent
        middle = median(firsts)
        yield Row(what=what, ours=ms(firsts), aim="≤ 80 ms (median)", met=middle <= 80, n=len(firsts))

    panel.get_by_label("Agent", exact=True).select_option("paced")
    expect(panel.locator(".loom-turn")).to_have_count(0)
    page.evaluate("() => { window.loomSeen = []; }")
    panel.get_by_label("Prompt", exact=True).fill(str(CHUNKS))
    panel.get_by_role("button", name="Invoke", exact=True).click()
    answer = panel.locator(".loom-answer").last
    expect(answer).to_contain_text("word 50 ", timeout=60_000)
    used, begun = _cpu(kernel), page.evaluate("() => performance.now()")
    expect(answer).to_contain_text(f"word {CHUNKS - 60} ", timeout=60_000)
    share = (_cpu(kernel) - used) / ((page.evaluate("() => performance.now()") - begun) / 1000)
    expect(panel.locator(".loom-turn").last).to_contain_text("complete", timeout=30_000)
    ages = sorted(page.evaluate("() => window.loomSeen"))
    words = len(re.findall(r"word \d+", answer.inner_text()))
    yield Row(
        what="100 chunks/s on the screen: the kernel's CPU",
        ours=f"{share:.0%} of a core", aim="< 25 %", met=share < 0.25 and words == CHUNKS, n=words,
    )  # fmt: skip
    yield Row(
        what="100 chunks/s: age of a chunk when it is on the screen",
        ours=ms(ages), reference=f"99 in 100 within {ages[int(len(ages) * 0.99)]:.0f} ms", n=len(ages),
    )  # fmt: skip


def _first_text(page: Page, panel: Locator, pause_s: float) -> float:
    """The age in ms of an answer's first text in the frame after it was put into the page.

    Args:
        page: The notebook's page.
        panel: The Test panel with the agent `words`.
        pause_s: How long the agent waits before its first word. Without a pause the text comes while the browser still
            draws the question, and waits for that.
    """
    page.evaluate("() => { window.loomSeen = []; }")
    count = panel.locator(".loom-turn").count()
    panel.get_by_label("Prompt", exact=True).fill(str(pause_s))
    panel.get_by_role("button", name="Invoke", exact=True).click()
    expect(panel.locator(".loom-turn")).to_have_count(count + 1)
    expect(panel.locator(".loom-turn").last).to_contain_text("complete", timeout=30_000)
    page.wait_for_function("() => window.loomSeen.length > 0")  # the answer can be complete before the frame is drawn
    age_ms: float = page.evaluate("() => window.loomSeen[0]")
    expect(panel.get_by_role("tabpanel")).not_to_contain_text("looking up …", timeout=60_000)
    return age_ms


def _cpu(process: psutil.Process) -> float:
    used = process.cpu_times()
    return used.user + used.system


def _scrolling(page: Page) -> Iterator[Row]:
    panel = panel_of(page, "Bench")
    expect(panel).to_have_attribute("aria-busy", "false", timeout=120_000)  # the last answer is looked into
    run_cell(page, f"LINES, SPANS = {LINES}, {SPANS}\n{_ROWS}")
    for tab, contents in (("Logs", f"{LINES:,} log lines"), ("Waterfall", f"{SPANS:,} spans")):
        panel.get_by_role("tab", name=tab).click()
        table = panel.get_by_role("tabpanel").locator(".loom-scroll")
        table.scroll_into_view_if_needed()
        expect(table.locator("tr[data-index]").first).not_to_contain_text("…", timeout=30_000)
        frames = [table.evaluate(_SCROLL, False) for _ in range(SCROLLS)]
        still = [table.evaluate(_SCROLL, True) for _ in range(SCROLLS)]
        expect(table.locator("tr[data-index]").last).not_to_contain_text("…", timeout=30_000)
        longest, beside = median(frames), median(still)
        yield Row(
            what=f"scrolling {contents} from top to bottom: the longest frame",
            ours=ms(frames), reference=f"at rest {ms(still)}", compared=f"{longest / beside:.1f} ×",
            aim="≤ 100 ms", met=longest <= 100, n=len(frames),
        )  # fmt: skip
