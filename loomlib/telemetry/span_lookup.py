"""A single lookup of the spans of one invocation, or of many in one query window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, Final

from loomlib.errors import ResourceNotFoundError
from loomlib.wall_clock import OF_THIS_PROCESS

from .sources import RuntimeSource
from .span_records import SpanReader, SpanRecord
from .trace_lookup import TraceRequest
from .traces.read import read_spans
from .traces.trace import Trace

MAX_SKEW_S: Final = 60.0
"""How far the agent's clock may differ from the client's for its spans to be found, in seconds."""

_LATE_S: Final = 900.0
"""Spans end with their invocation; those of work that continues after the answer are included this long."""

_SINGLE_ATTEMPTS: Final = 3
_ANY_TIME: Final = (0, None)


class RecordsByRequest:
    """The records found for each request: spans and messages, by trace."""

    def __init__(self) -> None:
        self._records: dict[int, list[SpanRecord]] = {}

    def add(self, request: TraceRequest, records: Iterable[SpanRecord]) -> None:
        """Add records that belong to `request`."""
        self._records.setdefault(request.invocation_id, []).extend(records)

    def of(self, request: TraceRequest) -> list[tuple[str, Mapping[str, Any]]]:
        """Return the records of `request`, each as text and parsed."""
        return [(record.text, record.document) for record in self._records.get(request.invocation_id, ())]

    def has(self, request: TraceRequest) -> bool:
        """Return whether any record of `request` was found."""
        return bool(self._records.get(request.invocation_id))


def lookup_spans(
    reader: SpanReader,
    source: RuntimeSource,
    requests: Sequence[TraceRequest],
    late: Set[int],
    *,
    any_time: bool = False,
) -> RecordsByRequest:
    """Look up the spans and messages of invocations once.

    Args:
        reader: Reads the logs.
        source: The agent's runtime.
        requests: The invocations.
        late: The ids of invocations whose spans should have arrived by now.
        any_time: Whether to search without a time limit for spans not stored near the time of their invocation.
    """
    records = RecordsByRequest()
    if len(requests) == 1:
        _lookup_one(reader, source, requests[0], late, records, any_time)
        return records
    _lookup_many(reader, source, requests, late, records)
    # Spans that do not name their runtime are not in the window's result. A few single lookups show whether that is so.
    missing = [request for request in requests if not records.has(request)]
    for index, request in enumerate(missing):
        if index >= _SINGLE_ATTEMPTS and not any(records.has(other) for other in missing):
            break
        _lookup_one(reader, source, request, late, records, any_time)
    return records


def _lookup_one(
    reader: SpanReader,
    source: RuntimeSource,
    request: TraceRequest,
    late: Set[int],
    records: RecordsByRequest,
    any_time: bool,
) -> None:
    windows: list[tuple[int, int | None]] = [_window_ms(request)]
    if any_time and OF_THIS_PROCESS.was_set:
        windows = [_ANY_TIME]
    elif any_time and request.invocation_id in late:
        windows.append(_ANY_TIME)
    for start_ms, end_ms in windows:
        _lookup_between(reader, source, request, late, records, start_ms=start_ms, end_ms=end_ms)
        if records.has(request):
            return


def _lookup_between(
    reader: SpanReader,
    source: RuntimeSource,
    request: TraceRequest,
    late: Set[int],
    records: RecordsByRequest,
    *,
    start_ms: int,
    end_ms: int | None,
) -> None:
    try:
        spans = _spans_of_one(reader, source, request, late, start_ms=start_ms, end_ms=end_ms)
    except ResourceNotFoundError:  # no span was ever exported in this account and region; messages may still exist
        spans = []
    ids = {span.trace_id for span in spans} or {id for id in (request.trace_id,) if id}
    messages = [
        record
        for id in sorted(ids)
        for record in reader.messages(source, request.qualifier, term=id, start_ms=start_ms, end_ms=end_ms)
        if record.trace_id == id
    ]
    records.add(request, [*spans, *messages])


def _spans_of_one(
    reader: SpanReader,
    source: RuntimeSource,
    request: TraceRequest,
    late: Set[int],
    *,
    start_ms: int,
    end_ms: int | None,
) -> list[SpanRecord]:
    """Find spans by trace id; where the agent started a trace of its own, by session id and time."""

    def containing(term: str) -> Sequence[SpanRecord]:
        return reader.spans(source, term=term, start_ms=start_ms, end_ms=end_ms)

    if request.trace_id:
        spans = [record for record in containing(request.trace_id) if record.trace_id == request.trace_id]
        if spans:
            return spans
    ids = _trace_ids_in_time(containing(request.session_id), request, late)
    return [record for id in ids for record in containing(id) if record.trace_id == id]


def _lookup_many(
    reader: SpanReader,
    source: RuntimeSource,
    requests: Sequence[TraceRequest],
    late: Set[int],
    records: RecordsByRequest,
) -> None:
    spans: dict[str, list[SpanRecord]] = {}
    messages: dict[str, list[SpanRecord]] = {}
    qualifiers = sorted({request.qualifier for request in requests})
    for start_ms, end_ms in _windows_ms(requests):
        try:
            for record in reader.spans(source, term=source.runtime_id, start_ms=start_ms, end_ms=end_ms):
                spans.setdefault(record.trace_id, []).append(record)
        except ResourceNotFoundError:
            pass
        for qualifier in qualifiers:
            for record in reader.messages(source, qualifier, term=None, start_ms=start_ms, end_ms=end_ms):
                messages.setdefault(record.trace_id, []).append(record)
    by_session: dict[str, list[SpanRecord]] = {}
    for record in (record for group in spans.values() for record in group):
        by_session.setdefault(record.session_id, []).append(record)
    for request in requests:
        sent_ids = [request.trace_id] if request.trace_id else []
        ids = [id for id in sent_ids if id in spans]
        ids = ids or _trace_ids_in_time(by_session.get(request.session_id, ()), request, late) or sent_ids
        for id in ids:
            records.add(request, [*spans.get(id, ()), *messages.get(id, ())])


def _trace_ids_in_time(records: Sequence[SpanRecord], request: TraceRequest, late: Set[int]) -> list[str]:
    """Return the session's traces that lie within the invocation and belong to no other invocation.

    Where there is none, and none can arrive any more, clocks may differ: in a session with only this invocation, the
    trace that started nearest to it is used.
    """
    if request.sent_s is None:
        return []
    sent_ns = int(request.sent_s * 1e9)
    done_ns = sent_ns if request.done_s is None else int(request.done_s * 1e9)
    traces = Trace.of(read_spans([record.document for record in records]).spans)
    own = [trace for trace in traces if trace.start_ns and trace.trace_id not in request.others]
    within = [trace for trace in own if sent_ns <= (trace.start_ns + trace.end_ns) // 2 <= done_ns]
    if not within and not request.others and request.invocation_id in late:
        within = sorted(own, key=lambda trace: abs(trace.start_ns - sent_ns))[:1]
    return [trace.trace_id for trace in within]


def _window_ms(request: TraceRequest) -> tuple[int, int]:
    sent_s = request.sent_s or 0.0
    done_s = request.done_s if request.done_s is not None else sent_s
    return int((sent_s - MAX_SKEW_S) * 1000), int((done_s + _LATE_S) * 1000)


def _windows_ms(requests: Sequence[TraceRequest]) -> Iterator[tuple[int, int]]:
    """Merge overlapping windows: a hundred consecutive invocations need one window, not a hundred."""
    start_ms = end_ms = None
    for first, last in sorted(_window_ms(request) for request in requests):
        if start_ms is None or end_ms is None:
            start_ms, end_ms = first, last
        elif first > end_ms:
            yield start_ms, end_ms
            start_ms, end_ms = first, last
        else:
            end_ms = max(end_ms, last)
    if start_ms is not None and end_ms is not None:
        yield start_ms, end_ms
