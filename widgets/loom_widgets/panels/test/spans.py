"""A trace's waterfall as rows of a table, and one of its rows in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from loomlib.errors import LoomError
from loomlib.presentation.formats import milliseconds
from loomlib.workbench.trace_look import PART_COLOURS, PART_NAMES

from .words import short_text, well_formed

if TYPE_CHECKING:
    from loomlib.workbench.trace_view import TraceView

COLD_START: Final = "part:cold_start"
"""The id of the waterfall's row for the cold start, which is not a span."""
_MOST_VALUES, _LONGEST_NAME = 200, 200


def bar_rows(trace: TraceView) -> Sequence[Mapping[str, Any]]:
    """Return the waterfall as rows: the cold start, when there was one, then the spans."""
    spans = [
        {
            "id": bar.span_id,
            "label": well_formed(bar.label),
            "depth": bar.depth,
            "start_ms": bar.start_ms,
            "duration_ms": bar.duration_ms,
            "part": bar.part,
            "failed": bar.is_failed,
            "marks": ", ".join(sorted(mark.replace("_", " ") for mark in bar.marks)),
        }
        for bar in trace.bars()
    ]
    return [*_cold_start_rows(trace), *spans] if spans else spans


def waterfall_frame(trace: TraceView, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what a view needs beside the rows of a waterfall to draw it.

    Args:
        trace: The trace.
        rows: Its rows, from `bar_rows`.

    Returns:
        The number of rows, the first and last moment in ms, the parts' colours and names, and the sentences.
    """
    total_ms = trace.breakdown().total_ns / 1e6
    return {
        "count": len(rows),
        "first": min((0.0, *(row["start_ms"] for row in rows))),
        "last": max((total_ms, *(row["start_ms"] + row["duration_ms"] for row in rows))),
        "parts": {name: [PART_COLOURS[name], PART_NAMES[name]] for name in PART_NAMES},
        "sentences": trace.sentences(),
    }


def _cold_start_rows(trace: TraceView) -> list[dict[str, Any]]:
    breakdown = trace.breakdown()
    part = breakdown["cold_start"]
    return [
        {
            "id": COLD_START,
            "label": PART_NAMES["cold_start"],
            "depth": 0,
            "start_ms": (start_ns - breakdown.start_ns) / 1e6,
            "duration_ms": (end_ns - start_ns) / 1e6,
            "part": "cold_start",
            "failed": False,
            "marks": "" if part.certainty == "measured" else part.certainty,
        }
        for start_ns, end_ns in part.intervals
    ]


def row_details(trace: TraceView, row_id: str) -> dict[str, Any]:
    """Return everything known of one row of the waterfall: facts, attributes, events and messages.

    Raises:
        LoomError: The trace has no such span.
    """
    if row_id == COLD_START:
        return _cold_start_details(trace)
    span = trace.trace.span(row_id)
    if span is None:
        raise LoomError("There is no such span", on=row_id, try_="run the cell again")
    messages = trace.trace.records_by_span().get(span.span_id, [])
    return {
        "name": well_formed(span.name),
        "failed": span.is_failed,
        "facts": [
            ["operation", span.operation],
            ["took", milliseconds(span.duration_ns / 1e6)],
            ["status", " ".join(filter(None, (span.status, well_formed(span.status_message))))],
            ["kind", span.kind],
            ["scope", well_formed(span.scope)],
            ["marks", ", ".join(sorted(span.marks)) or "none"],
            ["span id", well_formed(span.span_id)],
        ],
        "attributes": [
            [well_formed(str(name)[:_LONGEST_NAME]), short_text(value)]
            for name, value in list(span.attributes.items())[:_MOST_VALUES]
        ],
        "events": [
            [
                well_formed(event.name),
                milliseconds((event.time_ns - span.start_ns) / 1e6) if event.time_ns else "–",
                short_text(dict(event.attributes)),
            ]
            for event in span.events[:_MOST_VALUES]
        ],
        "messages": [[well_formed(record.event_name), short_text(record.body)] for record in messages[:_MOST_VALUES]],
    }


def _cold_start_details(trace: TraceView) -> dict[str, Any]:
    part = trace.breakdown()["cold_start"]
    return {
        "name": PART_NAMES["cold_start"],
        "failed": False,
        "facts": [
            ["took", milliseconds(part.duration_ms)],
            ["measured from", part.derived_from],
            ["certainty", " · ".join(filter(None, (part.certainty, part.caveat)))],
        ],
        "attributes": [],
        "events": [],
        "messages": [],
    }
