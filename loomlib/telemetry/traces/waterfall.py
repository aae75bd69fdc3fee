"""A trace as bars and as rows: what a waterfall draws, and the same numbers as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .evidence import callers
from .extent import extent_of, own_servers
from .span import Span
from .trace import Trace
from .values import count_of, number_of

if TYPE_CHECKING:
    from .breakdown import ClientTiming

PART_OF = {
    "chat": "model",
    "execute_tool": "tools",
    "memory": "memory",
    "server": "agent",
    "invoke_agent": "agent",
    "cycle": "agent",
    "other": "agent",
}
"""The part of a breakdown that a span of an operation speaks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A span as a bar: `start_ms` after the whole's beginning (negative if before it), by the client's clock.

    `label` is the span's name as it is: whoever draws it must escape it.
    """

    span_id: str
    label: str
    operation: str
    part: str
    depth: int
    start_ms: float
    duration_ms: float
    is_failed: bool
    marks: frozenset[str]


def waterfall(trace: Trace, client: ClientTiming | None = None) -> tuple[Bar, ...]:
    """Parents before their children, siblings by start."""
    extent = extent_of(trace, client)
    zero = extent.start_ns - extent.shift_ns
    outside = callers(trace, own_servers(trace))
    return tuple(
        Bar(
            span_id=span.span_id,
            label=span.name,
            operation=span.operation,
            part="service_network" if span.span_id in outside else PART_OF[span.operation],
            depth=depth,
            start_ms=0.0 if "untimed" in span.marks else (span.start_ns - zero) / 1e6,
            duration_ms=span.duration_ns / 1e6,
            is_failed=span.is_failed,
            marks=span.marks,
        )
        for depth, span in trace.walk()
    )


def table(trace: Trace) -> list[dict[str, Any]]:
    """One row a span; columns are the same for every trace, and None where a span says nothing."""
    zero = trace.start_ns
    return [_row(trace, depth, span, zero) for depth, span in trace.walk()]


def _row(trace: Trace, depth: int, span: Span, zero: int) -> dict[str, Any]:
    get = span.attributes.get
    parent = trace.parent(span)
    return {
        "trace_id": span.trace_id,
        "span_id": span.span_id,
        "parent_id": None if parent is None else parent.span_id,
        "depth": depth,
        "name": span.name,
        "operation": span.operation,
        "part": PART_OF[span.operation],
        "kind": span.kind,
        "start_ms": 0.0 if "untimed" in span.marks else (span.start_ns - zero) / 1e6,
        "duration_ms": span.duration_ns / 1e6,
        "status": span.status,
        "status_message": span.status_message,
        "tool": _text(get("gen_ai.tool.name")),
        "model": _text(get("gen_ai.request.model")),
        "input_tokens": count_of(get("gen_ai.usage.input_tokens")),
        "output_tokens": count_of(get("gen_ai.usage.output_tokens")),
        "ttft_ms": number_of(get("gen_ai.server.time_to_first_token")),
        "session_id": _text(get("session.id")),
        "scope": span.scope,
        "marks": ", ".join(sorted(span.marks)),
        "start_ns": span.start_ns,
        "end_ns": span.end_ns,
    }


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
