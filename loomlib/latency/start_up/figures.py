"""The chart of a study of session starts: the share of each part on each platform."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from loomlib.presentation.formats import milliseconds, percent
from loomlib.presentation.theme import SHARES, styled

from .parts import PARTS, platform_starts, process_starts
from .result import StartUpResult

if TYPE_CHECKING:
    import plotly.graph_objects as go

# The Okabe–Ito colours, as PALETTE and two more, and one of Tol's; patterns tell neighbours apart without colour.
_STYLES = {
    "preparation": ("#999999", ""),
    "boot": ("#0072B2", "/"),
    "imports": ("#D55E00", ""),
    "restore": ("#009E73", "\\"),
    "network": ("#CC79A7", ""),
    "first_ping": ("#E69F00", "x"),
    "warm_up": ("#332288", "|"),
    "ready": ("#F0E442", "-"),
    "first_request": ("#56B4E9", "."),
}
_LEAST_LABELLED = 0.06


def figures(result: StartUpResult) -> dict[str, go.Figure]:
    """Return the chart `shares`: the share of each part in what a new session costs, by platform."""
    from loomlib.presentation.charts import Chart

    starts = [start for start in (*platform_starts(result), *process_starts(result)) if start.parts]
    traces: list[dict[str, Any]] = []
    for name, label in PARTS.items():
        bars = [
            (start.label, part) for start in starts if (part := start.find(name)) is not None and part.share is not None
        ]
        if not bars:
            continue
        colour, pattern = _STYLES[name]
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": label,
                "x": [part.share for _, part in bars],
                "y": [platform for platform, _ in bars],
                "text": [
                    milliseconds(part.mean_ms) if (part.share or 0) >= _LEAST_LABELLED else "" for _, part in bars
                ],
                "textposition": "inside",
                "insidetextanchor": "middle",
                "customdata": [[milliseconds(part.mean_ms), percent(part.share)] for _, part in bars],
                "hovertemplate": f"%{{y}}: {label} %{{customdata[1]}}, mean %{{customdata[0]}}<extra></extra>",
                "marker": {
                    "color": colour,
                    "pattern": {"shape": pattern, "fgcolor": "rgba(0,0,0,0.25)", "size": 6},
                },
            }
        )
    chart = styled(
        traces,
        title="Where the time of a new session goes",
        subtitle=escape(result.title()),
        xaxis={"title": {"text": "share of what a new session costs"}, **SHARES, "range": [0, 1]},
        yaxis={"autorange": "reversed"},
        barmode="stack",
        empty="The parts of a start are not recorded here.",
        height=280,
        legend_y=-0.45,
    )
    return {"shares": Chart(chart)}
