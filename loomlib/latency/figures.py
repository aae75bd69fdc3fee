"""Charts of a latency study: every call in order, the distributions, and where the time goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import floor as floor_of
from math import log10
from typing import TYPE_CHECKING, Any

from loomlib.presentation.formats import exact, milliseconds, percent, size
from loomlib.presentation.theme import SHARES, styled

from .floor import Floor
from .measurements import Measurement, of_scenario
from .mixtures import Mixture, MixturePart
from .parts import split_time
from .result import StudyResult
from .scenarios import Scenario
from .theme import FAILED_COLOUR, FAILED_SYMBOL, PART_COLOURS, PART_PATTERNS, SCENARIO_STYLES

if TYPE_CHECKING:
    import plotly.graph_objects as go


# A linear axis shows a factor of 8 well; beyond it the fast scenario is a line at the bottom.
_LOG_FROM = 8
_DASHES = {Scenario.COLD: "solid", Scenario.WARM: "dash", Scenario.STICKY: "dot"}


def figures(result: StudyResult) -> dict[str, go.Figure]:
    """Return the charts by name: `calls`, `distribution` and `time`."""
    calls, floor, subtitle = result.calls, result.floor, result.title()
    return {
        "calls": _figure(_calls(calls), subtitle),
        "distribution": _figure(_distribution(calls, _mixtures(result)), subtitle),
        "time": _figure(_time(calls, floor), subtitle),
    }


def _calls(measurements: Sequence[Measurement]) -> dict[str, Any]:
    """Draw every call as a dot at its position in the order; failed calls are at the lower edge."""
    durations_ms = [call.duration_ms for call in measurements if call.is_done and call.duration_ms is not None]
    traces: list[dict[str, Any]] = []
    for scenario in Scenario:
        calls = [call for call in of_scenario(measurements, scenario) if call.is_done]
        if calls:
            traces.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": scenario.value,
                    "x": [call.position for call in calls],
                    "y": [call.duration_ms for call in calls],
                    "customdata": [
                        [call.block, milliseconds(call.duration_ms), milliseconds(call.ttft_ms)] for call in calls
                    ],
                    "hovertemplate": "call %{x}, block %{customdata[0]}<br>%{customdata[1]}, first byte "
                    "%{customdata[2]}<extra>" + scenario.value + "</extra>",
                    "marker": _marker(scenario),
                }
            )
    failed = [call for call in measurements if call.is_failed]
    if failed:
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": "failed (no duration)",
                "x": [call.position for call in failed],
                "y": [min(durations_ms, default=1.0) * 0.8] * len(failed),
                "text": [f"{call.scenario}: {call.failure}" for call in failed],
                "hovertemplate": "call %{x}<br>failed, %{text}<extra></extra>",
                "marker": {"color": FAILED_COLOUR, "symbol": FAILED_SYMBOL, "size": 9},
            }
        )
    return {
        "traces": traces,
        "title": "Every call, in the order it was made",
        "xaxis": {"title": {"text": "position in the order"}, "zeroline": False},
        "yaxis": {"title": {"text": "whole answer, ms"}, **_scale(durations_ms)},
    }


def _mixtures(result: StudyResult) -> dict[Scenario, Mixture]:
    return {item.scenario: item.mixture for item in result.estimates().scenarios if item.mixture is not None}


def _distribution(measurements: Sequence[Measurement], mixtures: Mapping[Scenario, Mixture]) -> dict[str, Any]:
    """Draw the share of calls answered within a time, one mark per call; a mixture's kinds have a thin line each."""
    traces: list[dict[str, Any]] = []
    everything: list[float] = []
    for scenario in Scenario:
        durations = sorted(
            call.duration_ms for call in of_scenario(measurements, scenario) if call.duration_ms is not None
        )
        everything += durations
        if durations:
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": f"{scenario.value} (n {len(durations)})",
                    "x": durations,
                    "y": [(rank + 1) / len(durations) for rank in range(len(durations))],
                    "line": {
                        "shape": "hv",
                        "width": 1.2,
                        "color": SCENARIO_STYLES[scenario].colour,
                        "dash": _DASHES[scenario],
                    },
                    "marker": _marker(scenario),
                    "customdata": [
                        [percent(rank / len(durations)), milliseconds(duration)]
                        for rank, duration in enumerate(durations, 1)
                    ],
                    "hovertemplate": "%{customdata[0]} within %{customdata[1]}<extra>" + scenario.value + "</extra>",
                }
            )
        if (mixture := mixtures.get(scenario)) is not None:
            traces += [_part_line(scenario, part) for part in (mixture.fast, mixture.slow)]
    return {
        "traces": traces,
        "title": "Share of calls answered within a time",
        "xaxis": {"title": {"text": "whole answer, ms"}, **_scale(everything)},
        "yaxis": {"title": {"text": "share of calls"}, "range": [0, 1.04], **SHARES},
    }


