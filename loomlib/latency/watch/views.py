"""A watch as a chart and as static HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from loomlib.presentation.formats import figure as figure_text
from loomlib.presentation.html import fragment
from loomlib.presentation.theme import SHARES, inert_text, styled

from ..theme import FAILED_COLOUR
from .drawing import BAD_COLOUR, levels, nights_drawing, style_of, version_marks
from .method import METHOD_NOTES
from .result import FigureHistory, WatchResult

if TYPE_CHECKING:
    import plotly.graph_objects as go

_UNITS = {"ms": "ms", "share": "share", "USD": "USD", "number": "score"}


def watch_page(result: WatchResult) -> str:
    """Return the page of a watch: the answer, the table, the nights of the figure that changed, and the method."""
    from loomlib.presentation.charts import numbers_html

    head, rows = result.text_table()
    history = _chosen(result, None, None)
    return str(
        fragment(
            "loomlib.latency.watch:watch.html.j2",
            title=result.title(),
            sentences=result.sentences(),
            head=head,
            rows=rows,
            drawing=nights_drawing(history, result) if history and history.at else "",
            caption=f"{history.figure.title}, one value a night" if history else "",
            chart=numbers_html(_spec(history, result)) if history else "",
            notes=METHOD_NOTES,
        )
    )


def nights_figure(result: WatchResult, subject: str | None, metric: str | None) -> go.Figure:
    """Return a chart of one figure over the nights: a dot per night, a line per level, and the versions.

    Args:
        result: The watch.
        subject: The scenario, evaluator or eval set; by default that of the newest regression, or change.
        metric: The figure; by default likewise.
    """
    from loomlib.presentation.charts import Chart

    history = _chosen(result, subject, metric)
    if history is None:
        names = ", ".join(f"{one.figure.subject} {one.figure.metric}" for one in result.histories)
        raise ValueError(f"{subject or 'anything'}, {metric or 'any figure'} is not watched, only {names}")
    return Chart(_spec(history, result))


def _chosen(result: WatchResult, subject: str | None, metric: str | None) -> FigureHistory | None:
    changed = [change.figure for change in (*result.regressions, *result.changes, *result.earlier)]
    order = [*changed, *(history.figure for history in result.histories)]
    for figure in order:
        if subject in (None, figure.subject) and metric in (None, figure.metric):
            return next(history for history in result.histories if history.figure == figure)
    return None


def _spec(history: FigureHistory, result: WatchResult) -> dict[str, Any]:
    figure, style = history.figure, style_of(history.figure)
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": "a night",
            "x": [at.isoformat() for at in history.at],
            "y": list(history.values),
            "text": [
                f"{figure_text(value, figure.kind)}{f', version {inert_text(version)}' if version else ''}"
                for value, version in zip(history.values, history.versions, strict=True)
            ],
            "hovertemplate": "%{x|%d %b %Y}<br>%{text}<extra></extra>",
            "marker": {"color": style.colour, "symbol": style.symbol, "size": 7},
        },
        *_levels(history, result),
    ]
    unit = _UNITS[figure.kind]
    spec = styled(
        traces,
        title=f"{escape(figure.title[0].upper() + figure.title[1:])}, one value a night",
        subtitle=escape(result.title()),
        xaxis={"title": {"text": "night"}, "type": "date"},
        yaxis={"title": {"text": unit}, "rangemode": "tozero", **(SHARES if figure.kind == "share" else {})},
        empty="No night with enough calls yet.",
    )
    spec["layout"] |= _version_lines(history)
    return spec


def _version_lines(history: FigureHistory) -> dict[str, Any]:
    """Return dotted lines at the first night of each version, as a part of a chart's layout."""
    marks = version_marks(history)
    line = {"dash": "dot", "width": 1, "color": FAILED_COLOUR}
    return {
        "shapes": [
            {"type": "line", "x0": day, "x1": day, "yref": "paper", "y0": 0, "y1": 1, "line": line}
            for day in [at.isoformat() for at, _ in marks]
        ],
        "annotations": [
            {
                "x": at.isoformat(), "y": 0, "yref": "paper", "xanchor": "left", "yanchor": "bottom",
                "text": escape(name), "showarrow": False,
            }
            for at, name in marks
        ],
    }  # fmt: skip


def _levels(history: FigureHistory, result: WatchResult) -> list[dict[str, Any]]:
    """Draw the median between two changes as a line; that of a regression has another colour and dash."""
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "name": f"level: {level.state}",
            "x": [level.begin.isoformat(), level.end.isoformat()],
            "y": [level.value, level.value],
            "text": [figure_text(level.value, history.figure.kind)] * 2,
            "hovertemplate": "median %{text}<extra></extra>",
            "line": {
                "width": 2,
                "dash": "dash" if level.is_regression else "solid",
                "color": BAD_COLOUR if level.is_regression else FAILED_COLOUR,
            },
        }
        for level in levels(history, result)
    ]
