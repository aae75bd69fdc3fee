"""One look at the logs for the spans of one call, or of many in one query window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, Final

from loomlib.errors import ResourceNotFoundError

from .sources import RuntimeSource
from .span_records import SpanReader, SpanRecord
from .trace_lookup import TracedCall
from .traces.read import read_spans
from .traces.trace import Trace

CLOCKS_APART_S: Final = 60.0
"""How far the agent's clock may be from the client's before its spans are not looked for any more."""

_LATE_S: Final = 900.0
"""Spans end with their invocation; those of work that goes on after the answer are taken this long."""

_TRIED_SINGLY: Final = 3


class Findings:
    """The records of each call, as far as they are there: spans and messages, by trace."""

    def __init__(self) -> None:
        self._of: dict[int, list[SpanRecord]] = {}

    def add(self, call: TracedCall, records: Iterable[SpanRecord]) -> None:
        """Note records that belong to `call`."""
        self._of.setdefault(call.invocation_id, []).extend(records)

    def of(self, call: TracedCall) -> list[tuple[str, Mapping[str, Any]]]:
        """The records of `call`: their texts, and what they mean."""
        return [(each.text, each.document) for each in self._of.get(call.invocation_id, ())]

    def has(self, call: TracedCall) -> bool:
        """Whether anything of `call` was found."""
        return bool(self._of.get(call.invocation_id))


def look(reader: SpanReader, source: RuntimeSource, calls: Sequence[TracedCall], late: Set[int]) -> Findings:
    """What is there now of each of these calls; `late` are the ids of those whose spans had all the time they need."""
    findings = Findings()
    if len(calls) == 1:
        _look_for_one(reader, source, calls[0], late, findings)
        return findings
    _look_for_many(reader, source, calls, late, findings)
    # Spans that do not name their runtime are not in the window's answer. A few tries tell whether that is so.
    missing = [call for call in calls if not findings.has(call)]
    for place, call in enumerate(missing):
        if place >= _TRIED_SINGLY and not any(findings.has(each) for each in missing):
            break
        _look_for_one(reader, source, call, late, findings)
    return findings


def _look_for_one(
    reader: SpanReader, source: RuntimeSource, call: TracedCall, late: Set[int], findings: Findings
) -> None:
    start_ms, end_ms = _window_ms(call)
    try:
        spans = _spans_of_one(reader, source, call, late)
    except (
        ResourceNotFoundError
    ):  # nothing was ever exported in this account and region; the messages may still be there
        spans = []
    ids = {each.trace_id for each in spans} or {id for id in (call.trace_id,) if id}
    messages = [
        each
        for id in sorted(ids)
        for each in reader.messages(source, call.qualifier, term=id, start_ms=start_ms, end_ms=end_ms)
        if each.trace_id == id
    ]
    findings.add(call, [*spans, *messages])


def _spans_of_one(reader: SpanReader, source: RuntimeSource, call: TracedCall, late: Set[int]) -> list[SpanRecord]:
    """By trace id; where the agent began a trace of its own, by session id and time."""
    start_ms, end_ms = _window_ms(call)

    def named(term: str) -> Sequence[SpanRecord]:
        return reader.spans(source, term=term, start_ms=start_ms, end_ms=end_ms)

    if call.trace_id:
        found = [each for each in named(call.trace_id) if each.trace_id == call.trace_id]
        if found:
            return found
    ids = _ids_in_time(named(call.session_id), call, late)
    return [each for id in ids for each in named(id) if each.trace_id == id]


def _look_for_many(
    reader: SpanReader, source: RuntimeSource, calls: Sequence[TracedCall], late: Set[int], findings: Findings
) -> None:
    spans: dict[str, list[SpanRecord]] = {}
    messages: dict[str, list[SpanRecord]] = {}
    qualifiers = sorted({call.qualifier for call in calls})
    for start_ms, end_ms in _windows_ms(calls):
        try:
            for each in reader.spans(source, term=source.runtime_id, start_ms=start_ms, end_ms=end_ms):
                spans.setdefault(each.trace_id, []).append(each)
        except ResourceNotFoundError:
            pass
        for qualifier in qualifiers:
            for each in reader.messages(source, qualifier, term=None, start_ms=start_ms, end_ms=end_ms):
                messages.setdefault(each.trace_id, []).append(each)
    of_session: dict[str, list[SpanRecord]] = {}
    for each in (each for group in spans.values() for each in group):
        of_session.setdefault(each.session_id, []).append(each)
    for call in calls:
        sent = [call.trace_id] if call.trace_id else []
        ids = (
            [id for id in sent if id in spans] or _ids_in_time(of_session.get(call.session_id, ()), call, late) or sent
        )
        for id in ids:
            findings.add(call, [*spans.get(id, ()), *messages.get(id, ())])


def _ids_in_time(records: Sequence[SpanRecord], call: TracedCall, late: Set[int]) -> list[str]:
    """The session's traces that lie within the call and are no other call's.

    Where none does, and none can come any more, clocks may differ: in a session with this one call the trace that began
    nearest to it counts.
    """
    if call.sent_s is None:
        return []
    sent_ns = int(call.sent_s * 1e9)
    done_ns = sent_ns if call.done_s is None else int(call.done_s * 1e9)
    traces = Trace.of(read_spans([each.document for each in records]).spans)
    own = [each for each in traces if each.start_ns and each.trace_id not in call.others]
    within = [each for each in own if sent_ns <= (each.start_ns + each.end_ns) // 2 <= done_ns]
    if not within and not call.others and call.invocation_id in late:
        within = sorted(own, key=lambda each: abs(each.start_ns - sent_ns))[:1]
    return [each.trace_id for each in within]


def _window_ms(call: TracedCall) -> tuple[int, int]:
    sent_s = call.sent_s or 0.0
    done_s = call.done_s if call.done_s is not None else sent_s
    return int((sent_s - CLOCKS_APART_S) * 1000), int((done_s + _LATE_S) * 1000)


def _windows_ms(calls: Sequence[TracedCall]) -> Iterator[tuple[int, int]]:
    """The calls' windows, those that overlap as one: a hundred calls in a row are one window, not a hundred."""
    start_ms = end_ms = None
    for first, last in sorted(_window_ms(call) for call in calls):
        if start_ms is None or end_ms is None:
            start_ms, end_ms = first, last
        elif first > end_ms:
            yield start_ms, end_ms
            start_ms, end_ms = first, last
        else:
            end_ms = max(end_ms, last)
    if start_ms is not None and end_ms is not None:
        yield start_ms, end_ms
