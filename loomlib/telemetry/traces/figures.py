"""A trace as charts: the waterfall of its spans, and breakdowns as bars. Each has a table beside it.

Span names are untrusted, and plotly reads some HTML in its texts (bold, links, line breaks): all of it is
escaped here, so that a name is seen as it was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loomlib.presentation.formats import milliseconds, percent
from loomlib.presentation.theme import GRID, INK, PLOT_FONT, inert_text

from .bars import Bar
from .part_styles import FAILED_COLOUR, PART_COLOURS, PART_NAMES, PART_PATTERNS
from .parts import Breakdown

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_BARS = 400
"""More bars than this would be unreadable and slow: only the longest are drawn; the table has them all."""
WHOLE_LANE = "where the time went"
"""The line above the spans that shows the segments of the breakdown."""
_ROW_PX = 24


def draw_waterfall(
    bars: Sequence[Bar], breakdown: Breakdown | None = None, *, title: str = "What ran when", subtitle: str = ""
) -> go.Figure:
    """Draw one bar per span from start to end, indented by depth, coloured by its part of the breakdown.

    Args:
        bars: The spans; the lanes are named as `lane` says.
        breakdown: Drawn as one line of its parts above the spans, when given.
        title: The figure's title.
        subtitle: The line below the title.
    """
    from loomlib.presentation.charts import Chart

    drawn = chosen(bars)
    lanes = [*([] if breakdown is None else [WHOLE_LANE]), *(lane(place, bar) for place, bar in enumerate(drawn, 1))]
    places = {bar.span_id: lane(place, bar) for place, bar in enumerate(drawn, 1)}
    stretches = [] if breakdown is None else list(breakdown.timeline())
    zero_ns = 0 if breakdown is None else breakdown.start_ns
    traces: list[dict[str, Any]] = []
    for part, name in PART_NAMES.items():
        pieces = [
            _Piece(WHOLE_LANE, (at - zero_ns) / 1e6, (end - at) / 1e6, name)
            for stretch_part, at, end in stretches
            if stretch_part == part
        ]
        pieces += [
            _Piece(places[bar.span_id], bar.start_ms, bar.duration_ms, _label(bar), bar.is_failed)
            for bar in drawn
            if bar.part == part
        ]
        if pieces:
            traces.append(_bars(part, pieces))
    left_out = len(bars) - len(drawn)
    note = f"the {len(drawn)} longest of {len(bars)} spans; the table has all" if left_out else ""
    under = " · ".join(filter(None, (inert_text(subtitle, 400), note)))
    layout = _layout(inert_text(title, 120), under, 175 + _ROW_PX * len(lanes))
    layout |= {
        "barmode": "overlay",
        "xaxis": {"title": {"text": "ms after the beginning"}, "gridcolor": GRID, "zeroline": False},
        "yaxis": {
            "categoryorder": "array",
            "categoryarray": lanes,
            "autorange": "reversed",
            "automargin": True,
            "tickmode": "array",
            "tickvals": lanes,
            "ticktext": [*([] if breakdown is None else [WHOLE_LANE]), *map(_indented, drawn)],
        },
    }
    return Chart(data=traces, layout=layout)


def lane(place: int, bar: Bar) -> str:
    """Return the axis label of a bar.

    Args:
        place: The bar's position, from 1, among those that are drawn.
        bar: The bar.
    """
    return f"{place}: {inert_text(bar.span_id)}"


def chosen(bars: Sequence[Bar]) -> list[Bar]:
    """Return the bars to draw: all, or the longest in their order."""
    if len(bars) <= MOST_BARS:
        return list(bars)
    longest = {bar.span_id for bar in sorted(bars, key=lambda bar: -bar.duration_ms)[:MOST_BARS]}
    return [bar for bar in bars if bar.span_id in longest]


def draw_breakdown(breakdowns: Sequence[tuple[str, Breakdown]], *, title: str = "Where the time went") -> go.Figure:
    """Draw one stacked bar for each named breakdown; the parts, in milliseconds, add up to the total."""
    from loomlib.presentation.charts import Chart

    labels = [inert_text(label) for label, _ in breakdowns]
    traces: list[dict[str, Any]] = []
    for part, name in PART_NAMES.items():
        parts = [breakdown[part] for _, breakdown in breakdowns]
        if any(part_time.duration_ns for part_time in parts):
            traces.append(
                {
                    "type": "bar",
                    "orientation": "h",
                    "name": name,
                    "x": [part_time.duration_ms for part_time in parts],
                    "y": list(range(len(parts))),
                    "width": 0.6,
                    "customdata": [
                        [
                            milliseconds(part_time.duration_ms),
                            percent(part_time.share),
                            part_time.certainty,
                            inert_text(part_time.derived_from, 160),
                        ]
                        for part_time in parts
                    ],
                    "hovertemplate": "%{customdata[0]}, %{customdata[1]}<br>%{customdata[2]}: %{customdata[3]}"
                    f"<extra>{name}</extra>",
                    "marker": {"color": PART_COLOURS[part], "pattern": _pattern(part)},
                }
            )
    layout = _layout(inert_text(title, 120), "", 170 + 36 * len(breakdowns))
    layout |= {
        "barmode": "stack",
        "xaxis": {"title": {"text": "ms"}, "gridcolor": GRID, "zeroline": False},
        "yaxis": {
            "autorange": "reversed",
            "tickmode": "array",
            "tickvals": list(range(len(labels))),
            "ticktext": labels,
            "automargin": True,
        },
    }
    return Chart(data=traces, layout=layout)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A segment of a lane; `label` is safe to insert as HTML."""

    lane: str
    start_ms: float
    duration_ms: float
    label: str
    is_failed: bool = False


