"""What is within a click: the panels as launcher cards, the reports as templates, a panel under Voilà."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbformat import v4
from playwright.sync_api import Locator, Page, expect

from loomlib.reports import report_notebooks

from .conftest import DRAWN_MS, REPOSITORY, Lab, Watched, running_lab, running_voila, turned
from .panels import LOOK_MS, end_kernels, panel_of, screenshot

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LOOM = str(Path(sys.executable).with_name("loom"))
PANELS = ("Build", "Test", "Operate", "Evaluate", "Memory", "Tools")

_CLOSE = "() => { window.jupyterapp.shell.currentWidget.dispose(); }"
_DEFAULTS = """async (id) => {
    const { schema } = await window.jupyterapp.serviceManager.settings.fetch(id);
    return Object.fromEntries(Object.entries(schema.properties).map(([name, property]) => [name, property.default]));
}"""
_NO_KERNEL = """async () => {
    const sessions = window.jupyterapp.serviceManager.sessions;
    await sessions.refreshRunning();
    return [...sessions.running()].length === 0;
}"""


@pytest.fixture(scope="module")
def loom_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab as `loom lab` opens it."""
    yield from running_lab(tmp_path_factory.mktemp("loom-lab"), LOOM, "lab")


def launcher_of(lab: Lab, watched: Watched) -> Page:
    page = watched.page
    page.goto(f"{lab.url}/lab?token={lab.token}&reset")
    page.locator(".jp-Launcher").wait_for(timeout=180_000)
    return page


def cards_of(page: Page) -> Locator:
    loom = page.locator(".jp-Launcher-section", has=page.locator("h2", has_text=re.compile(r"^Loom$")))
    labels = [re.compile(rf"^{title} · \w+") for title in PANELS]  # each with what it is for
    expect(loom.locator(".jp-LauncherCard-label")).to_have_text(labels)
    icons = loom.locator(".jp-LauncherCard-icon").evaluate_all("icons => icons.map((icon) => icon.innerHTML)")
    assert len(set(icons)) == len(PANELS)
    return loom.locator(".jp-LauncherCard")


def test_a_click_on_a_card_is_all_it_takes_to_work_with_a_panel_in_any_jupyterlab(
    lab: Lab, watched: Watched, tmp_path: Path
) -> None:
    page = launcher_of(lab, watched)
    cards = cards_of(page)
    for place, title in enumerate(PANELS[:2]):
        cards.nth(place).click()
        panel = panel_of(page, title)
        if title == "Build":
            panel.get_by_role("button", name="Deploy", exact=True).click()
            expect(panel.get_by_role("status")).to_contain_text("calculator is READY")
        screenshot(page, f"launcher-{title.lower()}-panel", tmp_path)
        page.evaluate(_CLOSE)
    page.wait_for_function(_NO_KERNEL, timeout=DRAWN_MS, polling=LOOK_MS)
    assert (watched.errors, watched.outside) == ([], [])


def test_loom_lab_has_each_card_once_and_new_from_template_offers_the_reports(loom_lab: Lab, watched: Watched) -> None:
    launcher = launcher_of(loom_lab, watched)
    cards_of(launcher)
    launcher.locator(".jp-LauncherCard", has_text=re.compile("Template")).first.click()
    offered = launcher.locator(".jp-Dialog select")
    offered.first.wait_for(timeout=DRAWN_MS)
    offered.first.select_option("Loom")
    names = [f"/Loom/{name}.ipynb" for name in report_notebooks()]
    expect(offered.nth(1).locator("option")).to_have_count(len(names))
    assert sorted(offered.nth(1).locator("option").all_text_contents()) == sorted(names)
    offered.nth(1).select_option("/Loom/latency_study.ipynb")
    launcher.get_by_role("button", name="GO").click()
    launcher.locator(".jp-Notebook", has_text="latency").wait_for(timeout=DRAWN_MS)
    end_kernels(launcher)
    assert watched.outside == []


def test_loom_lab_neither_asks_about_news_nor_looks_for_updates(loom_lab: Lab, watched: Watched) -> None:
    requests: list[str] = []
    watched.page.on("request", lambda request: requests.append(request.url))
    page = launcher_of(loom_lab, watched)
    turned(page)
    expect(page.get_by_text("official Jupyter news")).to_have_count(0)
    assert not [address for address in requests if re.search("/lab/api/(news|update)", address)]
    defaults = page.evaluate(_DEFAULTS, "@jupyterlab/apputils-extension:notification")
    assert (defaults["fetchNews"], defaults["checkForUpdates"]) == ("false", False)


BUSY = """
import time
from loom_widgets.kit import Panel, action

class Clock(Panel):
    called = "Clock"

    @action
    def tick(self, form, cancel):
        while not cancel.wait(0.002):
            self.say(f"{time.monotonic():.3f}")

    def get_state(self, key=None, drop_defaults=False):
        if key is None:
            time.sleep(0.2)  # as on a busy machine: the clock ticks before the whole state is sent
        return super().get_state(key, drop_defaults)

# A busy kernel does not answer in time when the page asks for all widgets, so the page asks for each.
get_ipython().kernel.comm_manager.register_target("jupyter.widget.control", lambda comm, message: None)
clock = Clock(None)
clock.later("tick")
clock
"""


def test_panels_are_pages_under_voila_also_while_they_change(watched: Watched, tmp_path: Path) -> None:
    notebooks = shutil.copytree(REPOSITORY / "notebooks" / "panels", tmp_path / "panels")
    nbformat.write(v4.new_notebook(cells=[v4.new_code_cell(BUSY)]), notebooks / "busy.ipynb")
    with running_voila(tmp_path, notebooks) as address:
        watched.page.goto(f"{address}voila/render/test.ipynb", timeout=180_000)
        panel_of(watched.page, "Test")
        screenshot(watched.page, "voila-test-panel", tmp_path)
        watched.page.goto(f"{address}voila/render/busy.ipynb", timeout=180_000)
        failed = watched.page.get_by_text(re.compile("javascript error|model not found"))
        clock = watched.page.locator(".loom-panel[aria-label='Clock']")
        clock.or_(failed).first.wait_for(timeout=DRAWN_MS)
        expect(clock).to_be_visible()
        assert watched.outside == []
