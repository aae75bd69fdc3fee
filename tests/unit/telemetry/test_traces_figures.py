"""The charts of a trace: one bar a span, parts that add up, strangers' names as inert text."""

from __future__ import annotations

import pytest
from trace_shapes import field_note_request, span

from loomlib.presentation.theme import inert_text
from loomlib.telemetry.traces import Trace
from loomlib.telemetry.traces.figures import MOST_BARS, WHOLE_LANE, draw_breakdown, draw_waterfall


def test_the_waterfall_has_a_bar_for_each_span() -> None:
    trace = Trace.one(field_note_request())
    figure = draw_waterfall(trace.waterfall())
    assert sum(len(bars.x) for bars in figure.data) == len(trace.spans)
    assert len(figure.layout.yaxis.ticktext) == len(trace.spans)
    (model,) = [bars for bars in figure.data if bars.name == "model"]
    assert list(model.x) == [2916, 1489]
    assert list(model.base) == [60, 3090]


def test_the_bars_of_a_breakdown_add_up_to_the_whole() -> None:
    breakdown = Trace.one(field_note_request()).breakdown()
    figure = draw_breakdown([("one", breakdown), ("two", breakdown)])
    assert sum(bars.x[0] for bars in figure.data) == pytest.approx(4613)


def test_names_are_shown_as_they_were_written() -> None:
    hostile = "<b>x</b><a href='javascript:alert(1)'>y</a> $x^2$ & \u202e\ud800\n"
    text = inert_text(hostile, 200)
    assert not set("<>$\u202e\ud800\n") & set(text)
    assert text.startswith("&lt;b&gt;x&lt;/b&gt;")
    trace = Trace.one([span("a", None, "execute_tool", 0, 5, name=hostile)])
    drawn = draw_waterfall(trace.waterfall(), title=hostile).to_json()
    assert "<b>" not in drawn
    assert "<a" not in drawn


def test_of_too_many_spans_the_longest_are_drawn_and_it_reports_it() -> None:
    spans = [span(f"s{place}", None, "other", 0, place) for place in range(MOST_BARS + 50)]
    figure = draw_waterfall(Trace.one(spans).waterfall())
    assert len(figure.layout.yaxis.ticktext) == MOST_BARS
    assert f"of {MOST_BARS + 50} spans" in figure.layout.title.subtitle.text


def test_above_the_spans_lies_the_whole_in_its_parts() -> None:
    trace = Trace.one(field_note_request())
    figure = draw_waterfall(trace.waterfall(), trace.breakdown(), subtitle="one $request$ <b>of many</b>")
    assert figure.layout.yaxis.ticktext[0] == WHOLE_LANE
    stretches = [x for bars in figure.data for x, y in zip(bars.x, bars.y, strict=True) if y == WHOLE_LANE]
    assert sum(stretches) == pytest.approx(4613)
    assert figure.layout.title.subtitle.text == "one &#36;request&#36; &lt;b&gt;of many&lt;/b&gt;"
