"""Charts with their numbers: drawn where plotly is available, a table everywhere else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any, cast

import plotly.graph_objects as go

from .formats import cell, interval, percent, signed
from .html import fragment
from .theme import plain

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_ROWS = 200
"""Largest number of rows of the table; the DataFrame that the chart was drawn from has all of them."""


class Chart(go.Figure):
    """A plotly figure whose `text/html` is its title and a table of its numbers.

    JupyterLab draws the figure. An export by nbconvert, a front end without plotly and a screen reader get the table.
    """

    _ipython_display_ = None  # pyright: ignore[reportAssignmentType] -- IPython would not call the mimebundle below

    def _repr_mimebundle_(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = dict(super()._repr_mimebundle_(*args, **kwargs))  # pyright: ignore
        bundle.setdefault("text/html", str(self.numbers_html()))
        bundle["text/plain"] = f"Chart: {_title(self.to_plotly_json())[0] or 'without a title'}"
        return bundle

    def numbers_html(self) -> Markup:
        """Render title and numbers as static HTML; every text in it is escaped."""
        return numbers_html(self.to_plotly_json())


def numbers_html(figure: Mapping[str, Any]) -> Markup:
    """Render title and numbers of a figure, given as plotly's JSON."""
    title, subtitle = _title(figure)
    head, rows = numbers(figure)
    return fragment(
        "loomlib.presentation:chart.html.j2", title=title, subtitle=subtitle, head=head, rows=rows[:MOST_ROWS],
        count=len(rows),
    )  # fmt: skip


def numbers(figure: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return the table's head and rows: one row for each point or bar, in the chart's order."""
    layout: Mapping[str, Any] = figure.get("layout", {})
    rows = [row for trace in figure.get("data", ()) for row in _rows(trace, layout)]
    head = ["series", _axis_title(layout, "xaxis", "x"), _axis_title(layout, "yaxis", "y"), "begins at", "note"]
    columns = [place for place in range(len(head)) if any(row[place] for row in rows)]
    return [head[place] for place in columns], [[row[place] for place in columns] for row in rows]


def _rows(trace: Mapping[str, Any], layout: Mapping[str, Any]) -> Iterator[list[str]]:
    xs, ys, notes = _list(trace.get("x")), _list(trace.get("y")), _list(trace.get("text"))
    bases = _list(trace.get("base")) if trace.get("type") == "bar" else []
    name = plain(trace.get("name"))
    x_ticks, y_ticks = _ticks(layout.get("xaxis")), _ticks(layout.get("yaxis"))
    x_shares, y_shares = _shares(layout.get("xaxis")), _shares(layout.get("yaxis"))
    x_errors, y_errors = _errors(trace.get("error_x")), _errors(trace.get("error_y"))
    whole = zip_longest(xs, ys, bases, notes, x_errors, y_errors)
    for x, y, base, note, x_error, y_error in islice(whole, max(len(xs), len(ys))):
        if x is None and y is None:
            continue
        yield [
            name,
            _value(x, x_ticks, x_shares, x_error),
            _value(y, y_ticks, y_shares, y_error),
            _value(base, {}),
            plain(note),
        ]


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


def _errors(error: Mapping[str, Any] | None) -> list[tuple[Any, Any]]:
    up = _list((error or {}).get("array"))
    return list(zip(_list((error or {}).get("arrayminus")) or up, up, strict=False))


def _shares(axis: Mapping[str, Any] | None) -> str:
    """Return `%` for an axis of shares, `+%` for one of their differences, nothing for others."""
    form = str((axis or {}).get("tickformat") or "")
    return form.strip(".0") if form.endswith("%") else ""


def _list(values: Any) -> list[Any]:
    if values is None or isinstance(values, str | bytes | Mapping):
        return []
    if not hasattr(values, "__iter__"):
        return [values]
    return list(values.tolist() if hasattr(values, "tolist") else values)


def _value(value: Any, ticks: Mapping[Any, str], shares: str = "", error: tuple[Any, Any] | None = None) -> str:
    if value is None:
        return ""
    if isinstance(value, str | bool):
        return ticks.get(value) or plain(value)
    if not isinstance(value, int | float):
        return cell(value) if isinstance(value, date) else plain(value)
    if value in ticks and value == int(value) and not shares:
        text = ticks[value]
    elif "+" in shares:
        text = signed(value, percent)
    else:
        text = percent(value) if shares else cell(value)
    if error is None or error[0] is None or error[1] is None:
        return text
    kind = "share" if shares else "number"
    return f"{text} [{interval(value - error[0], value + error[1], kind, of=value)}]"
