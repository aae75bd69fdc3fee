"""Charts of a memory study: recall with its intervals, recall by age, tokens as the history grows, latency."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from loomlib.presentation.formats import milliseconds, number, percent, plural
from loomlib.presentation.theme import PALETTE, SHARES, SYMBOLS, styled
from loomlib.statistics import Estimate

from .design import AGENT
from .measurements import AskedQuestion
from .result import MemoryResult

if TYPE_CHECKING:
    import plotly.graph_objects as go


_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_EMPTY = "Too few answers yet."


def figures(result: MemoryResult) -> dict[str, go.Figure]:
    """Return the charts by name: `recall`, `age`, `growth` and `latency`."""
    with_answer = [question for question in result.asked if question.is_done and question.probe.expected]
    weighed = [question for question in result.asked if question.is_done and question.needs_memory]
    where = "the agent's answer" if result.design.mode == AGENT else "what the model is given"
    return {
        "recall": _recall(result, where),
        "age": _lines(
            result,
            with_answer,
            lambda question: question.probe.age,
            lambda question: float(question.is_recalled),
            title=f"Share of facts in {where}, by how long ago they were stated",
            xaxis={"title": {"text": "sessions since it was stated"}, "dtick": 1},
            yaxis={"title": {"text": "share of questions"}, "range": [-0.04, 1.04], **SHARES},
            form=percent,
            hover="%{customdata[1]} after %{x} sessions",
        ),
        "growth": _lines(
            result,
            [question for question in weighed if question.input_tokens is not None],
            lambda question: question.probe.session,
            lambda question: float(question.input_tokens or 0),
            title="Input tokens of a question as the history grows",
            xaxis={"title": {"text": "session in which it is asked"}, "dtick": 1},
            yaxis={"title": {"text": "mean input tokens of a question"}, "rangemode": "tozero"},
            form=lambda tokens: plural(round(tokens), "token"),
            hover="%{customdata[1]} in session %{x}",
        ),
        "latency": _latency(result),
    }


def _recall(result: MemoryResult, where: str) -> go.Figure:
    """Draw recall and stale answers as points with intervals."""
    rows = [*reversed(result.arms)]
    traces = [
        *_intervals("recalled", [(str(arm.arm), arm.recall) for arm in rows], 0),
        *_intervals("a former value", [(str(arm.arm), arm.stale) for arm in rows], 1),
    ]
    return _figure(
        result,
        traces,
        title=f"Share of facts in {where}: the current value and former values (95 % intervals)",
        xaxis={"range": [-0.02, 1.02], **SHARES},
        yaxis={"categoryorder": "array", "categoryarray": [str(arm) for arm in reversed(result.design.arms)]},
        height=140 + 50 * len(result.design.arms),
    )


def _intervals(name: str, shares: Sequence[tuple[str, Estimate]], style: int) -> list[dict[str, Any]]:
    """Return a trace of points with their intervals; none when no share is known."""
    points = [
        (arm, share.value, share.low, share.high, share.n)
        for arm, share in shares
        if share.value is not None and share.low is not None and share.high is not None
    ]
    if not points:
        return []
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": name,
            "x": [value for _, value, *_ in points],
            "y": [arm for arm, *_ in points],
            "error_x": {
                "type": "data",
                "symmetric": False,
                "array": [high - value for _, value, _, high, _ in points],
                "arrayminus": [value - low for _, value, low, _, _ in points],
                "thickness": 1.4,
            },
            "customdata": [[percent(value), plural(n, "fact")] for _, value, _, _, n in points],
            "hovertemplate": "%{y}: %{customdata[0]} of %{customdata[1]}<extra>" + name + "</extra>",
            "marker": {"color": PALETTE[style], "symbol": SYMBOLS[style], "size": 10},
        }
    ]


def _lines(
    result: MemoryResult,
    questions: list[AskedQuestion],
    x: Callable[[AskedQuestion], int],
    y: Callable[[AskedQuestion], float],
    *,
    form: Callable[[float], str],
    hover: str,
    **layout: Any,
) -> go.Figure:
    """Draw one line per arm through the means of `y` at each `x`; hover shows the number of questions."""
    traces: list[dict[str, Any]] = []
    for place, arm in enumerate(result.design.arms):
        groups: dict[int, list[float]] = defaultdict(list)
        for question in questions:
            if question.arm == arm:
                groups[x(question)].append(y(question))
        if groups:
            at = sorted(groups)
            means = [sum(groups[value]) / len(groups[value]) for value in at]
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": str(arm),
                    "x": at,
                    "y": means,
                    "customdata": [
                        [number(len(groups[value])), form(mean)] for value, mean in zip(at, means, strict=True)
                    ],
                    "hovertemplate": hover + ", n %{customdata[0]}<extra>" + str(arm) + "</extra>",
                    "line": {"color": PALETTE[place % len(PALETTE)], "dash": _DASHES[place % len(_DASHES)]},
                    "marker": {"symbol": SYMBOLS[place % len(SYMBOLS)], "size": 8},
                }
            )
    return _figure(result, traces, legend_y=-0.25, **layout)


def _latency(result: MemoryResult) -> go.Figure:
    """Draw the latency of every question, one row per condition, so that mixed distributions are visible."""
    traces: list[dict[str, Any]] = []
    for place, arm in enumerate(result.design.arms):
        times = [
            question.duration_ms
            for question in result.asked
            if question.arm == arm and question.duration_ms is not None
        ]
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
                    "customdata": [[milliseconds(time)] for time in times],
                    "hovertemplate": "%{customdata[0]}<extra>" + str(arm) + "</extra>",
                }
            )
    timed = "the whole answer" if result.design.mode == AGENT else "fetching what the model is given"
    return _figure(
        result,
        traces,
        title=f"Latency: {timed}",
        xaxis={"title": {"text": "ms"}, "rangemode": "tozero"},
        yaxis={"autorange": "reversed"},
        height=140 + 60 * len(result.design.arms),
    )


def _figure(result: MemoryResult, traces: list[dict[str, Any]], *, title: str, **layout: Any) -> go.Figure:
    from loomlib.presentation.charts import Chart

    return Chart(styled(traces, title=title, subtitle=escape(result.title()), empty=_EMPTY, **layout))
