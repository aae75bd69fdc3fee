"""Charts of a study of gateways."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from loomlib.presentation.theme import PALETTE, SHARES, SYMBOLS, styled
from loomlib.statistics.estimates import Estimate

from .design import CALLS, CHOICES
from .estimates import choice_estimates, recall_estimates
from .result import GatewayResult
from .tables import SIMULATED


def call_chart(result: GatewayResult) -> dict[str, Any]:
    """Return every call in its order, by way."""
    traces: list[dict[str, Any]] = []
    for place, (way, name) in enumerate(CALLS.items()):
        units = [unit for unit in result.measured if unit.way == way and unit.is_done]
        if units:
            traces.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": name,
                    "x": [unit.position for unit in units],
                    "y": [unit.duration_ms for unit in units],
                    "marker": {"color": PALETTE[place], "symbol": SYMBOLS[place], "size": 8},
                }
            )
    return styled(
        traces,
        title="Every tool call, in order",
        subtitle=escape(result.title()),
        xaxis={"title": {"text": "position in the order"}},
        yaxis={"title": {"text": "whole answer, ms"}, "rangemode": "tozero"},
    )


def choice_chart(result: GatewayResult) -> dict[str, Any]:
    """Return the share of right tools by way, and the recall of the search, by the number of tools."""
    estimates = choice_estimates(result)
    mark = f" ({SIMULATED})" if result.is_simulated else ""
    series = {
        f"{label}{mark}": [(one.tools, one.right) for one in estimates if one.way == way]
        for way, label in CHOICES.items()
    }
    series["recall@10 of the search (no model)"] = [(one.tools, one.recall[10]) for one in recall_estimates(result)]
    return styled(
        _lines(series),
        title="Right tool, by the number of tools",
        subtitle=escape(result.title()),
        xaxis=_sizes(result),
        yaxis={"title": {"text": "share of the questions"}, **SHARES, "range": [0, 1.05]},
    )


def token_chart(result: GatewayResult) -> dict[str, Any]:
    """Return the tokens of a request to the model by way and by the number of tools."""
    estimates = choice_estimates(result)
    mark = f" ({SIMULATED})" if result.is_simulated else ""
    series = {
        f"{label}{mark}": [(one.tools, one.tokens) for one in estimates if one.way == way]
        for way, label in CHOICES.items()
    }
    return styled(
        _lines(series),
        title="Input tokens of a request, by the number of tools",
        subtitle=escape(result.title()),
        xaxis=_sizes(result),
        yaxis={"title": {"text": f"tokens, median{mark}"}, "rangemode": "tozero"},
    )


def _lines(series: dict[str, list[tuple[int, Estimate]]]) -> list[dict[str, Any]]:
    traces: list[dict[str, Any]] = []
    for place, (name, points) in enumerate(series.items()):
        known_points = [(tools, estimate) for tools, estimate in points if estimate.value is not None]
        if known_points:
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": name,
                    "x": [tools for tools, _ in known_points],
                    "y": [estimate.value for _, estimate in known_points],
                    "error_y": _interval([estimate for _, estimate in known_points]),
                    "marker": {"color": PALETTE[place], "symbol": SYMBOLS[place], "size": 8},
                    "line": {"color": PALETTE[place]},
                }
            )
    return traces


def _interval(estimates: Sequence[Estimate]) -> dict[str, Any]:
    return {
        "type": "data",
        "symmetric": False,
        "array": [(one.high or 0.0) - (one.value or 0.0) for one in estimates],
        "arrayminus": [(one.value or 0.0) - (one.low or 0.0) for one in estimates],
    }


def _sizes(result: GatewayResult) -> dict[str, Any]:
    sizes = result.design.sizes
    ticks = {"tickmode": "array", "tickvals": list(sizes), "ticktext": [str(size) for size in sizes]}
    return {"title": {"text": "tools of the catalogue"}, "type": "log", **ticks}
