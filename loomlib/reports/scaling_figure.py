"""The chart of the parallel-tools study: each part by number of tools, with a published run as dashed lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from statistics import median
from typing import TYPE_CHECKING, Any

from loomlib.presentation.formats import exact, milliseconds
from loomlib.presentation.theme import styled
from loomlib.telemetry.traces.part_styles import PART_COLOURS

from .scaling_runs import ScalingRun

if TYPE_CHECKING:
    import plotly.graph_objects as go


_LINES = (
    ("total_ms", "whole", "#767b84", "circle"),
    ("first_ms", "model, 1st call", PART_COLOURS["cold_start"], "square"),
    ("second_ms", "model, 2nd call", PART_COLOURS["model"], "diamond"),
    ("tools_ms", "tools", PART_COLOURS["tools"], "triangle-up"),
)
_TICKS_MS = (10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000)


def scaling_figure(
    runs: Sequence[ScalingRun], published: Mapping[int, tuple[float, float, float, int]], *, subtitle: str
) -> go.Figure:
    """Return every run as a mark and the medians as lines, on logarithmic axes; the published figures are dashed.

    Args:
        runs: The measurements.
        published: The published figures (`PUBLISHED`).
        subtitle: The chart's subtitle.
    """
    from loomlib.presentation.charts import Chart

    counts = sorted({run.asked for run in runs})
    traces: list[dict[str, Any]] = []
    for name, label, colour, symbol in _LINES:
        if not runs:
            break
        values = [median(getattr(run, name) for run in runs if run.asked == count) for count in counts]
        look = {"color": colour, "symbol": symbol}
        traces.append(_line(label, counts, values, {"color": colour, "width": 2}, look | {"size": 8}))
        if len(runs) > len(counts):
            traces.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "x": [run.asked for run in runs],
                    "y": [getattr(run, name) for run in runs],
                    "marker": look | {"size": 6, "opacity": 0.5},
                    "showlegend": False,
                    "customdata": [[milliseconds(getattr(run, name))] for run in runs],
                    "hovertemplate": f"{label}: %{{x}} tools, %{{customdata[0]}}<extra></extra>",
                }
            )
    note = list(published)
    for place, (_, label, colour, symbol) in enumerate(_LINES[:3]):
        values = [published[count][place] for count in note]
        dashed = {"color": colour, "width": 1.2, "dash": "dash"}
        traces.append(
            _line(
                f"field note: {label}", note, values, dashed, {"color": colour, "symbol": f"{symbol}-open", "size": 8}
            )
        )
    ticks = sorted({*counts, *note})
    return Chart(
        styled(
            traces,
            title="From 5 to 100 tools at once",
            subtitle=f"{escape(subtitle)} · dashed: the field note's run on AgentCore with Claude Sonnet 4",
            xaxis={
                "title": {"text": "tools called at once"},
                "type": "log",
                "tickmode": "array",
                "tickvals": ticks,
                "ticktext": [str(tick) for tick in ticks],
            },
            yaxis={
                "title": {"text": "ms"},
                "type": "log",
                "tickvals": list(_TICKS_MS),
                "ticktext": [exact(tick) for tick in _TICKS_MS],
            },
            height=460,
        )
    )


def _line(
    name: str, x: Sequence[int], y: Sequence[float], line: dict[str, Any], marker: dict[str, Any]
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": list(x),
        "y": list(y),
        "line": line,
        "marker": marker,
        "customdata": [[milliseconds(value)] for value in y],
        "hovertemplate": f"{name}: %{{x}} tools, %{{customdata[0]}}<extra></extra>",
    }
