"""A chart as a notebook shows it: drawn where plotly is, and everywhere else the numbers that it is drawn from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from html import escape
from itertools import islice, zip_longest
from typing import Any, cast

import plotly.graph_objects as go

from .theme import plain

MOST_ROWS = 200
"""Rows of the table: whoever needs more has the DataFrame that the chart was drawn from."""

_STYLE = (
    "font:13px/1.5 var(--jp-ui-font-family,system-ui,sans-serif);color:var(--jp-ui-font-color1,#212121);"
    "margin:0;overflow-x:auto"
)
_QUIET = "color:var(--jp-ui-font-color2,#616161)"


class Chart(go.Figure):
    """plotly's figure, whose `text/html` is its title and its numbers.

    JupyterLab draws it. An export by nbconvert, a front end without plotly and a screen reader get the table.
    """

    _ipython_display_ = None  # pyright: ignore[reportAssignmentType] -- it would leave the mimebundle below unasked

    def _repr_mimebundle_(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = dict(super()._repr_mimebundle_(*args, **kwargs))  # pyright: ignore
        bundle.setdefault("text/html", self.numbers_html())
        bundle["text/plain"] = f"Chart: {_title(self.to_plotly_json())[0] or 'without a title'}"
        return bundle

    def numbers_html(self) -> str:
        """Title and numbers as static HTML; every text in it is escaped."""
        return numbers_html(self.to_plotly_json())


def numbers_html(figure: Mapping[str, Any]) -> str:
    """A figure's title and numbers as static HTML, of what plotly's JSON says."""
    title, subtitle = _title(figure)
    heads, rows = numbers(figure)
    said = f"<strong>{escape(title)}</strong>" if title else ""
    said += f'<br><span style="{_QUIET}">{escape(subtitle)}</span>' if subtitle else ""
    caption = f"<figcaption>{said}</figcaption>" if said else ""
    return f'<figure class="loom-chart" style="{_STYLE}">{caption}{_table(heads, rows)}</figure>'


def numbers(figure: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of the table: one row for each thing that is drawn, in the chart's order."""
    layout: Mapping[str, Any] = figure.get("layout", {})
    rows = [row for trace in figure.get("data", ()) for row in _rows(trace, layout)]
    heads = ["series", _axis_title(layout, "xaxis", "x"), _axis_title(layout, "yaxis", "y"), "begins at", "note"]
    kept = [place for place in range(len(heads)) if any(row[place] for row in rows)]
    return [heads[place] for place in kept], [[row[place] for place in kept] for row in rows]


def _rows(trace: Mapping[str, Any], layout: Mapping[str, Any]) -> Iterator[list[str]]:
    xs, ys, notes = _list(trace.get("x")), _list(trace.get("y")), _list(trace.get("text"))
    bases = _list(trace.get("base")) if trace.get("type") == "bar" else []
    name = plain(trace.get("name"))
    x_ticks, y_ticks = _ticks(layout.get("xaxis")), _ticks(layout.get("yaxis"))
    x_doubts, y_doubts = _doubts(trace.get("error_x")), _doubts(trace.get("error_y"))
    whole = zip_longest(xs, ys, bases, notes, x_doubts, y_doubts)
    for x, y, base, note, x_doubt, y_doubt in islice(whole, max(len(xs), len(ys))):
        if x is None and y is None:
            continue
        yield [
            name,
            _value(x, x_ticks) + _interval(x, x_doubt),
            _value(y, y_ticks) + _interval(y, y_doubt),
            _value(base, {}),
            plain(note),
        ]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return f'<p style="{_QUIET}">The chart is empty.</p>'
    left = 'style="text-align:left"'
    top = "".join(f'<th scope="col" {left}>{escape(head)}</th>' for head in heads)
    body = "".join(f"<tr>{''.join(f'<td {left}>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows[:MOST_ROWS])
    more = f"<p>{len(rows) - MOST_ROWS:,} more are drawn.</p>" if len(rows) > MOST_ROWS else ""
    return (
        f"<details open><summary>the numbers of this chart ({len(rows):,})</summary>"
        f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>{more}</details>"
    )


def _title(figure: Mapping[str, Any]) -> tuple[str, str]:
    title: Any = figure.get("layout", {}).get("title")
    if not isinstance(title, dict):
        return plain(title), ""
    parts = cast("dict[str, Any]", title)
    return plain(parts.get("text")), plain(parts.get("subtitle", {}).get("text"))


def _axis_title(layout: Mapping[str, Any], name: str, otherwise: str) -> str:
    title: Any = layout.get(name, {}).get("title")
    return plain(cast("dict[str, Any]", title).get("text") if isinstance(title, dict) else title) or otherwise


def _ticks(axis: Mapping[str, Any] | None) -> dict[Any, str]:
    values, texts = _list((axis or {}).get("tickvals")), _list((axis or {}).get("ticktext"))
    return {value: plain(text) for value, text in zip(values, texts, strict=False)}


def _doubts(error: Mapping[str, Any] | None) -> list[tuple[Any, Any]]:
    up = _list((error or {}).get("array"))
    return list(zip(_list((error or {}).get("arrayminus")) or up, up, strict=False))


def _interval(value: Any, doubt: tuple[Any, Any] | None) -> str:
    if doubt is None or doubt[0] is None or doubt[1] is None or not isinstance(value, int | float):
        return ""
    return f" [{_value(value - doubt[0], {})} – {_value(value + doubt[1], {})}]"


def _list(values: Any) -> list[Any]:
    if values is None or isinstance(values, str | bytes | Mapping):
        return []
    if not hasattr(values, "__iter__"):
        return [values]
    return list(values.tolist() if hasattr(values, "tolist") else values)


def _value(value: Any, ticks: Mapping[Any, str]) -> str:
    if value is None:
        return ""
    if isinstance(value, str | bool):
        return ticks.get(value) or plain(value)
    if isinstance(value, int | float):
        if value in ticks and value == int(value):
            return ticks[value]
        whole = f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"
        return whole.replace(",", "\u2009")
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    return f"{value:%Y-%m-%d}" if isinstance(value, date) else plain(value)
