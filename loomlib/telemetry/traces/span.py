"""Spans and log records as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .operations import operation_of

EMPTY: Mapping[str, Any] = {}
TRUNCATION_ATTRIBUTES = ("loom.cut_from_bytes", "loom.cut")
"""Attributes by which the local service and its exporter mark a record with a truncated value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanEvent:
    """An event of a span.

    Attributes:
        name: The event's name.
        time_ns: Unix nanoseconds; 0 when unknown.
        attributes: The event's attributes.
    """

    name: str
    time_ns: int
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One span.

    Names, attributes and messages are untrusted input: stored exactly, never interpreted.

    Attributes:
        trace_id: Lower-case hex.
        span_id: Lower-case hex.
        parent_id: The parent's span id; None for a root.
        name: The span's name.
        kind: `internal`, `server`, `client`, `producer` or `consumer`.
        start_ns: Unix nanoseconds on the clock of the machine that wrote it.
        end_ns: Unix nanoseconds on that clock.
        attributes: The span's attributes.
        events: The span's events.
        status: `unset`, `ok` or `error`.
        status_message: The status description.
        resource: The attributes of its resource.
        scope: The name of its instrumentation scope.
        translated: Its attributes with those of OpenTelemetry's GenAI conventions added, where it follows another
            convention and is in a trace; else None.
        marks: What is unusual about it: `untimed`, `unfinished`, `no_id`, `values_cut` from reading; `orphan`,
            `cyclic`, `clock_skewed`, `outlives_parent`, `negative_duration` from placing it in its trace.
    """

    trace_id: str
    span_id: str
    parent_id: str | None = None
    name: str = ""
    kind: str = "internal"
    start_ns: int
    end_ns: int
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    events: tuple[SpanEvent, ...] = field(default=(), repr=False)
    status: str = "unset"
    status_message: str = ""
    resource: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    scope: str = ""
    translated: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    marks: frozenset[str] = frozenset()

    @property
    def facts(self) -> Mapping[str, Any]:
        """Its attributes by the names of OpenTelemetry's GenAI conventions, whatever convention it follows."""
        return self.attributes if self.translated is None else self.translated

    @property
    def duration_ns(self) -> int:
        """The duration; 0 where the end is before the start (marked `negative_duration` in its trace)."""
        return max(0, self.end_ns - self.start_ns)

    @property
    def operation(self) -> str:
        """The operation: `invoke_agent`, `cycle`, `chat`, `execute_tool`, `memory`, `server` or `other`."""
        return operation_of(self.name, self.kind, self.facts)

    @property
    def is_failed(self) -> bool:
        """Whether the span's own status is an error."""
        return self.status == "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRecord:
    """An OpenTelemetry log record: messages that ADOT exports separately from their span, or an agent's log line.

    Attributes:
        trace_id: Lower-case hex; "" when unknown.
        span_id: The span it belongs to; "" when unknown.
        time_ns: Unix nanoseconds; 0 when unknown.
        body: The record's body as a Python value.
        event_name: The event's name.
        attributes: The record's attributes.
        resource: The attributes of its resource.
        scope: The name of its instrumentation scope.
        severity: The severity text.
    """

    trace_id: str
    span_id: str
    time_ns: int
    body: Any = field(repr=False)
    event_name: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    resource: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    scope: str = ""
    severity: str = ""

    @property
    def is_cut(self) -> bool:
        """Whether a value in it was truncated."""
        return any(name in self.attributes for name in TRUNCATION_ATTRIBUTES)
