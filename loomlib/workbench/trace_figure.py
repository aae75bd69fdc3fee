"""A trace as a plotly waterfall; the same numbers are in `TraceView.spans()` and in its page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Final

from .cards import milliseconds
from .trace_look import PART_COLOURS, PART_NAMES, PART_PATTERNS, label

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from ..telemetry.traces import Bar, Breakdown

_INK: Final = "#767b84"
_GRID: Final = "rgba(128,128,128,0.22)"
_FONT: Final = "system-ui, -apple-system, 'Segoe UI', sans-serif"


def waterfall_figure(bars: Sequence[Bar], breakdown: Breakdown, *, title: str) -> go.Figure:
    """One bar a span, parents above their children, under a line of the breakdown's stretches.

    Plotly reads a few HTML tags in its texts; a span's name is a stranger's, so it is escaped.
    """
    import plotly.graph_objects as go

    lanes = ["where the time went", *(_lane(place, bar) for place, bar in enumerate(bars, 1))]
    traces: list[dict[str, Any]] = []
    for part, name in PART_NAMES.items():
        pieces = [
            (lanes[0], (at - breakdown.start_ns) / 1e6, (end - at) / 1e6, escape(name))
            for found, at, end in breakdown.timeline()
            if found == part
        ]
        pieces += [
            (lanes[place], bar.start_ms, bar.duration_ms, _hover(bar))
            for place, bar in enumerate(bars, 1)
            if bar.part == part
        ]
        if pieces:
            traces.append(
                {
                    "type": "bar",
                    "orientation": "h",
                    "name": name,
                    "y": [piece[0] for piece in pieces],
                    "base": [piece[1] for piece in pieces],
                    "x": [piece[2] for piece in pieces],
                    "text": [piece[3] for piece in pieces],
                    "textposition": "none",
                    "hovertemplate": "%{text}<br>after %{base:.1f} ms, took %{x:.1f} ms<extra></extra>",
                    "marker": {
                        "color": PART_COLOURS[part],
                        "line": {"width": 0},
                        "pattern": {"shape": PART_PATTERNS[part], "fgcolor": "rgba(255,255,255,0.5)"},
                    },
                }
            )
    layout: dict[str, Any] = {
        "title": {
            "text": f"Where {milliseconds(breakdown.total_ms)} went",
            "subtitle": {"text": escape(title), "font": {"size": 11}},
            "font": {"size": 14},
            "x": 0,
            "xref": "paper",
        },
        "barmode": "overlay",
        "font": {"family": _FONT, "color": _INK, "size": 12},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 10, "r": 10, "t": 70, "b": 85},
        "height": 175 + 24 * len(lanes),
        "legend": {"orientation": "h", "y": 0, "yref": "container", "yanchor": "bottom"},
        "xaxis": {"title": {"text": "ms after the request was sent"}, "gridcolor": _GRID, "zeroline": False},
        "yaxis": {
            "categoryorder": "array",
            "categoryarray": lanes,
            "autorange": "reversed",
            "automargin": True,
            "tickvals": lanes,
            "ticktext": [lanes[0], *(_indented(bar) for bar in bars)],
        },
    }
    return go.Figure(data=traces, layout=layout)


def _lane(place: int, bar: Bar) -> str:
    return f"{place}: {bar.span_id}"


def _indented(bar: Bar) -> str:
    return "\u00a0\u00a0" * min(bar.depth, 12) + escape(label(bar.label)[:40])


def _hover(bar: Bar) -> str:
    failed = " · failed" if bar.is_failed else ""
    return f"{escape(label(bar.label))} · {PART_NAMES[bar.part]} · {milliseconds(bar.duration_ms)}{failed}"
