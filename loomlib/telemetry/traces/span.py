"""A span as a value: one piece of work, when it began and ended, and what was said about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .operations import operation_of

EMPTY: Mapping[str, Any] = {}
CUT_MARKS = ("loom.cut_from_bytes", "loom.cut")
"""Attributes with which the local service and its exporter say that they cut a long value of a record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanEvent:
    """Something that happened at one moment of a span. `time_ns` is Unix time in nanoseconds (0: not known)."""

    name: str
    time_ns: int
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One span. Times are Unix nanoseconds by the clock of the machine that wrote it; ids are lower-case hex.

    `attributes`, names and messages are data of strangers: kept exactly, never interpreted. `marks` says what is odd:
    `untimed`, `unfinished`, `no_id`, `values_cut` from reading; `orphan`, `cyclic`, `clock_skewed`, `outlives_parent`,
    `negative_duration` from placing it in its trace.
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
    marks: frozenset[str] = frozenset()

    @property
    def duration_ns(self) -> int:
        """How long it took; 0 where the end lies before the start (marked `negative_duration` in its trace)."""
        return max(0, self.end_ns - self.start_ns)

    @property
    def operation(self) -> str:
        """`invoke_agent`, `cycle`, `chat`, `execute_tool`, `memory`, `server` or `other`."""
        return operation_of(self.name, self.kind, self.attributes)

    @property
    def is_failed(self) -> bool:
        """Whether the span's own status is an error."""
        return self.status == "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRecord:
    """A log record of OpenTelemetry: what ADOT splits off a span (the messages), or a line that an agent wrote."""

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
        """Whether a value in it was too long to be kept whole."""
        return any(name in self.attributes for name in CUT_MARKS)
