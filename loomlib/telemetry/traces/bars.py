"""A waterfall's bars as values: one per span, ready to draw."""

from __future__ import annotations

from dataclasses import dataclass

PART_OF_OPERATION = {
    "chat": "model",
    "execute_tool": "tools",
    "memory": "memory",
    "server": "agent",
    "invoke_agent": "agent",
    "cycle": "agent",
    "other": "agent",
}
"""The part of a breakdown that a span's operation belongs to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A span as a bar, on the client's clock.

    Attributes:
        span_id: The span.
        label: The span's name as received; whoever draws it must escape it.
        operation: The span's operation (see `Span.operation`).
        part: The part of the breakdown that it belongs to.
        depth: Its depth in the span tree, 0 for a root.
        start_ms: Milliseconds after the start of the whole; negative before it.
        duration_ms: Its duration.
        is_failed: Whether the span's status is an error.
        marks: The span's marks.
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
