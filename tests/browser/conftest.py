"""One Chromium and one JupyterLab for the whole folder."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import psutil
import pytest
from kernel_template import kernel_environment, kernel_template
from playwright.sync_api import Browser, BrowserContext, Error, Page, Route, ViewportSize, expect, sync_playwright

from loomlib import local
from loomlib.reports import ReportOutcome, run_report
from loomlib.settings import JUPYTER_CONFIG, Settings

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
REPOSITORY = Path(__file__).resolve().parents[2]
DRAWN_MS = 120_000
SIZE: ViewportSize = {"width": 1200, "height": 900}
# A busy machine needs more than the five seconds that Playwright allows by default.
expect.set_options(timeout=DRAWN_MS)


@pytest.fixture(scope="package", autouse=True)
def prepared_kernels() -> Iterator[None]:
    """Fork the kernels of these tests from a prepared process (see `kernel_template`)."""
    with kernel_template() as address, pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOOM_KERNEL_TEMPLATE", address)
        yield


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    if not CHROMIUM.exists():
        pytest.skip(f"no chromium at {CHROMIUM}; on Debian: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield browser
        browser.close()


@dataclass
class Watched:
    """A page, with what went wrong on it: console errors, uncaught exceptions, requests that left the machine."""

    page: Page
    errors: list[str]
    outside: list[str]


@pytest.fixture
def watched(chromium: Browser) -> Iterator[Watched]:
    context = chromium.new_context(viewport=SIZE)
    context.set_default_timeout(DRAWN_MS)
    yield watch(context)
    context.close()


def watch(context: BrowserContext) -> Watched:
    page = context.new_page()
    watched = Watched(page=page, errors=[], outside=[])

    def only_local(route: Route) -> None:
        if re.match(r"(?:file|data|blob):|https?://127\.0\.0\.1[:/]", route.request.url):
            route.continue_()
        else:
            watched.outside.append(route.request.url)
            route.abort()

    context.route("**/*", only_local)
    page.on("console", lambda message: watched.errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: watched.errors.append(str(error)))
    return watched


_NO_DOCUMENT = """async () => {
    const app = window.jupyterapp;
    await app.serviceManager.sessions.shutdownAll();
    for (const each of [...app.shell.widgets("main")]) each.dispose();
    if (document.body.dataset.jpThemeLight !== "true") {
        await app.commands.execute("apputils:change-theme", { theme: "JupyterLab Light" });
    }
    const left = [...document.querySelectorAll(".jp-Dialog, .loom-panel")].map((each) => each.textContent);
    if (left.length) throw new Error(`the page still shows ${left}`);
}"""


@pytest.fixture(scope="package")
def open_labs() -> Iterator[list[Watched]]:
    """The page of JupyterLab that the tests of a process share, once one of them has opened it."""
    shared: list[Watched] = []
    yield shared
    for watched in shared:
        watched.page.context.close()


@pytest.fixture
def lab_page(lab: Lab, chromium: Browser, open_labs: list[Watched]) -> Iterator[Watched]:
    """A page of JupyterLab without a document and without a kernel, which tests use in turn.

    To load JupyterLab takes fifteen seconds of processor time, more than most tests of a panel. Whoever looks at the
    load itself, or must be in the page before it, asks for `watched`.
    """
    if not open_labs:
        context = chromium.new_context(viewport=SIZE)
        context.set_default_timeout(DRAWN_MS)
        open_labs.append(watch(context))
        open_labs[0].page.goto(f"{lab.url}/lab?token={lab.token}&reset")
        open_labs[0].page.locator(".jp-Launcher").wait_for(timeout=180_000)
    (watched,) = open_labs
    watched.page.bring_to_front()  # a page behind another draws one frame a second
    yield watched
    try:
        watched.page.set_viewport_size(SIZE)
        watched.page.evaluate(_NO_DOCUMENT)
        turned(watched.page)
        watched.errors.clear()
        watched.outside.clear()
    except Error:
        open_labs.clear()
        watched.page.context.close()


def show(page: Page, file: Path | str, *, charts: int = 0) -> None:
    """Open a file and wait until all its charts are drawn: they come one after the other."""
    page.goto(Path(file).as_uri())
    expect(page.locator(".js-plotly-plot")).to_have_count(charts)
    for place in range(charts):
        page.locator(".js-plotly-plot").nth(place).locator(".main-svg").first.wait_for(timeout=DRAWN_MS)


def turned(page: Page) -> None:
    """Wait until the page has done what it had to do: loads that were asked for, handlers, and a frame."""
    page.wait_for_load_state("networkidle", timeout=DRAWN_MS)
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))")


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab: its address with the token, and the folder it serves."""

    url: str
    token: str
    root: Path

    def address(self, path: str) -> str:
        return f"{self.url}/lab/tree/{path}?token={self.token}&reset"


