"""A trace: the spans of one request in their places, with the log records that belong to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .forest import Forest, arrange, place_of
from .span import LogRecord, Span

if TYPE_CHECKING:
    from .breakdown import Breakdown, ClientTiming
    from .steps import Trajectory
    from .waterfall import Bar

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
`values_cut`: something that was said is not here whole, because it is longer than a log event or an exporter takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The spans of one trace id, each counted once, whatever state they arrived in.

    `spans` are in order of their start. `duplicates` were left out: copies of a span, and botocore's `chat` twin of a
    model call that the framework recorded too. `marks` says what is odd (see `MARKS`); an odd trace is still a trace.
    """

    trace_id: str
    spans: tuple[Span, ...] = field(repr=False)
    log_records: tuple[LogRecord, ...] = field(default=(), repr=False)
    duplicates: tuple[Span, ...] = field(default=(), repr=False)
    marks: frozenset[str] = frozenset()
    _forest: Forest = field(repr=False, compare=False)

    @classmethod
    def of(cls, spans: Iterable[Span], log_records: Iterable[LogRecord] = ()) -> list[Trace]:
        """One trace for each trace id, by their first moment. Records without a span of their trace make one too."""
        return sorted(cls.each(spans, log_records), key=lambda trace: (trace.start_ns, trace.trace_id))

    @classmethod
    def each(cls, spans: Iterable[Span], log_records: Iterable[LogRecord] = ()) -> Iterator[Trace]:
        """The same traces one by one, in the order in which they first appear, without holding them all."""
        groups: dict[str, list[Span]] = {}
        for span in spans:
            groups.setdefault(span.trace_id, []).append(span)
        records: dict[str, list[LogRecord]] = {}
        for record in log_records:
            records.setdefault(record.trace_id, []).append(record)
        ids = [*groups, *(id for id in records if id and id not in groups)]
        for id in ids:
            yield _build(id, groups.pop(id, ()), records.pop(id, ()), frozenset())

    @classmethod
    def one(cls, spans: Iterable[Span], log_records: Iterable[LogRecord] = ()) -> Trace:
        """All the spans as a single trace, even where their trace ids differ (marked `several_traces`)."""
        everything = list(spans)
        ids = sorted({span.trace_id for span in everything})
        marks = frozenset({"several_traces"}) if len(ids) > 1 else frozenset[str]()
        return _build(ids[0] if ids else "", everything, list(log_records), marks)

    @property
    def roots(self) -> tuple[Span, ...]:
        """Spans without a parent here."""
        return self._forest.children.get(None, ())

    def children(self, span: Span | str) -> tuple[Span, ...]:
        """The spans directly below, by start."""
        return self._forest.children.get(span if isinstance(span, str) else span.span_id, ())

    def parent(self, span: Span | str) -> Span | None:
        """The span directly above."""
        id = self._forest.parents.get(span if isinstance(span, str) else span.span_id)
        return None if id is None else self._forest.by_id[id]

    def ancestors(self, span: Span | str) -> Iterator[Span]:
        """The spans above, nearest first."""
        above = self.parent(span)
        while above is not None:
            yield above
            above = self.parent(above)

    def span(self, span_id: str) -> Span | None:
        """The span of that id."""
        return self._forest.by_id.get(span_id)

    def walk(self) -> Iterator[tuple[int, Span]]:
        """Every span once with its depth, parents before children, siblings by start."""
        stack = [(0, span) for span in reversed(self.roots)]
        while stack:
            depth, span = stack.pop()
            yield depth, span
            stack.extend((depth + 1, each) for each in reversed(self.children(span)))

    def operation(self, span: Span) -> str:
        """The operation of one of its spans (as `span.operation`, known already)."""
        return self._forest.operations[span.span_id]

    def of_operation(self, *operations: str) -> tuple[Span, ...]:
        """The spans of these operations, by start."""
        known = self._forest.by_operation
        if len(operations) == 1:
            return known.get(operations[0], ())
        return tuple(sorted((span for each in operations for span in known.get(each, ())), key=place_of))

    def records_by_span(self) -> dict[str, list[LogRecord]]:
        """The log records that belong to each span."""
        found: dict[str, list[LogRecord]] = {}
        for record in self.log_records:
            found.setdefault(record.span_id, []).append(record)
        return found

    @property
    def start_ns(self) -> int:
        """The first moment, of a span or else of a record; 0 when nothing has a time."""
        times = [span.start_ns for span in self.spans if "untimed" not in span.marks]
        return min(times) if times else min((each.time_ns for each in self.log_records if each.time_ns), default=0)

    @property
    def end_ns(self) -> int:
        """The last moment of a span."""
        return max((span.end_ns for span in self.spans if "untimed" not in span.marks), default=self.start_ns)

    @property
    def duration_ns(self) -> int:
        """From the first moment to the last."""
        return max(0, self.end_ns - self.start_ns)

    @property
    def session_id(self) -> str | None:
        """The session that the spans name (`session.id`); None when they name none or several."""
        named = {
            str(found) for each in (*self.spans, *self.log_records) if (found := each.attributes.get("session.id"))
        }
        return named.pop() if len(named) == 1 else None

    @property
    def agent_name(self) -> str | None:
        """The name of the outermost agent."""
        for _, span in self.walk():
            if span.operation == "invoke_agent":
                return str(span.attributes.get("gen_ai.agent.name") or span.name.partition(" ")[2]) or None
        return None

    def breakdown(self, client: ClientTiming | None = None) -> Breakdown:
        """Where the time went; see `breakdown`."""
        from .breakdown import breakdown

        return breakdown(self, client)

    def trajectory(self) -> Trajectory:
        """Messages, tool calls and results in their order."""
        from .trajectory import trajectory

        return trajectory(self)

    def waterfall(self, client: ClientTiming | None = None) -> tuple[Bar, ...]:
        """One bar for each span, ready to draw."""
        from .waterfall import waterfall

        return waterfall(self, client)

    def table(self) -> list[dict[str, Any]]:
        """One row for each span, ready for a DataFrame; times in milliseconds since the trace's first moment."""
        from .waterfall import table

        return table(self)


def _build(id: str, spans: Iterable[Span], records: Sequence[LogRecord], marks: frozenset[str]) -> Trace:
    forest = arrange(spans)
    if not forest.spans:
        marks |= {"no_spans"}
    if any(record.is_cut for record in records):
        marks |= {"values_cut"}
    return Trace(
        trace_id=id,
        spans=forest.spans,
        log_records=tuple(sorted(records, key=lambda each: (each.time_ns, each.span_id, repr(each)))),
        duplicates=forest.duplicates,
        marks=forest.marks | marks,
        _forest=forest,
    )
