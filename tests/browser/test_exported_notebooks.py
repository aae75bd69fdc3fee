"""Every notebook that ships, exported twice and opened without any network: by Loom, and plainly by nbconvert.

What a reader needs is there: each heading, every word of every output, each chart's numbers, and no hole.

A notebook that nbval has just run (`LOOM_EXECUTED`) is exported as nbval left it; the others are run here.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any

import nbformat
import pytest
from executed_notebooks import executed
from nbconvert import HTMLExporter

from loomlib import local
from loomlib.presentation.theme import plain
from loomlib.reports.page import PageFacts, render_page
from loomlib.reports.summary import stated_summary, versions

from .conftest import DRAWN_MS, REPOSITORY, Watched, poor_contrast, turned

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LOOM = str(Path(sys.executable).with_name("loom"))
NOTEBOOKS = REPOSITORY / "notebooks"
EVERY = sorted(
    str(path.relative_to(NOTEBOOKS)) for path in NOTEBOOKS.rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts
)
SMALLER = {
    "reports/eval_set.ipynb": {"tags": "percent"},
    "reports/recall_study.ipynb": {"conversations": "0", "arms": "none+window,reactive+window"},
    "reports/start_up.ipynb": {"sessions": "6", "later_calls": "1"},
}
TRACED = ("reports/cost_report.ipynb", "reports/parallel_tools.ipynb", "reports/where_time_goes.ipynb")
PLOTLY = "application/vnd.plotly.v1+json"
WIDGET = "application/vnd.jupyter.widget-view+json"
NBCONVERTS_OWN = re.compile(r"https://(?:cdnjs\.cloudflare\.com|cdn\.jsdelivr\.net|unpkg\.com)/")
"""What nbconvert's page asks the web for on its own account: formulas, RequireJS. Nothing of Loom's may need it."""


@dataclass(frozen=True)
class Exported:
    """An executed notebook, and Loom's page of it."""

    notebook: Any
    page: Path


def of_outcome(notebook: str, page: str) -> Exported:
    return Exported(notebook=nbformat.read(notebook, as_version=4), page=Path(page))


def loom_report(name: str, home: Path) -> Exported:
    """The notebook run in a process of its own: several run at once, and nbclient's loops belong to one thread each."""
    arguments = [word for pair in SMALLER.get(name, {}).items() for word in ("-p", "=".join(pair))]
    # A folder for each: notebooks of different folders may have one name.
    out = home.parent / "out" / name.replace("/", "-")
    command = [LOOM, "--json", "report", str(NOTEBOOKS / name), *arguments]
    environment = {**os.environ, "LOOM_HOME": str(home), "PYTHONPATH": str(REPOSITORY)}
    result = subprocess.run([*command, "--out", str(out)], env=environment, capture_output=True, text=True, check=False)
    assert result.returncode in (0, 2), f"{name}: {result.stdout[-2000:]}\n{result.stderr[-2000:]}"
    summary = json.loads(result.stdout)
    return of_outcome(summary["notebook"], summary["html"])


def page_of(notebook: Any, name: str, folder: Path) -> Exported:
    """Loom's page of a notebook that has run already."""
    facts = PageFacts(
        report=Path(name).stem,
        command=f"loom report {name}",
        parameters={},
        begun_at=datetime.now(UTC),
        took_s=0.0,
        versions=versions(),
        summary=stated_summary(notebook),
    )
    page = folder / name.replace("/", "-").replace(".ipynb", ".html")
    page.write_text(render_page(notebook, facts), encoding="utf-8")
    return Exported(notebook=notebook, page=page)