@pytest.fixture(scope="package")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab in folders of its own, serving a copy of the notebooks; it and its kernels are gone afterwards."""
    yield from running_lab(tmp_path_factory.mktemp("lab"))


def running_lab(place: Path, *start: str) -> Iterator[Lab]:
    """JupyterLab, begun by the command `start` (Jupyter's own when none is given), in folders of its own in `place`."""
    plain = (sys.executable, "-m", "jupyterlab", "--allow-root")
    start = start or plain
    root = place / "work"
    shutil.copytree(REPOSITORY / "notebooks", root / "notebooks")
    token = secrets.token_hex(16)
    own = {
        name: str(place / name.lower()) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    }
    environment = {
        **os.environ,
        **own,
        "JUPYTERLAB_SETTINGS_DIR": str(place / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(place / "workspaces"),
        "IPYTHONDIR": str(place / "ipython"),
        "LOOM_HOME": str(place / "home"),
        **kernel_environment(),
    }
    if start == plain:  # its question about news would cover the page; `loom lab` prevents it
        environment["JUPYTER_CONFIG_PATH"] = str(JUPYTER_CONFIG)
    log = place / "lab.log"
    command = [
        *start, "--no-browser", f"--ServerApp.root_dir={root}",
        "--ServerApp.ip=127.0.0.1", "--ServerApp.port=0", f"--IdentityProvider.token={token}",
        "--LabApp.expose_app_in_browser=True",
    ]  # fmt: skip
    with log.open("w") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output, start_new_session=True)

    def address() -> str | None:
        if match := re.search(r"(http://127\.0\.0\.1:\d+)/lab", log.read_text()):
            with contextlib.suppress(URLError, TimeoutError):
                urlopen(f"{match[1]}/api", timeout=5).close()
                return match[1]
        return None

    try:
        yield Lab(url=_wait_for(process, log, address), token=token, root=root)
    finally:
        _end(process)


@contextlib.contextmanager
def running_voila(place: Path, notebook: Path) -> Iterator[str]:
    """The address of a page that Voilà makes of a notebook, with folders of its own in `place`; all ends with it."""
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "LOOM_HOME")
    environment = {**os.environ, **{name: str(place / name.lower()) for name in names}}
    (place / "share" / "voila").mkdir(parents=True)
    (place / "share" / "voila" / "templates").symlink_to(REPOSITORY / "widgets" / "voila")
    environment |= {"JUPYTER_PATH": str(place / "share"), "PYTHONPATH": str(REPOSITORY)}
    log = place / "voila.log"
    command = [sys.executable, "-m", "voila", str(notebook), "--no-browser", "--template=loom", "--port=0"]
    with log.open("w") as output:
        process = subprocess.Popen(
            [*command, "--Voila.ip=127.0.0.1"], env=environment, stdout=output, stderr=output, start_new_session=True
        )

    def address() -> str | None:
        # The log repeats the port that was asked for.
        listening = [one.laddr for one in psutil.Process(process.pid).net_connections("tcp4") if one.status == "LISTEN"]
        return f"http://127.0.0.1:{listening[0].port}/" if listening else None

    try:
        yield _wait_for(process, log, address)
    finally:
        _end(process)
        local.stop(place / "loom_home")


def _wait_for(process: subprocess.Popen[bytes], log: Path, address: Callable[[], str | None]) -> str:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline and process.poll() is None:
        if url := address():
            return url
        time.sleep(0.1)
    raise AssertionError(f"{process.args} did not come up:\n{log.read_text()[-3000:]}")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)  # SIGINT is ignored in what a background shell started
    try:
        process.wait(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture(scope="package")
def latency(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReportOutcome]:
    place = tmp_path_factory.mktemp("latency")
    yield run_report(
        "latency_study",
        {"agent": "calculator", "cold": "6", "warm": "10", "sticky": "10"},
        str(place / "out"),
        settings=Settings(home=place / "home"),
        environment=kernel_environment(),
    )
    local.stop(place / "home")


@pytest.fixture(scope="package")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, ReportOutcome]]:
    """The reports about traces, one after the other in one home: each reads the invocations of those before it."""
    place = tmp_path_factory.mktemp("traced")
    parameters = {
        "parallel_tools": {"counts": "5,30"},
        "where_time_goes": {"agent": "assistant", "max_p90_ms": "1", "allow_overload": "true"},
        "cost_report": {},
    }
    yield {
        name: run_report(
            name,
            report_parameters,
            str(place / "out"),
            settings=Settings(home=place / "home"),
            environment=kernel_environment(),
        )
        for name, report_parameters in parameters.items()
    }
    local.stop(place / "home")


_POOR_CONTRAST = """() => {
    const channels = (text) => (text.match(/[\\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
    const over = ([r, g, b, a = 1], [x, y, z]) => [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a)];
    const light = (colour) => {
        const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        const [r, g, b] = colour.map((c) => linear(c / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const paper = (node) => {
        if (!node) return channels(getComputedStyle(document.body).backgroundColor).slice(0, 3);
        const own = channels(getComputedStyle(node).backgroundColor);
        return (own[3] ?? 1) === 0 ? paper(node.parentElement) : over(own, paper(node.parentElement));
    };
    const poor = new Map();
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const node = texts.currentNode.parentElement;
        if (!texts.currentNode.data.trim() || node.closest("svg, script, style, [aria-hidden=true]")) continue;
        const style = getComputedStyle(node);
        let ink = channels(style.color);
        for (let each = node; each; each = each.parentElement) {
            ink = [...ink.slice(0, 3), (ink[3] ?? 1) * getComputedStyle(each).opacity];
        }
        const behind = paper(node);
        const [high, low] = [light(over(ink, behind)), light(behind)].sort((a, b) => b - a);
        const ratio = (high + 0.05) / (low + 0.05);
        const size = parseFloat(style.fontSize);
        if (ratio < (size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5)) {
            const what = `${node.tagName}.${node.className} ${style.color} ${ratio.toFixed(2)}`;
            poor.set(what, texts.currentNode.data.trim().slice(0, 40));
        }
    }
    return [...poor].map((each) => each.join(": "));
}"""


def poor_contrast(page: Page, scheme: str) -> list[str]:
    """The texts that WCAG 2.2 (1.4.3, AA) finds too faint in a "light" or "dark" scheme, drawings left out."""
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    return page.evaluate(_POOR_CONTRAST)