def _time(measurements: Sequence[Measurement], floor: Floor) -> dict[str, Any]:
    """Draw each scenario's time as stacked shares, as known from the client and the start lines."""
    bars: dict[str, dict[str, Any]] = {}
    for scenario in reversed(Scenario):
        for part in split_time(measurements, floor, scenario):
            bar = bars.setdefault(
                part.key,
                {
                    "type": "bar",
                    "orientation": "h",
                    "name": part.label,
                    "x": [],
                    "y": [],
                    "text": [],
                    "textposition": "inside",
                    "insidetextanchor": "middle",
                    "insidetextfont": {"color": "#111"},
                    "customdata": [],
                    "hovertemplate": "%{y}: %{customdata[0]}<extra>" + part.label + "</extra>",
                    "marker": {
                        "color": PART_COLOURS[part.key],
                        "pattern": {"shape": PART_PATTERNS[part.key], "fgcolor": "rgba(0,0,0,0.25)", "size": 6},
                    },
                },
            )
            bar["x"].append(part.share)
            bar["customdata"].append([percent(part.share)])
            bar["y"].append(scenario.value)
            bar["text"].append(percent(part.share) if part.share >= 0.04 else "")
    return {
        "traces": [bars[key] for key in PART_COLOURS if key in bars],
        "title": "Where the time goes, measured from outside the agent",
        "xaxis": {"title": {"text": "share of the scenario's time"}, "range": [0, 1], **SHARES},
        "yaxis": {"categoryorder": "array", "categoryarray": [scenario.value for scenario in reversed(Scenario)]},
        "barmode": "stack",
        "height": 300,
        "legend_y": -0.42,
    }


def _part_line(scenario: Scenario, part: MixturePart) -> dict[str, Any]:
    """Draw the distribution of one kind of calls of a mixture."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"{scenario.value}, {part.label} (n {part.n})",
        "x": list(part.durations_ms),
        "y": [rank / part.n for rank in range(1, part.n + 1)],
        "line": {"shape": "hv", "width": 1, "color": SCENARIO_STYLES[scenario].colour, "dash": "longdashdot"},
        "opacity": 0.6,
        "hoverinfo": "name",
    }


def _marker(scenario: Scenario) -> dict[str, Any]:
    style = SCENARIO_STYLES[scenario]
    return {"color": style.colour, "symbol": style.symbol, "size": 7, "opacity": 0.85}


def _scale(values: Sequence[float]) -> dict[str, Any]:
    if not values or min(values) <= 0 or max(values) / min(values) <= _LOG_FROM:
        return {"rangemode": "tozero"}
    steps = (1, 2, 5) if max(values) / min(values) < 2000 else (1,)
    first, last = floor_of(log10(min(values))) - 1, floor_of(log10(max(values))) + 1
    ticks = [step * 10.0**power for power in range(first, last + 1) for step in steps]
    return {"type": "log", "tickmode": "array", "tickvals": ticks, "ticktext": [exact(tick) for tick in ticks]}


def _figure(spec: Mapping[str, Any], subtitle: str) -> go.Figure:
    from loomlib.presentation.charts import Chart

    layout = {name: value for name, value in spec.items() if name != "traces"}
    return Chart(styled(spec["traces"], subtitle=escape(subtitle), **layout))


def floor_note(floor: Floor) -> str:
    """Return a line about the harness floor."""
    if not floor.durations_ms:
        return f"Harness floor not measured ({floor.reason})."
    ordered = sorted(floor.durations_ms)
    return (
        f"Harness floor {milliseconds(ordered[len(ordered) // 2])} (median of {len(ordered)} calls by the same client "
        f"to a process that does nothing: {floor.content_type}, {size(floor.size_bytes)})."
    )
