"""Every chart brings its numbers as a table: for exports without plotly, and for readers who cannot see it."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import plotly.io as pio
import pytest

from loomlib.presentation.charts import MOST_ROWS, Chart
from loomlib.presentation.formats import number
from loomlib.presentation.theme import SHARES, inert_text, plain, styled

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>"
PLOTLY_MIME = "application/vnd.plotly.v1+json"


def chart(*traces: dict[str, object], **axes: dict[str, object]) -> Chart:
    layout = {"xaxis": {"title": {"text": "ms"}}, "yaxis": {}, **axes}
    return Chart(styled(traces, title="Calls", subtitle="echo · simulated", **layout))


def cells(markup: str) -> list[list[str]]:
    return [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in re.findall(r"<tr>(.*?)</tr>", markup)]


def test_a_chart_is_drawn_by_plotly_and_tabulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pio.renderers, "default", "plotly_mimetype")
    bundle = chart({"type": "bar", "name": "cold", "x": [1.5, 2000], "y": ["a", "b"]})._repr_mimebundle_()
    assert bundle[PLOTLY_MIME]["data"][0]["name"] == "cold"
    assert "<strong>Calls</strong>" in bundle["text/html"]
    assert "echo · simulated" in bundle["text/html"]
    assert cells(bundle["text/html"]) == [["series", "ms", "y"], ["cold", "1.5", "a"], ["cold", "2\u202f000", "b"]]
    assert bundle["text/plain"] == "Chart: Calls"


def test_intervals_ticks_times_and_notes_are_in_the_table() -> None:
    markup = chart(
        {
            "type": "scatter",
            "name": "recall",
            "x": [0.5],
            "error_x": {"type": "data", "array": [0.2], "arrayminus": [0.1]},
            "y": [0],
            "text": ["first<br>second"],
        },
        {"type": "scatter", "name": "then", "x": [datetime(2026, 11, 22, 5, 0, tzinfo=UTC)], "y": [1]},
        yaxis={"tickvals": [0, 1], "ticktext": ["reactive", "proactive"]},
    ).numbers_html()
    assert cells(markup)[1:] == [
        ["recall", "0.50 [0.40–0.70]", "reactive", "first second"],
        ["then", "2026-11-22 05:00:00 UTC", "proactive", "–"],
    ]


def test_shares_are_percentages_in_the_table_and_on_the_axis() -> None:
    axis = {**SHARES, "title": {"text": "share"}}
    drawn = chart({"type": "bar", "x": [1, 0.425, 0.0004], "y": ["a", "b", "c"]}, xaxis=axis)
    assert [row[0] for row in cells(drawn.numbers_html())[1:]] == ["100\u00a0%", "42.5\u00a0%", "0.04\u00a0%"]
    assert drawn.layout.xaxis.ticktext[1] == "20 %"
    marks = {
        "type": "scatter",
        "x": [0.5],
        "error_x": {"type": "data", "array": [0.2], "arrayminus": [0.1]},
        "y": ["a"],
    }
    assert cells(chart(marks, xaxis=axis).numbers_html())[1] == ["50\u00a0% [40–70]", "a"]
    change = chart({"type": "bar", "x": [0.025, -0.01], "y": ["a", "b"]}, xaxis={"tickformat": "+.0%"})
    assert [row[0] for row in cells(change.numbers_html())[1:]] == ["+2.5\u00a0%", "−1\u00a0%"]


def test_hostile_text_is_text_and_reads_as_it_was_written() -> None:
    markup = chart(
        {"type": "bar", "name": inert_text(HOSTILE, 100), "x": [1], "y": [inert_text(HOSTILE, 100)]}
    ).numbers_html()
    assert "<script" not in markup
    assert "<img" not in markup
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in markup
    assert plain(inert_text(HOSTILE, 100)) == HOSTILE
    assert inert_text(number(12345)) == "12\u202f345"


def test_a_chart_of_nothing_reports_it_and_a_large_one_is_cut() -> None:
    assert "The chart is empty." in chart().numbers_html()
    many = chart({"type": "scatter", "x": list(range(MOST_ROWS + 50)), "y": [1] * (MOST_ROWS + 50)}).numbers_html()
    assert len(cells(many)) == MOST_ROWS + 1
    assert "50 more are drawn." in many
