"""Charts of where time went: every invocation by its parts, an annotated timeline, prompt growth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from loomlib.presentation.formats import milliseconds, number
from loomlib.presentation.theme import inert_text, styled
from loomlib.telemetry.traces import PARTS, Bar
from loomlib.telemetry.traces.figures import WHOLE_LANE, lane
from loomlib.telemetry.traces.part_styles import PART_COLOURS, PART_NAMES, PART_PATTERNS

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from loomlib.workbench.trace_view import TraceView

SHOWN_SPANS = 40
"""Largest number of spans in a timeline, for readability; `TraceView.spans()` has all."""

_MANY = ("execute_tool", "other")


def part_marker(name: str) -> dict[str, Any]:
    """Return a part's colour and pattern, the same on every page."""
    return {
        "color": PART_COLOURS[name],
        "pattern": {"shape": PART_PATTERNS[name], "fgcolor": "rgba(0,0,0,0.25)", "size": 6},
    }


def every_invocation(views: Sequence[TraceView], *, subtitle: str) -> go.Figure:
    """Return a stacked bar per invocation, in order."""
    from loomlib.presentation.charts import Chart

    places = [str(place) for place in range(1, len(views) + 1)]
    traces: list[Mapping[str, Any]] = []
    for name in PARTS:
        amounts = [view.breakdown()[name].duration_ms for view in views]
        if any(amounts):
            traces.append(
                {
                    "type": "bar",
                    "name": PART_NAMES[name],
                    "x": places,
                    "y": amounts,
                    "customdata": [[milliseconds(amount)] for amount in amounts],
                    "hovertemplate": f"invocation %{{x}}: {PART_NAMES[name]} %{{customdata[0]}}<extra></extra>",
                    "marker": part_marker(name),
                }
            )
    return Chart(
        styled(
            traces,
            title="Every invocation by the parts of its time",
            subtitle=inert_text(subtitle, 400),
            empty="No invocation has spans.",
            xaxis={"title": {"text": "invocation, the newest on the right"}, "type": "category"},
            yaxis={"title": {"text": "ms"}, "rangemode": "tozero"},
            barmode="stack",
        )
    )


def bars_to_draw(view: TraceView) -> list[Bar]:
    """Return the spans to draw, in order: all, or `SHOWN_SPANS`, preferring those of the agent and models to tools.

    A hundred tools at once must not hide the two model calls around them; among equals the longest are chosen.
    """
    bars = view.bars()
    longest = {
        bar.span_id for bar in sorted(bars, key=lambda bar: (bar.operation in _MANY, -bar.duration_ms))[:SHOWN_SPANS]
    }
    return [bar for bar in bars if bar.span_id in longest]


def annotated(view: TraceView, numbers: Sequence[str]) -> go.Figure:
    """Return the waterfall of an invocation, with each finding's number at the longest span it names."""
    drawn = bars_to_draw(view)
    figure = view.figure_of(drawn)
    bars = {bar.span_id: (place, bar) for place, bar in enumerate(drawn, 1)}
    offsets: dict[str, int] = {}
    notes: list[dict[str, Any]] = []
    for mark, finding in zip(numbers, view.findings().findings, strict=False):
        named_bars = [bars[span_id] for span_id in finding.span_ids if span_id in bars]
        place, bar = max(named_bars, key=lambda entry: entry[1].duration_ms, default=(0, None))
        named_lane = WHOLE_LANE if bar is None else lane(place, bar)
        end_ms = 0.0 if bar is None else bar.start_ms + bar.duration_ms
        offsets[named_lane] = offsets.get(named_lane, -1) + 1
        notes.append(
            {
                "x": end_ms,
                "y": named_lane,
                "text": f"<b>{mark}</b>",
                "showarrow": False,
                "xanchor": "left",
                "xshift": 3 + 18 * offsets[named_lane],
                "font": {"size": 15},
            }
        )
    figure.update_layout(annotations=notes)
    return figure


def token_growth(cycles: Sequence[Mapping[str, Any]], *, subtitle: str) -> go.Figure:
    """Return input and output tokens of each cycle of a session, in order."""
    from loomlib.presentation.charts import Chart

    with_tokens = [cycle for cycle in cycles if cycle["read"] is not None]
    labels = [f"{cycle['invocation']}.{cycle['turn']}" for cycle in with_tokens]
    series = (("read", "tokens read", "model"), ("written", "tokens written", "tools"))
    traces: list[Mapping[str, Any]] = [
        {
            "type": "bar",
            "name": name,
            "x": labels,
            "y": [cycle[key] for cycle in with_tokens],
            "marker": part_marker(part),
            "customdata": [[number(cycle[key])] for cycle in with_tokens],
            "hovertemplate": f"turn %{{x}}: %{{customdata[0]}} {name}<extra></extra>",
        }
        for key, name, part in series
        if with_tokens
    ]
    return Chart(
        styled(
            traces,
            title="Input and output tokens by cycle",
            subtitle=inert_text(subtitle, 400),
            empty="No span states its tokens.",
            xaxis={"title": {"text": "invocation.turn"}, "type": "category"},
            yaxis={"title": {"text": "tokens"}, "rangemode": "tozero"},
            height=320,
            legend_y=-0.3,
        )
    )
