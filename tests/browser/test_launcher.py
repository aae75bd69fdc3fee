"""What is within a click: the panels as launcher cards, the reports as templates, a panel under Voilà."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest
from playwright.sync_api import Locator, Page, expect

from loomlib import local
from loomlib.reports import report_notebooks

from .conftest import DRAWN_MS, REPOSITORY, Lab, Watched, running_lab
from .panels import end_kernels, panel_of, screenshot

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LOOM = str(Path(sys.executable).with_name("loom"))
PANELS = ("Build", "Test", "Operate", "Evaluate", "Memory")

_CLOSE = "() => { window.jupyterapp.shell.currentWidget.dispose(); }"
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
    expect(loom.locator(".jp-LauncherCard-label")).to_have_text(labels, timeout=DRAWN_MS)
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
            expect(panel.get_by_role("status")).to_contain_text("calculator is READY", timeout=DRAWN_MS)
        screenshot(page, f"launcher-{title.lower()}-panel", tmp_path)
        page.evaluate(_CLOSE)
    page.wait_for_function(_NO_KERNEL, timeout=DRAWN_MS)
    assert (watched.errors, watched.outside) == ([], [])


def test_loom_lab_has_each_card_once_and_new_from_template_offers_the_reports(loom_lab: Lab, watched: Watched) -> None:
    launcher = launcher_of(loom_lab, watched)
    cards_of(launcher)
    launcher.locator(".jp-LauncherCard", has_text=re.compile("Template")).first.click()
    offered = launcher.locator(".jp-Dialog select")
    offered.first.wait_for(timeout=DRAWN_MS)
    offered.first.select_option("Loom")
    expect(offered.nth(1).locator("option")).to_have_text(
        [f"/Loom/{name}.ipynb" for name in sorted(report_notebooks())]
    )
    offered.nth(1).select_option("/Loom/latency_study.ipynb")
    launcher.get_by_role("button", name="GO").click()
    launcher.locator(".jp-Notebook", has_text="latency").wait_for(timeout=DRAWN_MS)
    end_kernels(launcher)
    assert watched.outside == []


@pytest.fixture
def voila(tmp_path: Path) -> Iterator[str]:
    """The Test panel's notebook, served by Voilà; what it started is gone afterwards."""
    shutil.copytree(REPOSITORY / "notebooks" / "panels", tmp_path / "panels")
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "LOOM_HOME")
    environment = {**os.environ, **{name: str(tmp_path / name.lower()) for name in names}}
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    shutil.copytree(REPOSITORY / "widgets" / "voila", tmp_path / "share" / "voila" / "templates")
    environment["JUPYTER_PATH"] = str(tmp_path / "share")
    command = [sys.executable, "-m", "voila", "panels/test.ipynb", "--no-browser", "--template=loom"]
    command += ["--Voila.ip=127.0.0.1"]
    with (tmp_path / "voila.log").open("w") as log:
        process = subprocess.Popen(
            [*command, f"--port={port}"], cwd=tmp_path, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.send_signal(signal.SIGTERM)  # SIGINT is ignored in what a background shell started
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        local.stop(tmp_path / "loom_home")


def test_a_panel_is_a_page_under_voila(voila: str, watched: Watched, tmp_path: Path) -> None:
    page = watched.page
    deadline = time.monotonic() + 120
    while True:
        try:
            urlopen(voila + "voila/static/", timeout=5).close()
            break
        except HTTPError:
            break
        except (URLError, TimeoutError):
            assert time.monotonic() < deadline
            time.sleep(0.2)
    page.goto(voila, timeout=180_000)
    panel_of(page, "Test")
    screenshot(page, "voila-test-panel", tmp_path)
    assert watched.outside == []
