"""A trace with hostile span names, as a notebook shows it: text, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

import loomlib as loom
from loomlib import local

from .conftest import REPOSITORY, Watched, show, turned

HOSTILE = REPOSITORY / "tests" / "service" / "telemetry" / "truth" / "hostile"

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The static page, the plotly figure, and the tables, each as a file."""
    folder = tmp_path_factory.mktemp("hostile")
    home = folder / "home"
    with loom.connect(home=home) as bench:
        agent = bench.deploy(HOSTILE, name="hostile")
        inv = agent.invoke("Go.").raise_for_status()
        view = inv.trace()
        html_by_name = {
            "page": view._repr_html_(),
            "figure": view.figure().to_html(include_plotlyjs=True),
            "tables": "".join(
                table.to_html()
                for table in (view.spans(), view.tool_calls(), view.model_calls(), view.steps(), view.causes())
            ),
            "many": agent.telemetry.traces(last=1)._repr_html_(),
            "layers": inv.telemetry.layers()._repr_html_(),
            "invocation": inv._repr_html_(),
        }
    local.stop(home)
    files: dict[str, Path] = {}
    for name, html in html_by_name.items():
        files[name] = folder / f"{name}.html"
        files[name].write_text(f"<meta charset=utf-8><title>calm</title><body>{html}", "utf-8")
    return files


@pytest.mark.parametrize("name", ["page", "figure", "tables", "many", "layers", "invocation"])
def test_a_hostile_name_is_text_wherever_a_trace_is_shown(pages: dict[str, Path], watched: Watched, name: str) -> None:
    page = watched.page
    show(page, pages[name], charts=1 if name == "figure" else 0)
    if name == "figure":
        for bar in page.locator(".main-svg .barlayer .point path").all()[:6]:
            bar.hover(force=True)
    turned(page)
    assert page.title() == "calm"
    assert page.locator("body img").count() == 0
    assert page.locator("script").filter(has_text="taken'</").count() == 0
    assert watched.outside == []
    assert watched.errors == []
