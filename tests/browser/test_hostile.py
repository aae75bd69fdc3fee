"""Every hostile text in every place: nothing is run, nothing is asked for, in JupyterLab, Voilà and a report."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

from loomlib import local
from loomlib.reports import run_report
from loomlib.settings import Settings

from .conftest import DRAWN_MS, REPOSITORY, Lab, Watched, running_voila, turned, watch
from .hostile_cells import DISPLAYS, PARAMETERS, SETUP, VIEWS
from .panels import end_kernels, panel_of, run_cell, run_notebook, screenshot

pytestmark = [pytest.mark.browser, pytest.mark.slow]

VIEW_NAMES = (
    "Answer of hostile", "Trace of hostile", "Latency of hostile", "Evaluation of speak", "Memory hostile", "Table",
)  # fmt: skip
NAMES = ("build", "test", "operate", "evaluate", "memory", "tools")
PANELS = "\n".join(["import loom_widgets", *(f"display(loom_widgets.{name}(bench))" for name in NAMES)])
_HOOKS = """() => {
    window.__loom_canary = undefined;
    for (const name of ["alert", "confirm", "prompt", "print"]) window[name] = () => { window.__loom_canary = name; };
}"""
_CANARY = """() => [window.__loom_canary ?? null, ...[...document.querySelectorAll("iframe")].map((each) => {
    try { return each.contentWindow.__loom_canary ?? null; } catch { return null; }
})].filter((each) => each !== null)"""
# Whatever a reader could open, point at or put the focus on, without leaving the page.
_TOUCH = """(selector) => {
    for (const part of document.querySelectorAll(selector)) {
        for (const each of part.querySelectorAll("details")) each.open = true;
        for (const each of part.querySelectorAll("*")) {
            for (const kind of ["mouseover", "pointerenter", "mousemove", "focus", "toggle"]) {
                each.dispatchEvent(new Event(kind, { bubbles: kind !== "focus" }));
            }
        }
    }
}"""
_LOOK_AROUND = """async (selector) => {
    const panel = document.querySelector(selector);
    const reads = new RegExp("^(Read (again|the [a-z]+)|Show (the cost|details|the source)|Look( again)?|Preview|"
        + "Refresh|Check now)$");
    const seen = (list) => [...list].filter((each) => each.checkVisibility() && !each.disabled);
    const settled = async () => {
        for (let at = 0; at < 100; at += 1) {
            await new Promise((done) => setTimeout(done, 100));
            if (panel.getAttribute("aria-busy") !== "true" && !panel.innerText.includes("Loading …")) return;
        }
    };
    const tabs = seen(panel.querySelectorAll("[role=tab]"));
    for (const tab of tabs.length ? tabs : [panel]) {
        tab.click();
        await settled();
        for (const each of seen(panel.querySelectorAll("button"))) if (reads.test(each.textContent)) {
            each.click();
            await settled();
        }
        for (const grid of seen(panel.querySelectorAll("[role=grid]"))) {
            grid.querySelector("tr[data-index]")?.click();
            await settled();
        }
    }
}"""
# What the page began before has ended when a later image has failed, and whatever that began with the second and third.
LAST = "/last"
_LATER = """async (address) => {
    for (let at = 0; at < 3; at += 1) {
        await new Promise((done) => Object.assign(new Image(), { onload: done, onerror: done, src: address + at }));
        await new Promise((done) => setTimeout(done, 20));
    }
}"""
_OUTPUTS = """() => window.jupyterapp.shell.currentWidget.content.activeCell.model.sharedModel.outputs
    .filter((each) => each.data).map((each) => Object.keys(each.data))"""
_ONLY_PANELS = """(panels) => {
    const cells = [...window.jupyterapp.shell.currentWidget.content.model.sharedModel.cells];
    for (const cell of cells) if (cell.cell_type === "code" && cell.source !== panels) cell.setOutputs([]);
}"""
# What cannot be there unless a text has become markup: none of Loom's displays has one of these.
# JupyterLab itself makes links of whatever looks like an address in plain text (`pre`); these are clicked below.
_FOREIGN = """(selector) => [...document.querySelectorAll(selector)].flatMap((part) => [...part.querySelectorAll(
    "script:not([type='application/json']),iframe,object,embed,video,audio,form,meta,base,link,marquee,math,template,"
    + "portal,frameset,noscript,xmp,img[src]:not([src^='data:']),a[href^='javascript' i]:not(pre a),"
    + "a[href^='data' i]:not(pre a),mjx-container"
)].map((each) => each.outerHTML.slice(0, 200)))"""
_CLICK_LINKS = """(selector) => {
    const links = [...document.querySelectorAll(selector)].flatMap((part) => [...part.querySelectorAll("pre a[href]")]);
    const found = links.filter((each) => !/^(https?|mailto):/i.test(each.getAttribute("href")));
    for (const each of new Map(found.map((each) => [each.getAttribute("href"), each])).values()) each.click();
}"""


class Counter(ThreadingHTTPServer):
    """A server that notes what it is asked for: every address in the corpus is its own."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        super().__init__(("127.0.0.1", 0), _Noting)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/b"


