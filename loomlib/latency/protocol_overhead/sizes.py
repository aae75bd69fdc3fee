"""Bytes, events and framing of each way, as a table and a chart."""

from __future__ import annotations

from html import escape
from typing import Any

from loomlib.agents.protocols.ways import HTTP_JSON
from loomlib.experiments import StudyTable
from loomlib.presentation.formats import number
from loomlib.presentation.theme import PALETTE, styled

from .estimates import WayEstimates, way_estimates
from .result import ProtocolResult


def size_table(result: ProtocolResult) -> StudyTable:
    """Return bytes, events and the share of framing: one row for each way."""
    columns = (
        "way",
        "n",
        "sent [95 %] B",
        "received [95 %] B",
        f"both − {HTTP_JSON} [95 %] B",
        "events [95 %]",
        "text B",
        "framing [95 %]",
        "failed",
    )
    return StudyTable(columns=columns, rows=[_row(one) for one in way_estimates(result)])


def size_chart(result: ProtocolResult) -> dict[str, Any]:
    """Return a chart of the bytes of each way: sent, framing received, and the answer's text."""
    ways = [one for one in way_estimates(result) if one.received.value is not None]
    names = [one.way for one in ways]
    text = [one.text_bytes.value or 0.0 for one in ways]
    parts = {
        "sent": [one.sent.value for one in ways],
        "received: framing": [(one.received.value or 0.0) - size for one, size in zip(ways, text, strict=True)],
        "received: text": text,
    }
    traces: list[dict[str, Any]] = [
        {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "x": sizes,
            "y": names,
            "marker": {"color": PALETTE[place]},
        }
        for place, (name, sizes) in enumerate(parts.items())
    ]
    return styled(
        traces if ways else [],
        title="Bytes on the wire for one answer",
        subtitle=escape(result.title()),
        xaxis={"title": {"text": "median, bytes"}, "rangemode": "tozero"},
        yaxis={"autorange": "reversed"},
        barmode="stack",
    )


def _row(one: WayEstimates) -> list[str]:
    return [
        one.way,
        str(sum(call.is_done for call in one.calls)),
        str(one.sent),
        str(one.received),
        "–" if one.extra_bytes is None else str(one.extra_bytes),
        str(one.events),
        number(one.text_bytes.value),
        one.framing.text("share"),
        str(sum(call.is_failed for call in one.calls)),
    ]
