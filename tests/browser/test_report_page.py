"""A report's page in a real browser: opened from disk, every address outside the machine blocked."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from nbformat import v4
from playwright.sync_api import Browser

from loomlib.reports import ReportOutcome, run_report
from loomlib.reports.outputs import PLOTLY_MIME
from loomlib.reports.page import PageFacts, render_page
from loomlib.settings import Settings

from .conftest import Watched, show, turned, watch

pytestmark = pytest.mark.browser
SAMPLE = Path(__file__).resolve().parents[1] / "notebooks" / "sample_report.ipynb"
HOSTILE = "<script>document.title='taken'</script><img src=https://evil.example/x onerror=\"document.title='taken'\">"


@pytest.fixture(scope="package")
def sample(tmp_path_factory: pytest.TempPathFactory) -> ReportOutcome:
    place = tmp_path_factory.mktemp("report")
    return run_report(
        SAMPLE, {"hostile": HOSTILE, "count": "12"}, str(place / "out"), settings=Settings(home=place / "home")
    )


def test_tables_and_charts_are_there_without_any_network(sample: ReportOutcome, watched: Watched) -> None:
    page = watched.page
    show(page, sample.html, charts=2)
    assert page.locator(".scatterlayer .point").count() == 12
    assert page.locator(".barlayer .point").count() == 2
    assert page.locator("table.dataframe td").all_inner_texts()[:3] == ["cold", "12", "318.25"]
    assert page.locator("td.num").first.evaluate("cell => getComputedStyle(cell).textAlign") == "right"
    assert watched.errors == []
    assert watched.outside == []


def test_a_page_with_charts_is_at_most_1_5_mb(sample: ReportOutcome, latency: ReportOutcome) -> None:
    for outcome in (sample, latency):
        assert Path(outcome.html).stat().st_size <= 1_500_000


def test_a_browser_that_cannot_inflate_reports_it_and_keeps_the_tables(sample: ReportOutcome, watched: Watched) -> None:
    page = watched.page
    page.add_init_script("delete window.DecompressionStream")
    page.goto(Path(sample.html).as_uri())
    page.get_by_text("The charts on this page were not drawn").wait_for()
    assert page.locator("table.dataframe td").all_inner_texts()[:3] == ["cold", "12", "318.25"]


def test_without_javascript_the_page_states_where_the_numbers_are(sample: ReportOutcome, chromium: Browser) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(Path(sample.html).as_uri())
    page.get_by_text("The charts on this page were not drawn").wait_for()
    context.close()


def test_a_chart_beyond_the_small_bundle_is_drawn_by_the_whole_of_plotly(tmp_path: Path, watched: Watched) -> None:
    figure = {
        "data": [
            {"type": "sankey", "node": {"label": ["a", "b"]}, "link": {"source": [0], "target": [1], "value": [2]}}
        ]
    }
    cell = v4.new_code_cell("figure", outputs=[v4.new_output("display_data", {PLOTLY_MIME: figure})])
    facts = PageFacts(
        report="other", command="loom report other", parameters={}, begun_at=datetime.now(UTC), took_s=1.0, versions={}
    )
    file = tmp_path / "page.html"
    file.write_text(render_page(v4.new_notebook(cells=[cell]), facts), "utf-8")
    show(watched.page, file, charts=1)
    assert watched.page.locator(".sankey-link").count() == 1
    assert watched.errors == []


def test_a_wide_table_uses_the_width_of_a_large_screen(tmp_path: Path, chromium: Browser) -> None:
    columns = [f"measured_{number}_ms" for number in range(9)]
    cells = "".join(f"<th>{name}</th>" for name in columns), "".join("<td>1 234.5</td>" for _ in columns)
    table = f"<table class='dataframe'><thead><tr>{cells[0]}</tr></thead><tbody><tr>{cells[1]}</tr></tbody></table>"
    cell = v4.new_code_cell("table", outputs=[v4.new_output("display_data", {"text/html": table})])
    facts = PageFacts(
        report="wide", command="loom report wide", parameters={}, begun_at=datetime.now(UTC), took_s=1.0, versions={}
    )
    file = tmp_path / "page.html"
    file.write_text(render_page(v4.new_notebook(cells=[cell]), facts), "utf-8")
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.goto(file.as_uri())
    box = page.locator(".html")
    assert box.evaluate("box => box.scrollWidth <= box.clientWidth")
    assert page.locator("table.dataframe").first.evaluate("table => table.offsetWidth") > 1016
    context.close()


def test_the_charts_of_a_page_use_its_width(sample: ReportOutcome, latency: ReportOutcome, chromium: Browser) -> None:
    for outcome, charts in ((sample, 2), (latency, 4)):
        context = chromium.new_context(viewport={"width": 1440, "height": 900})
        page = context.new_page()
        show(page, outcome.html, charts=charts)
        widths = page.evaluate("""() => [...document.querySelectorAll(".figure")].map((figure) => {
            const drawn = [...figure.querySelectorAll(".bglayer .bg, .gridlayer")];
            const widths = drawn.map((part) => part.getBoundingClientRect().width);
            return Math.max(...widths) / document.querySelector("main").clientWidth;
        })""")
        assert len(widths) == charts
        assert min(widths) > 0.9
        context.close()


@pytest.mark.parametrize("width", [1200, 390])
def test_a_word_of_five_thousand_characters_widens_neither_page_nor_table(
    tmp_path: Path, chromium: Browser, width: int
) -> None:
    word = "W" * 5_000
    rows = f"<thead><tr><th>short</th><th>{word}</th></tr></thead><tbody><tr><td>12</td><td>{word}</td></tr></tbody>"
    outputs = [
        v4.new_output("display_data", {"text/html": f"<table class='dataframe'>{rows}</table><p>{word}</p>"}),
        v4.new_output("display_data", {"text/plain": word}),
    ]
    words = v4.new_markdown_cell(
        f"# {word}\n\n## {word}\n\n{word}\n\n- {word}\n\n| a | b |\n|---|---|\n| {word} | 1 |\n\n`{word}`"
    )
    facts = PageFacts(
        report=word,
        command=f"loom report {word}",
        parameters={word: word},
        begun_at=datetime.now(UTC),
        took_s=1.0,
        versions={word: word},
    )
    file = tmp_path / "page.html"
    notebook = v4.new_notebook(cells=[words, v4.new_code_cell(word, outputs=outputs)])
    file.write_text(render_page(notebook, facts), "utf-8")
    context = chromium.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    page.goto(file.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    for table in page.locator("table").all():
        assert table.evaluate("table => table.offsetWidth") <= 1_600
    context.close()


def test_the_answer_is_on_the_first_screen(sample: ReportOutcome, watched: Watched) -> None:
    show(watched.page, sample.html, charts=2)
    box = watched.page.locator(".answer").bounding_box()
    assert box
    assert box["y"] + box["height"] < 400


def test_hostile_text_is_shown_and_does_nothing(sample: ReportOutcome, watched: Watched) -> None:
    page = watched.page
    show(page, sample.html, charts=2)
    assert page.get_by_text("<script>document.title='taken'").count() >= 1
    assert page.title().startswith("How fast is a sample?")
    assert page.locator("main img").count() == 0
    assert watched.outside == []


def test_an_injected_script_or_handler_is_refused_by_the_pages_own_policy(
    sample: ReportOutcome, watched: Watched
) -> None:
    page = watched.page
    show(page, sample.html, charts=2)
    page.evaluate(
        """() => {
        const holder = document.createElement("div");
        holder.innerHTML = `<img src="data:," onerror="document.title = 'taken'">`;
        document.body.append(holder);
        const script = document.createElement("script");
        script.textContent = "document.title = 'taken'";
        document.body.append(script);
        }"""
    )
    turned(page)
    assert page.title().startswith("How fast is a sample?")
    assert any("Content Security Policy" in error for error in watched.errors)


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (1200, "dark"), (390, "light")])
def test_nothing_is_cut_off_at_any_width_and_text_stands_out_in_any_scheme(
    sample: ReportOutcome, chromium: Browser, width: int, scheme: str
) -> None:
    context = chromium.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)  # type: ignore[arg-type]
    watched = watch(context)
    show(watched.page, sample.html, charts=2)
    assert watched.page.evaluate("document.documentElement.scrollWidth") == width
    ink, paper = (
        watched.page.evaluate(f"getComputedStyle(document.body).{name}") for name in ("color", "backgroundColor")
    )
    assert ink != paper
    tick = watched.page.locator(".xtick text").first.evaluate("text => getComputedStyle(text).fill")
    assert tick == ink, "charts follow the page's colours"
    context.close()


def test_code_is_folded_and_opens_on_demand(sample: ReportOutcome, watched: Watched) -> None:
    page = watched.page
    show(page, sample.html, charts=2)
    code = page.locator("details.code").first
    assert not code.locator("pre").is_visible()
    code.locator("summary").click()
    assert code.locator("pre").is_visible()


def test_the_latency_report_shows_answer_tables_and_charts(latency: ReportOutcome, watched: Watched) -> None:
    assert latency.exit_code == 0, latency.message
    page = watched.page
    show(page, latency.html, charts=4)
    inside = page.locator("table.dataframe").filter(has_text="cold − warm").locator("tbody th").all_inner_texts()
    assert {"cold start", "agent overhead", "model"} <= set(inside)
    answer = page.locator(".answer")
    # On V2 a first call restores the snapshot, and its agent touches the memory for the first time.
    slower, new_session = r"What is slower when cold: (cold start|agent overhead) \+", "A new session costs"
    if answer.get_by_text("The machine was overloaded").count():  # then six pairs of calls may show no difference
        slower, new_session = f"{slower}|No part of a cold call", f"{new_session}|show no difference between a new"
    assert answer.get_by_text(re.compile(slower)).count() == 1
    assert answer.get_by_text(re.compile(new_session)).count() == 1
    assert page.locator(".js-plotly-plot").first.locator(".scatterlayer .point").count() == 26
    assert page.locator("table.dataframe").first.locator("tbody th").all_inner_texts() == ["cold", "warm", "sticky"]
    box = answer.bounding_box()
    assert box
    assert box["y"] + box["height"] < 700, "the answer is on the first screen"
    assert watched.errors == []
    assert watched.outside == []


@pytest.mark.parametrize(
    ("name", "charts", "says"),
    [
        ("where_time_goes", 3, "of the time goes to"),
        ("cost_report", 1, "Runtime (CPU and memory): $"),
        ("parallel_tools", 1, "30 tools of 100 ms took"),
    ],
)
def test_a_report_about_traces_is_whole_without_any_network(
    traced: dict[str, ReportOutcome], watched: Watched, name: str, charts: int, says: str
) -> None:
    outcome = traced[name]
    assert outcome.exit_code in (0, 2), outcome.message
    page = watched.page
    show(page, outcome.html, charts=charts)
    assert page.locator(".answer").get_by_text(says).count() == 1
    assert page.locator("table.dataframe").count() >= 2, "the numbers of each chart stand beside it"
    assert page.evaluate("document.documentElement.scrollWidth") == 1200
    box = page.locator(".answer").bounding_box()
    assert box
    assert box["y"] + box["height"] < 700, "the answer is on the first screen"
    assert watched.errors == []
    assert watched.outside == []


def test_a_gate_that_every_call_misses_is_missed_however_few_there_are(
    traced: dict[str, ReportOutcome], watched: Watched
) -> None:
    outcome = traced["where_time_goes"]
    # Eight sample calls are too few for a 90th percentile, but each is above the limit.
    assert outcome.exit_code == 2
    assert outcome.summary["gates"][0]["outcome"] == "missed"
    show(watched.page, outcome.html, charts=3)
    assert watched.page.locator(".answer").get_by_text("Gate missed").count() >= 1
