"""The layout that all charts share, and escaping of untrusted text for plotly."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape, unescape
from typing import Any

from .formats import NARROW_SPACE, percent

INK = "#767b84"
"""Text and axes: a contrast of about 4.5 : 1 on white and on dark pages, since a chart does not know its page."""
GRID = "rgba(128,128,128,0.22)"
PLOT_FONT = "system-ui, -apple-system, 'Segoe UI', sans-serif"

_SPACES = f"\u00a0{NARROW_SPACE}"
_PLOTLY_TAGS = re.compile(r"</?(?:b|i|em|sub|sup|br|span|a)\b[^<>]*>")

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's colours (Color Universal Design, 2008), distinguishable for colour-blind readers."""
SHARES: Mapping[str, Any] = {
    "tickformat": ".0%",
    "tickmode": "array",
    "tickvals": [0, 0.2, 0.4, 0.6, 0.8, 1],
    "ticktext": [percent(fifth / 5) for fifth in range(6)],
}
"""Settings of an axis of shares from 0 to 1; the chart's table shows its values as percentages."""
SYMBOLS = ("circle", "square", "diamond", "cross", "triangle-up", "star")
"""One pattern for each colour of the palette, so that colour is never the only distinction."""


def styled(
    traces: Sequence[Mapping[str, Any]],
    *,
    title: str,
    subtitle: str,
    xaxis: Mapping[str, Any],
    yaxis: Mapping[str, Any],
    empty: str = "No answered call yet.",
    barmode: str = "group",
    height: int = 380,
    legend_y: float = -0.2,
) -> dict[str, Any]:
    """Return `traces` as a Plotly figure with the common layout.

    Args:
        traces: The traces in Plotly's JSON form.
        title: The title, already escaped as HTML.
        subtitle: The line below the title, already escaped as HTML.
        xaxis: Plotly settings of the x axis, over the common ones.
        yaxis: Plotly settings of the y axis, over the common ones.
        empty: The text drawn in the middle when there are no traces.
        barmode: How bars at the same place are drawn, as in Plotly.
        height: Height in pixels.
        legend_y: Top of the legend as a share of the plot's height; negative is below the plot.
    """
    axis = {"gridcolor": GRID, "zerolinecolor": GRID, "linecolor": GRID, "automargin": True}
    layout: dict[str, Any] = {
        "title": {
            "text": title,
            "subtitle": {"text": subtitle, "font": {"size": 12}},
            "x": 0,
            "xanchor": "left",
            "xref": "paper",
            "font": {"size": 15},
        },
        "font": {"family": PLOT_FONT, "size": 12, "color": INK},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "xaxis": {**axis, **xaxis},
        "yaxis": {**axis, **yaxis},
        "barmode": barmode,
        "legend": {"orientation": "h", "x": 0, "y": legend_y, "yanchor": "top", "traceorder": "normal"},
        "margin": {"l": 60, "r": 20, "t": 70, "b": 60},
        "height": height,
    }
    if not traces:
        layout["annotations"] = [
            {"text": empty, "showarrow": False, "xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5}
        ]
    return {"data": list(traces), "layout": layout}


def inert_text(text: str, longest: int = 48) -> str:
    """Return untrusted text for plotly: one line, short, and inert.

    Control characters and directional overrides are replaced (they could reorder the text around them), lone
    surrogates too (they are not Unicode), markup is escaped, and dollars, between which plotly would look for TeX.
    """
    characters = (char if char.isprintable() or char in _SPACES else "\ufffd" for char in text[: longest + 1])
    plain = "".join(characters)
    if len(plain) > longest:
        plain = plain[: longest - 1] + "…"
    return escape(plain, quote=False).replace("$", "&#36;")


def plain(text: object) -> str:
    """Return a figure's text without plotly's markup and escapes."""
    return unescape(
        _PLOTLY_TAGS.sub(lambda tag: " " if tag[0].startswith("<br") else "", str("" if text is None else text))
    ).strip()
