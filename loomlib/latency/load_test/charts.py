"""Charts of a load test: percentiles and goodput over load, and where the time went."""

from __future__ import annotations

from html import escape
from typing import Any

from loomlib.presentation.formats import exact, number
from loomlib.presentation.theme import INK, PALETTE, SYMBOLS, styled
from loomlib.statistics import Estimate
from loomlib.telemetry.traces import PARTS
from loomlib.telemetry.traces.part_styles import PART_NAMES

from ..load.objectives import DURATION, TTFT, LatencyObjective
from .result import LoadResult


def latency_chart(result: LoadResult) -> dict[str, Any]:
    """Return percentiles of the latency and the goodput over load, with the limits of the SLO and the highest load."""
    steps = [step for step in result.by_load if step.figures is not None]
    objectives = [one for one in result.design.limits.objectives if isinstance(one, LatencyObjective)]
    metric = next((one.metric for one in objectives if one.metric in (TTFT, DURATION)), TTFT)
    traces: list[dict[str, Any]] = []
    for place, p in enumerate((0.5, 0.9, 0.99)):
        points = [
            (step.load, figures.estimate)
            for step in steps
            if step.figures is not None
            and (figures := (step.figures.ttft if metric == TTFT else step.figures.duration)[p]).estimate.is_known
        ]
        if points:
            traces.append(_series(f"p{number(p * 100)} {metric}, ms", points, place))
    goodput = [
        (step.load, step.figures.goodput.estimate)
        for step in steps
        if step.figures is not None and step.figures.goodput is not None and step.figures.goodput.estimate.is_known
    ]
    if goodput:
        traces.append({**_series("goodput, calls a second", goodput, 3), "yaxis": "y2", "line": {"dash": "dot"}})
    unit = "users" if result.design.is_closed_loop else "calls a second"
    drawn = styled(
        traces,
        title="Latency and goodput over load",
        subtitle=escape(result.title()),
        xaxis={"title": {"text": f"load, {unit}"}, "rangemode": "tozero"},
        yaxis={"title": {"text": f"{metric}, ms"}, "rangemode": "tozero"},
    )
    drawn["layout"]["yaxis2"] = {
        "title": {"text": "goodput, calls a second"},
        "overlaying": "y",
        "side": "right",
        "rangemode": "tozero",
        "showgrid": False,
    }
    drawn["layout"]["shapes"], drawn["layout"]["annotations"] = _lines(result, metric, objectives)
    return drawn


def parts_chart(result: LoadResult) -> dict[str, Any]:
    """Return the parts of the time of a call at the loads whose traces were read, one bar for each."""
    steps = [step for step in result.traced_steps if step.position in result.parts and result.parts[step.position].n]
    unit = "users" if result.design.is_closed_loop else "a second"
    names = [f"{number(step.load)} {unit}" for step in steps]
    traces: list[dict[str, Any]] = []
    parts = [part for part in PARTS if any(result.parts[step.position].part_ms.get(part) for step in steps)]
    for place, part in enumerate(parts):
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": PART_NAMES[part],
                "y": names,
                "x": [result.parts[step.position].part_ms.get(part, 0.0) for step in steps],
                "marker": {"color": PALETTE[place % len(PALETTE)]},
            }
        )
    return styled(
        traces,
        title="Where the time of a call went, by load",
        subtitle=escape(result.title()),
        xaxis={"title": {"text": "mean of a call, ms"}, "rangemode": "tozero"},
        yaxis={"type": "category"},
        barmode="stack",
        empty="No traces.",
        height=300,
    )


def _series(name: str, points: list[tuple[float | None, Estimate]], place: int) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": [load for load, _ in points],
        "y": [one.value for _, one in points],
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [(one.high or 0.0) - (one.value or 0.0) for _, one in points],
            "arrayminus": [(one.value or 0.0) - (one.low or 0.0) for _, one in points],
        },
        "marker": {"color": PALETTE[place], "symbol": SYMBOLS[place], "size": 8},
    }


def _lines(
    result: LoadResult, metric: str, objectives: list[LatencyObjective]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    shapes: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    for one in objectives:
        if one.metric == metric:
            line = {"color": INK, "dash": "dash", "width": 1}
            shapes.append(
                {
                    "type": "line",
                    "xref": "paper",
                    "x0": 0,
                    "x1": 1,
                    "y0": one.limit_ms,
                    "y1": one.limit_ms,
                    "line": line,
                }
            )
            notes.append(
                {"text": f"limit of {one.name}: {exact(one.limit_ms)} ms", "xref": "paper", "x": 0, "xanchor": "left",
                 "y": one.limit_ms, "yanchor": "bottom", "showarrow": False}
            )  # fmt: skip
    highest = result.found
    if highest is not None and highest.load is not None:
        line = {"color": PALETTE[1], "dash": "dash", "width": 1}
        shapes.append(
            {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": highest.load, "x1": highest.load, "line": line}
        )
        notes.append(
            {"text": f"holds {number(highest.load)}", "yref": "paper", "y": 1, "yanchor": "bottom", "x": highest.load,
             "showarrow": False}
        )  # fmt: skip
    return shapes, notes