@pytest.fixture(scope="module")
def exported(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Exported]]:
    """Runs what the chosen tests need, in two lanes that have a home each, and hands it out as it gets ready."""
    names = {
        item.callspec.params["name"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path and hasattr(item, "callspec")
    }
    pages = tmp_path_factory.mktemp("pages")
    exports = {name: page_of(notebook, name, pages) for name in names if (notebook := executed(name)) is not None}
    own = [name for name in EVERY if name in names - {*exports, *TRACED, "reports/latency_study.ipynb"}]
    runs_first = ("00", "01", "reports/compare_runs", "reports/eval_set", "workshop/solutions")
    lanes = {name: "runs" if name.startswith(runs_first) else "others" for name in own}
    homes = {lane: tmp_path_factory.mktemp(lane) / "home" for lane in sorted(set(lanes.values()))}
    for home in homes.values():
        local.start(home, local.ServiceOptions(memory_delay_s=0.02), persistent=True)
    pools = {lane: ThreadPoolExecutor(1) for lane in homes}
    running: dict[str, Future[Exported]] = {
        name: pools[lane].submit(loom_report, name, homes[lane]) for name, lane in lanes.items()
    }

    def get(name: str) -> Exported:
        if name in exports:
            return exports[name]
        if name in running:
            return running[name].result()
        fixture_name = "traced" if name in TRACED else "latency"
        outcome = request.getfixturevalue(fixture_name)
        outcome = outcome[Path(name).stem] if name in TRACED else outcome
        return of_outcome(outcome.notebook, outcome.html)

    yield get
    for pool in pools.values():
        pool.shutdown(cancel_futures=True)
    for home in homes.values():
        local.stop(home)


def outputs_of(notebook: Any) -> list[Any]:
    return [output for cell in notebook.cells for output in cell.get("outputs", ())]


def words(markup: str) -> set[str]:
    """The words of some HTML as a reader has them."""
    text = re.sub(r"<style.*?</style>|<[^>]*>", " ", markup, flags=re.S)
    return set(unescape(text).split())


def said(output: Any) -> set[str]:
    """The words that an output has for a reader who has neither a kernel nor plotly."""
    if output.output_type == "stream":
        return set(re.sub(r"\x1b\[[0-9;]*m", "", output.text).split())
    data = output.get("data", {})
    if "text/html" in data:
        return words("".join(data["text/html"]))
    return set("".join(data.get("text/plain", "")).split()) if "text/markdown" not in data else set()


def on_page(watched: Watched) -> set[str]:
    # Without the spaces between cells of a row, a table's text would run together.
    return words(watched.page.evaluate("document.body.innerHTML"))


def headings(notebook: Any) -> list[str]:
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    prose = re.sub(r"^```.*?^```", "", prose, flags=re.M | re.S)
    return [plain(re.sub(r"[*`]", "", heading)) for heading in re.findall(r"^#{1,3} (.+)$", prose, flags=re.M)]


@pytest.mark.parametrize("name", EVERY)
def test_looms_page_of_a_notebook_has_everything_for_its_reader(
    exported: Callable[[str], Exported], watched: Watched, name: str
) -> None:
    report = exported(name)
    notebook = report.notebook
    outputs = outputs_of(notebook)
    charts = sum(PLOTLY in output.get("data", {}) for output in outputs)
    page = watched.page
    page.goto(report.page.as_uri())
    for place in range(charts):
        page.locator(".figure").nth(place).locator(".main-svg").first.wait_for(timeout=DRAWN_MS)
    assert page.locator(".figure").count() == charts
    tables = sum("Numbers of this chart" in output.get("data", {}).get("text/html", "") for output in outputs)
    assert page.locator("figure details.fold").count() == tables, "each chart's numbers are below it"
    page_words = on_page(watched)
    missing = {word for output in outputs if PLOTLY not in output.get("data", {}) for word in said(output)} - page_words
    assert missing == set()
    heads = page.locator("h1, h2, h3").all_inner_texts()
    assert [title for title in headings(notebook) if not any(title in head for head in heads)] in ([], ["The answer"])
    assert page.evaluate("document.documentElement.scrollWidth") <= 1200
    page.locator("details").evaluate_all("all => all.forEach((each) => { each.open = true; })")
    assert poor_contrast(page, "light") == []
    assert poor_contrast(page, "dark") == []
    assert watched.errors == []
    assert watched.outside == []


@pytest.mark.parametrize("name", EVERY)
def test_a_plain_export_has_everything_for_its_reader(
    exported: Callable[[str], Exported], watched: Watched, tmp_path: Path, name: str
) -> None:
    report = exported(name)
    notebook = report.notebook
    assert not any(WIDGET in output.get("data", {}) for output in outputs_of(notebook))
    markup, _ = HTMLExporter().from_notebook_node(notebook)  # what `jupyter nbconvert --to html` does
    file = tmp_path / "plain.html"
    file.write_text(markup, encoding="utf-8")
    page = watched.page
    page.goto(file.as_uri())
    turned(page)
    missing = {word for output in outputs_of(notebook) for word in said(output)} - on_page(watched)
    assert missing == set()
    assert all("text/html" in output.data for output in outputs_of(notebook) if PLOTLY in output.get("data", {}))
    empty = page.evaluate(
        """() => [...document.querySelectorAll(".jp-OutputArea-output")]
            .filter((each) => !each.innerText.trim() && !each.querySelector("img, svg"))
            .map((each) => each.outerHTML.slice(0, 200))"""
    )
    assert empty == []
    assert [url for url in watched.outside if not NBCONVERTS_OWN.match(url)] == []
    assert [error for error in watched.errors if "Failed to load resource" not in error] == []
