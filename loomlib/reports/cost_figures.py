"""The chart of cost: each day's known cost, stacked by agent."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from loomlib.presentation.theme import inert_text, styled
from loomlib.telemetry.cost import Amount

if TYPE_CHECKING:
    import plotly.graph_objects as go

_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
_PATTERNS = ("", "/", "\\", "|", ".", "x")


def cost_by_day(amounts: Mapping[tuple[str, date], Amount], since: date, until: date, *, subtitle: str) -> go.Figure:
    """Draw a bar for each day from `since` to `until`, stacked by agent.

    A day whose cost is partly unknown is marked "at least".

    Args:
        amounts: The cost of each agent and day.
        since: The first day.
        until: The last day.
        subtitle: The figure's subtitle.
    """
    from loomlib.presentation.charts import Chart

    days = [since + timedelta(days=place) for place in range((until - since).days + 1)]
    labels = [f"{day:%d %b}" for day in days]
    currency = next((amount.currency for amount in amounts.values() if amount.value is not None), "USD")
    traces: list[dict[str, Any]] = []
    for place, agent in enumerate(dict.fromkeys(agent for agent, _ in amounts)):
        mine = [amounts.get((agent, day)) for day in days]
        traces.append(
            {
                "type": "bar",
                "name": inert_text(agent),
                "x": labels,
                "y": [None if amount is None else amount.value for amount in mine],
                "text": ["" if amount is None or not amount.unknown else "at least" for amount in mine],
                "textposition": "inside",
                "customdata": ["" if amount is None else str(amount) for amount in mine],
                "hovertemplate": f"%{{x}}: %{{customdata}}<extra>{inert_text(agent)}</extra>",
                "marker": {
                    "color": _COLOURS[place % len(_COLOURS)],
                    "pattern": {
                        "shape": _PATTERNS[place % len(_PATTERNS)],
                        "fgcolor": "rgba(0,0,0,0.25)",
                        "size": 6,
                    },
                },
            }
        )
    return Chart(
        styled(
            traces,
            title="Known cost by day",
            subtitle=inert_text(subtitle, 400),
            empty="No invocation in these days.",
            xaxis={"type": "category"},
            yaxis={
                "title": {"text": currency},
                "rangemode": "tozero",
                "tickprefix": "$" if currency == "USD" else "",
            },
            barmode="stack",
            height=320,
        )
    )
