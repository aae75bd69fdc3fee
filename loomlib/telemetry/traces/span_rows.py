"""A trace's spans as rows: the bars of a waterfall, and the rows of a table."""

from __future__ import annotations

from typing import Any

from loomlib.json_values import number_or_none, text_or_none

from .alignment import agent_servers, align
from .attribution import callers
from .bars import PART_OF_OPERATION, Bar
from .calls import stated_tokens
from .parts import ClientTiming
from .span import Span
from .trace import Trace


def waterfall(trace: Trace, client: ClientTiming | None = None) -> tuple[Bar, ...]:
    """Return one bar per span, parents before their children, siblings by start.

    Args:
        trace: The trace to draw.
        client: The client's measurements; bars then start at the moment the request was sent.
    """
    interval = align(trace, client)
    zero_ns = interval.start_ns - interval.shift_ns
    caller_ids = callers(trace, agent_servers(trace))
    return tuple(
        Bar(
            span_id=span.span_id,
            label=span.name,
            operation=span.operation,
            part="service_network" if span.span_id in caller_ids else PART_OF_OPERATION[span.operation],
            depth=depth,
            start_ms=0.0 if "untimed" in span.marks else (span.start_ns - zero_ns) / 1e6,
            duration_ms=span.duration_ns / 1e6,
            is_failed=span.is_failed,
            marks=span.marks,
        )
        for depth, span in trace.walk()
    )


def span_table(trace: Trace) -> list[dict[str, Any]]:
    """Return one row per span with the same columns for every trace; a cell is None where the span has no value."""
    zero_ns = trace.start_ns
    return [_row(trace, depth, span, zero_ns) for depth, span in trace.walk()]


def _row(trace: Trace, depth: int, span: Span, zero_ns: int) -> dict[str, Any]:
    get = span.facts.get
    parent = trace.parent(span)
    return {
        "trace_id": span.trace_id,
        "span_id": span.span_id,
        "parent_id": None if parent is None else parent.span_id,
        "depth": depth,
        "name": span.name,
        "operation": span.operation,
        "part": PART_OF_OPERATION[span.operation],
        "kind": span.kind,
        "start_ms": 0.0 if "untimed" in span.marks else (span.start_ns - zero_ns) / 1e6,
        "duration_ms": span.duration_ns / 1e6,
        "status": span.status,
        "status_message": span.status_message,
        "tool": text_or_none(get("gen_ai.tool.name")),
        "model": text_or_none(get("gen_ai.request.model")),
        "input_tokens": stated_tokens(get("gen_ai.usage.input_tokens")),
        "output_tokens": stated_tokens(get("gen_ai.usage.output_tokens")),
        "ttft_ms": number_or_none(get("gen_ai.server.time_to_first_token")),
        "session_id": text_or_none(get("session.id")),
        "scope": span.scope,
        "marks": ", ".join(sorted(span.marks)),
        "start_ns": span.start_ns,
        "end_ns": span.end_ns,
    }
