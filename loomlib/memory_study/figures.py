"""A study as charts: recall with its intervals, by age, what the context weighs as history grows, how long it takes."""

from __future__ import annotations

from collections import defaultdict
from html import escape
from typing import TYPE_CHECKING, Any

from loomlib.presentation.theme import PALETTE, SYMBOLS, styled

from .design import AGENT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import plotly.graph_objects as go

    from loomlib.statistics import Estimate

    from .measurements import Asked
    from .result import RecallResult

_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_EMPTY = "Too few answers yet."


def draw(result: RecallResult) -> dict[str, go.Figure]:
    """The charts by name: `recall`, `age`, `growth` and `latency`."""
    told = [each for each in result.asked if each.is_done and each.probe.expected]
    weighed = [each for each in result.asked if each.is_done and each.needs_memory]
    what = "said by the agent" if result.design.mode == AGENT else "given to the model"
    return {
        "recall": _recall(result, what),
        "age": _lines(
            result,
            told,
            lambda each: each.probe.age,
            lambda each: float(bool(each.score and each.score.is_recalled)),
            title=f"Is the answer {what}, by how long ago it was told?",
            xaxis={"title": {"text": "sessions since it was told"}, "dtick": 1},
            yaxis={"title": {"text": "share of questions"}, "range": [-0.04, 1.04], "tickformat": ".0%"},
            hover="%{y:.0%} after %{x} sessions",
        ),
        "growth": _lines(
            result,
            [each for each in weighed if each.input_tokens is not None],
            lambda each: each.probe.session,
            lambda each: float(each.input_tokens or 0),
            title="What a question weighs as the history grows",
            xaxis={"title": {"text": "session in which it is asked"}, "dtick": 1},
            yaxis={"title": {"text": "input tokens a question, mean"}, "rangemode": "tozero"},
            hover="%{y:,.0f} tokens in session %{x}",
        ),
        "latency": _latency(result),
    }


def _recall(result: RecallResult, what: str) -> go.Figure:
    """Recall, and stale values, as points with their intervals."""
    rows = [*reversed(result.arms)]
    traces = [
        *_intervals("recalled", [(str(each.arm), each.recall) for each in rows], 0),
        *_intervals("a former value", [(str(each.arm), each.stale) for each in rows], 1),
    ]
    return _figure(
        result,
        traces,
        title=f"How often the value that holds is {what}, and how often a former one (95 % intervals)",
        xaxis={"range": [-0.02, 1.02], "tickformat": ".0%"},
        yaxis={"categoryorder": "array", "categoryarray": [str(each) for each in reversed(result.design.arms)]},
        height=140 + 50 * len(result.design.arms),
    )


def _intervals(name: str, shares: Sequence[tuple[str, Estimate]], look: int) -> list[dict[str, Any]]:
    """A trace of points with their intervals; none when no share is known."""
    known = [
        (arm, found.value, found.low, found.high, found.n)
        for arm, found in shares
        if found.value is not None and found.low is not None and found.high is not None
    ]
    if not known:
        return []
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": name,
            "x": [value for _, value, *_ in known],
            "y": [arm for arm, *_ in known],
            "error_x": {
                "type": "data",
                "symmetric": False,
                "array": [high - value for _, value, _, high, _ in known],
                "arrayminus": [value - low for _, value, low, _, _ in known],
                "thickness": 1.4,
            },
            "customdata": [[n] for *_, n in known],
            "hovertemplate": "%{y}: %{x:.0%} of %{customdata[0]} facts<extra>" + name + "</extra>",
            "marker": {"color": PALETTE[look], "symbol": SYMBOLS[look], "size": 10},
        }
    ]


def _lines(
    result: RecallResult,
    asked: list[Asked],
    x: Callable[[Asked], int],
    y: Callable[[Asked], float],
    *,
    hover: str,
    **layout: Any,
) -> go.Figure:
    """One line an arm through the means of `y` at each `x`; hovering tells of how many questions."""
    traces: list[dict[str, Any]] = []
    for place, arm in enumerate(result.design.arms):
        groups: dict[int, list[float]] = defaultdict(list)
        for each in asked:
            if each.arm == arm:
                groups[x(each)].append(y(each))
        if groups:
            at = sorted(groups)
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": str(arm),
                    "x": at,
                    "y": [sum(groups[each]) / len(groups[each]) for each in at],
                    "customdata": [[len(groups[each])] for each in at],
                    "hovertemplate": hover + ", n %{customdata[0]}<extra>" + str(arm) + "</extra>",
                    "line": {"color": PALETTE[place % len(PALETTE)], "dash": _DASHES[place % len(_DASHES)]},
                    "marker": {"symbol": SYMBOLS[place % len(SYMBOLS)], "size": 8},
                }
            )
    return _figure(result, traces, legend_y=-0.25, **layout)


def _latency(result: RecallResult) -> go.Figure:
    """Every question's time, one row an arm: a box would hide a mixture."""
    traces: list[dict[str, Any]] = []
    for place, arm in enumerate(result.design.arms):
        times = [each.duration_ms for each in result.asked if each.arm == arm and each.duration_ms is not None]
        if times:
            traces.append(
                {
                    "type": "box",
                    "name": str(arm),
                    "x": times,
                    "boxpoints": "all",
                    "jitter": 0.5,
                    "pointpos": 0,
                    "fillcolor": "rgba(0,0,0,0)",
                    "line": {"width": 1},
                    "marker": {
                        "color": PALETTE[place % len(PALETTE)],
                        "symbol": SYMBOLS[place % len(SYMBOLS)],
                        "size": 5,
                    },
                    "showlegend": False,
                    "hovertemplate": "%{x:.1f} ms<extra>" + str(arm) + "</extra>",
                }
            )
    whole = "the whole answer" if result.design.mode == AGENT else "fetching what the model is given"
    return _figure(
        result,
        traces,
        title=f"How long it takes: {whole}",
        xaxis={"title": {"text": "ms"}, "rangemode": "tozero"},
        yaxis={"autorange": "reversed"},
        height=140 + 60 * len(result.design.arms),
    )


def _figure(result: RecallResult, traces: list[dict[str, Any]], *, title: str, **layout: Any) -> go.Figure:
    from loomlib.presentation.charts import Chart

    return Chart(styled(traces, title=title, subtitle=escape(result.title()), empty=_EMPTY, **layout))