def _bars(part: str, pieces: Sequence[_Piece]) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": PART_NAMES[part],
        "y": [piece.lane for piece in pieces],
        "base": [piece.start_ms for piece in pieces],
        "x": [piece.duration_ms for piece in pieces],
        "width": 0.72,
        "text": [piece.label for piece in pieces],
        "textposition": "none",
        "customdata": [[milliseconds(piece.start_ms), milliseconds(piece.duration_ms)] for piece in pieces],
        "hovertemplate": "%{text}<br>after %{customdata[0]}, took %{customdata[1]}<extra></extra>",
        "marker": {
            "color": PART_COLOURS[part],
            "pattern": _pattern(part),
            "line": {
                "color": [FAILED_COLOUR if piece.is_failed else PART_COLOURS[part] for piece in pieces],
                "width": [2 if piece.is_failed else 0 for piece in pieces],
            },
        },
    }


def _label(bar: Bar) -> str:
    notes = (["failed"] if bar.is_failed else []) + sorted(mark.replace("_", " ") for mark in bar.marks)
    return " · ".join((inert_text(bar.label, 80), bar.operation.replace("_", " "), *map(inert_text, notes)))


def _indented(bar: Bar) -> str:
    return "\u00a0\u00a0" * min(bar.depth, 12) + inert_text(bar.label)


def _pattern(part: str) -> dict[str, Any]:
    return {"shape": PART_PATTERNS[part], "size": 6, "fgcolor": "rgba(255,255,255,0.5)"}


def _layout(title: str, subtitle: str, height: int) -> dict[str, Any]:
    return {
        "title": {
            "text": title,
            **({"subtitle": {"text": subtitle, "font": {"size": 11}}} if subtitle else {}),
            "font": {"size": 14},
            "x": 0,
            "xref": "paper",
        },
        "height": height,
        "margin": {"l": 10, "r": 10, "t": 70, "b": 85},
        "font": {"family": PLOT_FONT, "color": INK, "size": 12},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "legend": {"orientation": "h", "y": 0, "yref": "container", "yanchor": "bottom", "traceorder": "normal"},
    }
