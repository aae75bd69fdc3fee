"""A trace as charts: the waterfall of its spans, and the breakdown as one bar. Each has a table beside it.

Names of spans come from strangers, and plotly reads some HTML in its texts (bold, links, line breaks): all of it is
escaped here, so that a name is seen as it was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from .breakdown import Breakdown
from .theme import FAILED_COLOUR, GRID, INK, PART_COLOURS, PART_NAMES, PART_PATTERNS, PLOT_FONT
from .waterfall import Bar

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_BARS = 400
"""More bars than this are unreadable and slow: the longest are drawn, the table has them all."""
_LONGEST_NAME = 48
_ROW_PX = 22


def shown(text: str, longest: int = _LONGEST_NAME) -> str:
    """A stranger's text for plotly: one line, short, and inert.

    Control characters and directional overrides are replaced (they could reorder the text around them), lone
    surrogates too (they are no Unicode), markup is escaped, and dollars, between which plotly would look for TeX.
    """
    plain = "".join(each if each.isprintable() else "\ufffd" for each in text[: longest + 1])
    if len(plain) > longest:
        plain = plain[: longest - 1] + "…"
    return escape(plain, quote=False).replace("$", "&#36;")


def draw_waterfall(bars: Sequence[Bar], *, title: str = "What ran when") -> go.Figure:
    """One bar a span from its start to its end, indented by depth, coloured by the part it speaks for."""
    import plotly.graph_objects as go

    drawn = chosen(bars)
    rows = {bar.span_id: place for place, bar in enumerate(drawn)}
    traces: list[dict[str, Any]] = []
    for part in PART_COLOURS:
        mine = [bar for bar in drawn if bar.part == part]
        if mine:
            traces.append(_bars(part, mine, rows))
    left_out = len(bars) - len(drawn)
    note = f"<br><sub>the {len(drawn)} longest of {len(bars)} spans; the table has all</sub>" if left_out else ""
    figure = go.Figure(data=traces)
    figure.update_layout(
        _layout(shown(title, 120) + note, max(220, 110 + _ROW_PX * len(drawn))),
        barmode="overlay",
        xaxis={"title": {"text": "ms after the beginning"}, "gridcolor": GRID, "zeroline": False},
        yaxis={
            "autorange": "reversed",
            "tickmode": "array",
            "tickvals": list(rows.values()),
            "ticktext": ["\u00a0\u00a0" * min(bar.depth, 12) + shown(bar.label) for bar in drawn],
            "automargin": True,
        },
    )
    return figure


def chosen(bars: Sequence[Bar]) -> list[Bar]:
    """The bars that are drawn: all, or the longest in their order."""
    if len(bars) <= MOST_BARS:
        return list(bars)
    longest = {bar.span_id for bar in sorted(bars, key=lambda bar: -bar.duration_ms)[:MOST_BARS]}
    return [bar for bar in bars if bar.span_id in longest]


def _bars(part: str, bars: Sequence[Bar], rows: dict[str, int]) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": PART_NAMES[part],
        "base": [bar.start_ms for bar in bars],
        "x": [bar.duration_ms for bar in bars],
        "y": [rows[bar.span_id] for bar in bars],
        "width": 0.72,
        "customdata": [[shown(bar.label), bar.start_ms, bar.operation, _state(bar)] for bar in bars],
        "hovertemplate": "%{customdata[0]}<br>%{x:.1f} ms, from %{customdata[1]:.1f} ms<br>"
        "%{customdata[2]}%{customdata[3]}<extra></extra>",
        "marker": {
            "color": PART_COLOURS[part],
            "pattern": {"shape": PART_PATTERNS[part], "size": 6, "fgopacity": 0.5},
            "line": {
                "color": [FAILED_COLOUR if bar.is_failed else PART_COLOURS[part] for bar in bars],
                "width": [2 if bar.is_failed else 1 for bar in bars],
            },
        },
    }


def _state(bar: Bar) -> str:
    said = (["failed"] if bar.is_failed else []) + sorted(mark.replace("_", " ") for mark in bar.marks)
    return ", " + escape(", ".join(said)) if said else ""


def draw_breakdown(breakdowns: Sequence[tuple[str, Breakdown]], *, title: str = "Where the time went") -> go.Figure:
    """One stacked bar for each named breakdown; the parts are in milliseconds and add up to the whole."""
    import plotly.graph_objects as go

    labels = [shown(label) for label, _ in breakdowns]
    traces: list[dict[str, Any]] = []
    for part in PART_COLOURS:
        found = [each[part] for _, each in breakdowns]
        if any(each.duration_ns for each in found):
            traces.append(
                {
                    "type": "bar",
                    "orientation": "h",
                    "name": PART_NAMES[part],
                    "x": [each.duration_ms for each in found],
                    "y": list(range(len(found))),
                    "width": 0.6,
                    "customdata": [[each.share, each.certainty, escape(each.derived_from)] for each in found],
                    "hovertemplate": "%{x:.1f} ms, %{customdata[0]:.1%}<br>%{customdata[1]}: %{customdata[2]}"
                    f"<extra>{PART_NAMES[part]}</extra>",
                    "marker": {
                        "color": PART_COLOURS[part],
                        "pattern": {"shape": PART_PATTERNS[part], "size": 6, "fgopacity": 0.5},
                    },
                }
            )
    figure = go.Figure(data=traces)
    figure.update_layout(
        _layout(shown(title, 120), 170 + 36 * len(breakdowns)),
        barmode="stack",
        xaxis={"title": {"text": "ms"}, "gridcolor": GRID, "zeroline": False},
        yaxis={
            "autorange": "reversed",
            "tickmode": "array",
            "tickvals": list(range(len(labels))),
            "ticktext": labels,
            "automargin": True,
        },
    )
    return figure


def _layout(title: str, height: int) -> dict[str, Any]:
    return {
        "title": {
            "text": title,
            "x": 0,
            "xref": "paper",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"t": 14},
        },
        "height": height,
        "margin": {"l": 10, "r": 10, "t": 90, "b": 50},
        "font": {"family": PLOT_FONT, "color": INK, "size": 12},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "traceorder": "normal"},
    }