class _Noting(BaseHTTPRequestHandler):
    server: Counter

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.send_response(204)
        self.end_headers()

    do_POST = do_HEAD = do_OPTIONS = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on the console."""


@pytest.fixture(scope="module")
def counter() -> Iterator[Counter]:
    with Counter() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def hooked(browser: Browser) -> Watched:
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    context.set_default_timeout(DRAWN_MS)
    watched = watch(context)
    context.add_init_script(f"({_HOOKS})()")
    return watched


def parameters(counter: Counter) -> str:
    return f"{PARAMETERS}\nbeacon = {counter.address!r}"


def nothing_happened(watched: Watched, counter: Counter, within: str) -> None:
    """The page was touched everywhere; no text has become markup, none was run, none has fetched anything."""
    page = watched.page
    address = page.url
    page.evaluate(_TOUCH, within)
    page.evaluate(_CLICK_LINKS, within)
    page.evaluate(_LATER, counter.address + LAST)
    opened = page.context.pages
    canaries = [canary for open_page in opened for canary in open_page.evaluate(_CANARY)]
    for tab in opened:
        if tab is not page:
            tab.close()
    page.bring_to_front()  # a page behind another draws one frame a second
    foreign = page.evaluate(_FOREIGN, within)
    requested_paths = [path for path in counter.asked if LAST not in path]
    assert (page.url, canaries, requested_paths, watched.outside, foreign) == (address, [], [], [], [])


@pytest.fixture(scope="module")
def opened(lab: Lab, chromium: Browser, counter: Counter) -> Iterator[Watched]:
    """A notebook with every display and every panel in sight, all of them full of hostile texts."""
    watched = hooked(chromium)
    run_notebook(watched.page, lab, "hostile.ipynb", [parameters(counter), SETUP, *DISPLAYS, PANELS])
    for name in NAMES:
        panel_of(watched.page, name.title())
    yield watched
    end_kernels(watched.page)
    watched.page.context.close()


def test_displays_and_panels_in_jupyterlab_show_hostile_text_as_text(
    opened: Watched, counter: Counter, tmp_path: Path
) -> None:
    page = opened.page
    page.bring_to_front()
    panel = ask(page, "0:200")
    expect(panel.locator(".loom-toolcard").first).to_contain_text("<script>")
    expect(panel.get_by_role("region", name="approvals")).to_contain_text("<script>")
    ask(page, "agui", anew=False)
    shared = panel.get_by_role("group", name="shared state")
    shared.locator("summary").first.click()
    expect(shared).to_contain_text("<script>")
    expect(panel.locator(".loom-question").first).to_contain_text("<script>")
    for name in NAMES:
        look_around(page, name.title())
        screenshot(page, f"hostile-{name}", tmp_path)
    nothing_happened(opened, counter, ".jp-OutputArea-output")


def ask(page: Page, prompt: str, *, anew: bool = True) -> Locator:
    """Ask in a new conversation of the Test panel, or in the one that is there, and wait for the end of the answer."""
    panel = panel_of(page, "Test")
    before = panel.locator(".loom-turn").count()
    if anew:
        panel.get_by_role("button", name="New session", exact=True).click()
        before = 0
    expect(panel.locator(".loom-turn")).to_have_count(before)
    panel.get_by_label("Prompt", exact=True).fill(prompt)
    panel.get_by_role("button", name="Invoke", exact=True).click()
    expect(panel.locator(".loom-turn")).to_have_count(before + 1)
    expect(panel.locator(".loom-turn").last).to_contain_text("complete")
    return panel


def look_around(page: Page, title: str) -> None:
    """Every tab of a panel is opened, what reads is pressed, and in each table the first row is chosen."""
    panel_of(page, title)
    page.evaluate(_LOOK_AROUND, f".loom-panel[aria-label='{title}']")


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_axe_finds_no_serious_violation_in_any_panel(opened: Watched, theme: str, tmp_path: Path) -> None:
    page = opened.page
    page.bring_to_front()
    rules = ["color-contrast"] if theme == "Dark" else []  # nothing but colours differs between the themes
    page.evaluate(_ONLY_PANELS, PANELS)
    if not panel_of(page, "Test").locator(".loom-asked", has_text="0:3").count():
        ask(page, "0:3")
    page.evaluate(
        "async (theme) => { await window.jupyterapp.commands.execute('apputils:change-theme', { theme }); }",
        f"JupyterLab {theme}",
    )
    page.wait_for_function(f"() => document.body.dataset.jpThemeLight === '{'true' if theme == 'Light' else 'false'}'")
    turned(page)
    for name in NAMES:
        panel = panel_of(page, name.title())
        tabs = [tab for tab in panel.get_by_role("tab").all() if tab.is_visible()]
        whole = f".loom-panel[aria-label='{name.title()}']"
        assert serious(page, whole, rules=rules) == []
        for tab in tabs:
            tab.click()
            expect(panel.locator("[role=tabpanel]:not([hidden])").first).not_to_contain_text("Loading …")
            assert serious(page, f"{whole} [role=tabpanel]:not([hidden])", rules=rules) == []
        screenshot(page, f"axe-{name}-{theme.lower()}", tmp_path)


def test_objects_have_views_beside_their_static_html_and_are_released_with_their_output(
    opened: Watched, counter: Counter, tmp_path: Path
) -> None:
    page = opened.page
    page.bring_to_front()
    before = list(opened.errors)
    page.evaluate("() => window.jupyterapp.commands.execute('apputils:change-theme', { theme: 'JupyterLab Light' })")
    page.wait_for_function("() => document.body.dataset.jpThemeLight === 'true'")
    run_cell(page, VIEWS)
    outputs = page.evaluate(_OUTPUTS)
    assert len(outputs) == 7
    assert all(
        {"application/vnd.jupyter.widget-view+json", "text/html", "text/plain"} <= set(bundle) for bundle in outputs
    )
    trace = panel_of(page, "Trace of hostile")
    waterfall = trace.get_by_role("grid", name="waterfall")
    waterfall.locator("tr[data-index]").filter(
        has_text="POST /invocations"
    ).click()  # the row before it is the cold start
    expect(trace.get_by_role("table", name="attributes of the span")).to_be_visible()
    trace.get_by_role("tab", name="Spans").click()
    spans = trace.get_by_role("grid", name="spans")
    for order in ("ascending", "descending"):
        spans.get_by_role("button", name="duration_ms").click()
        expect(spans.locator(f"th[aria-sort={order}]")).to_have_text("duration_ms")
    expect(spans.locator("tr[data-index='0']")).to_contain_text("POST /invocations")
    answer = panel_of(page, "Answer of hostile")
    answer.get_by_role("tab", name="Trace").click()
    answer.get_by_role("button", name="Read the trace").click()
    expect(answer.get_by_role("grid", name="waterfall")).to_be_visible()
    run = panel_of(page, "Evaluation of speak")
    first = run.get_by_role("grid", name="cases of this run").locator("tr[data-index='0']")
    expect(first).to_contain_text("low score")
    for name in VIEW_NAMES:
        look_around(page, name)
        screenshot(page, f"display-{name.lower().replace(' ', '-')}", tmp_path)
    assert serious(page, ".jp-mod-active .loom-panel") == []
    nothing_happened(opened, counter, ".jp-OutputArea-output")
    assert opened.errors == before

    page.evaluate("() => window.jupyterapp.shell.currentWidget.content.activeCell.model.sharedModel.setOutputs([])")
    expect(page.locator(".loom-panel[aria-label='Table']")).to_have_count(0)
    deadline = time.monotonic() + 240
    while True:
        try:
            run_cell(page, "import gc\ngc.collect()\nassert held() is None, 'the table is held'")
            break
        except AssertionError:
            assert time.monotonic() < deadline, "nobody looks at the table, and it is held"


def serious(page: Page, within: str | None = None, rules: Sequence[str] = ()) -> list[tuple[str, list[str]]]:
    """What axe finds serious or critical, by these rules or by all."""
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = {"type": "rule", "values": list(rules)}
    violations = Axe().run(page, context=within, options=options).response["violations"]
    return [
        (violation["id"], [f"{node['html'][:160]} {node['failureSummary'][:200]}" for node in violation["nodes"][:3]])
        for violation in violations
        if violation["impact"] in ("serious", "critical")
    ]


def test_a_page_under_voila_shows_hostile_text_as_text(chromium: Browser, counter: Counter, tmp_path: Path) -> None:
    notebook = tmp_path / "hostile.ipynb"
    notebook.write_text(json.dumps(as_notebook([parameters(counter), SETUP, *DISPLAYS, PANELS])))
    watched = hooked(chromium)
    try:
        with running_voila(tmp_path, notebook) as address:
            watched.page.goto(address, timeout=180_000)
            for name in NAMES:
                panel_of(watched.page, name.title())
            ask(watched.page, "0:200")
            expect(watched.page.locator("body")).to_contain_text("<script>")
            for name in NAMES:
                look_around(watched.page, name.title())
            screenshot(watched.page, "hostile-voila", tmp_path)
            nothing_happened(watched, counter, ".jp-OutputArea-output")
    finally:
        watched.page.context.close()


_RAW = """from IPython.display import HTML, Markdown, SVG
for each in texts:
    display({"text/html": each, "text/plain": each}, raw=True)
    display({"text/markdown": each, "text/plain": each}, raw=True)
    display({"image/svg+xml": each, "text/plain": each}, raw=True)
    display({"text/latex": each, "application/javascript": each, "text/plain": each}, raw=True)
    print(each, file=sys.stderr)"""


def test_an_exported_report_shows_hostile_text_as_text_even_where_an_output_claims_to_be_markup(
    chromium: Browser, counter: Counter, tmp_path: Path
) -> None:
    notebook = as_notebook([PARAMETERS, SETUP, *DISPLAYS, PANELS, _RAW])
    notebook["cells"][0]["metadata"]["tags"] = ["parameters"]
    text = "\n\n".join(hostile_texts(counter))
    notebook["cells"].insert(0, {"cell_type": "markdown", "id": "m0", "metadata": {}, "source": f"# Hostile\n\n{text}"})
    (tmp_path / "hostile.ipynb").write_text(json.dumps(notebook))
    watched = hooked(chromium)
    try:
        outcome = run_report(
            tmp_path / "hostile.ipynb",
            {"beacon": counter.address},
            str(tmp_path / "out"),
            settings=Settings(home=tmp_path / "home"),
            environment={"PYTHONPATH": str(REPOSITORY)},
        )
        assert outcome.exit_code == 0, outcome.message
        page = watched.page
        page.goto(Path(outcome.html).as_uri())
        expect(page.locator("body")).to_contain_text("<script>")
        nothing_happened(watched, counter, "main")
        assert serious(page) == []
        screenshot(page, "hostile-report", tmp_path)
    finally:
        watched.page.context.close()
        local.stop(tmp_path / "home")


def hostile_texts(counter: Counter) -> list[str]:
    sys.path.insert(0, str(REPOSITORY / "tests" / "data"))
    try:
        import hostile
    finally:
        sys.path.pop(0)
    texts = [answer.text for answer in hostile.answers(counter.address)]
    assert len(texts) >= 150
    return texts


def as_notebook(cells: list[str]) -> dict[str, Any]:
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    sources = [
        {"cell_type": "code", "id": f"c{at}", "metadata": {}, "source": source, "outputs": [], "execution_count": None}
        for at, source in enumerate(cells)
    ]
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": sources}
