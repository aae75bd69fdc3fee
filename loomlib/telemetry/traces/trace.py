"""A trace: the spans of one request as a tree, with their log records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from loomlib.dispatch import call

from .bars import Bar
from .parts import Breakdown, ClientTiming
from .span import LogRecord, Span
from .span_tree import SpanTree, build_tree, sort_key
from .trajectory import Trajectory

MARKS = (
    "partial",
    "orphan",
    "cyclic",
    "clock_skewed",
    "negative_duration",
    "outlives_parent",
    "duplicates_removed",
    "conflicting_duplicates",
    "untimed",
    "unfinished",
    "no_id",
    "values_cut",
    "no_spans",
    "several_traces",
)
"""What a trace can be marked with. `partial`: spans are missing or unfinished, so parts of a breakdown are inferred.
`values_cut`: a value was truncated because it is longer than a log event or an exporter allows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The spans of one trace id, each once, however incomplete the export is.

    Attributes:
        trace_id: The trace id as lower-case hex; "" for an empty trace.
        spans: The spans by start.
        log_records: The log records of the trace by time, with messages that were exported apart from their spans.
        duplicates: Spans that were left out: copies, and botocore's `chat` span of a model call that the framework
            recorded too.
        marks: What is unusual about the trace (see `MARKS`); such a trace is still usable.
    """

    trace_id: str
    spans: tuple[Span, ...] = field(repr=False)
    log_records: tuple[LogRecord, ...] = field(default=(), repr=False)
    duplicates: tuple[Span, ...] = field(default=(), repr=False)
    marks: frozenset[str] = frozenset()
    _tree: SpanTree = field(repr=False, compare=False)

    @classmethod
    def of(cls, spans: Iterable[Span], log_records: Iterable[LogRecord] = ()) -> list[Trace]:
        """Return one trace per trace id, by start time; log records without a span make a trace too."""
        return sorted(cls.each(spans, log_records), key=lambda trace: (trace.start_ns, trace.trace_id))

    @classmethod
    def each(cls, spans: Iterable[Span], log_records: Iterable[LogRecord] = ()) -> Iterator[Trace]:
        """Yield the traces of `of` in order of first appearance, without holding them all in memory."""
        groups: dict[str, list[Span]] = {}
        for span in spans:
            groups.setdefault(span.trace_id, []).append(span)
        records: dict[str, list[LogRecord]] = {}
        for record in log_records:
            records.setdefault(record.trace_id, []).append(record)
        for id in [*groups, *(id for id in records if id and id not in groups)]:
            yield _build(id, groups.pop(id, ()), records.pop(id, ()), frozenset())

    @classmethod
    def one(cls, spans: Iterable[Span], log_records: Iterable[LogRecord] = ()) -> Trace:
        """Return all spans as a single trace, even where their trace ids differ (marked `several_traces`)."""
        all_spans = list(spans)
        ids = sorted({span.trace_id for span in all_spans})
        marks = frozenset({"several_traces"}) if len(ids) > 1 else frozenset[str]()
        return _build(ids[0] if ids else "", all_spans, list(log_records), marks)

    @property
    def roots(self) -> tuple[Span, ...]:
        """Spans whose parent is not in the trace."""
        return self._tree.children.get(None, ())

    def children(self, span: Span | str) -> tuple[Span, ...]:
        """Return the direct children of a span (or span id), by start."""
        return self._tree.children.get(span if isinstance(span, str) else span.span_id, ())

    def parent(self, span: Span | str) -> Span | None:
        """Return the parent of a span (or span id), None for a root."""
        id = self._tree.parents.get(span if isinstance(span, str) else span.span_id)
        return None if id is None else self._tree.by_id[id]

    def ancestors(self, span: Span | str) -> Iterator[Span]:
        """Yield the ancestors of a span (or span id), nearest first."""
        ancestor = self.parent(span)
        while ancestor is not None:
            yield ancestor
            ancestor = self.parent(ancestor)

    def span(self, span_id: str) -> Span | None:
        """Return the span with that id, None when there is none."""
        return self._tree.by_id.get(span_id)

    def walk(self) -> Iterator[tuple[int, Span]]:
        """Yield every span once with its depth, parents before children, siblings by start."""
        stack = [(0, span) for span in reversed(self.roots)]
        while stack:
            depth, span = stack.pop()
            yield depth, span
            stack.extend((depth + 1, child) for child in reversed(self.children(span)))

    def operation(self, span: Span) -> str:
        """Return the operation of one of the trace's spans; like `span.operation`, but cached."""
        return self._tree.operations[span.span_id]

    def of_operation(self, *operations: str) -> tuple[Span, ...]:
        """Return the spans with one of these operations, by start."""
        by_operation = self._tree.by_operation
        if len(operations) == 1:
            return by_operation.get(operations[0], ())
        return tuple(sorted((span for name in operations for span in by_operation.get(name, ())), key=sort_key))

    def records_by_span(self) -> dict[str, list[LogRecord]]:
        """Return the log records by the id of the span they belong to."""
        by_span: dict[str, list[LogRecord]] = {}
        for record in self.log_records:
            by_span.setdefault(record.span_id, []).append(record)
        return by_span

    @property
    def start_ns(self) -> int:
        """Start of the first span, else time of the first record; 0 when nothing has a time."""
        times = [span.start_ns for span in self.spans if "untimed" not in span.marks]
        return min(times) if times else min((item.time_ns for item in self.log_records if item.time_ns), default=0)

    @property
    def end_ns(self) -> int:
        """The latest end of a span."""
        return max((span.end_ns for span in self.spans if "untimed" not in span.marks), default=self.start_ns)

    @property
    def duration_ns(self) -> int:
        """Nanoseconds from `start_ns` to `end_ns`."""
        return max(0, self.end_ns - self.start_ns)

    @property
    def session_id(self) -> str | None:
        """The session in the spans' `session.id`; None when they have none or several."""
        ids = {str(value) for item in (*self.spans, *self.log_records) if (value := item.attributes.get("session.id"))}
        return ids.pop() if len(ids) == 1 else None

    @property
    def agent_name(self) -> str | None:
        """The name of the outermost agent."""
        for _, span in self.walk():
            if span.operation == "invoke_agent":
                return str(span.facts.get("gen_ai.agent.name") or span.name.partition(" ")[2]) or None
        return None

    def breakdown(self, client: ClientTiming | None = None) -> Breakdown:
        """Divide the time into parts; see `loomlib.telemetry.breakdown`."""
        return call("Trace.breakdown", self, client)

    def trajectory(self) -> Trajectory:
        """Return messages, tool calls and results in order; see `loomlib.telemetry.trajectory`."""
        return call("Trace.trajectory", self)

    def waterfall(self, client: ClientTiming | None = None) -> tuple[Bar, ...]:
        """Return one bar per span, ready to draw; see `loomlib.telemetry.waterfall`."""
        return call("Trace.waterfall", self, client)

    def table(self) -> list[dict[str, Any]]:
        """Return one row per span, ready for a DataFrame; times in milliseconds since the trace's start."""
        return call("Trace.table", self)


def _build(id: str, spans: Iterable[Span], records: Sequence[LogRecord], marks: frozenset[str]) -> Trace:
    tree = build_tree(spans)
    if not tree.spans:
        marks |= {"no_spans"}
    if any(record.is_cut for record in records):
        marks |= {"values_cut"}
    return Trace(
        trace_id=id,
        spans=tree.spans,
        log_records=tuple(sorted(records, key=lambda record: (record.time_ns, record.span_id, repr(record)))),
        duplicates=tree.duplicates,
        marks=tree.marks | marks,
        _tree=tree,
    )
