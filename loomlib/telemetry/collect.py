"""Collecting traces: the spans of one invocation or of many, polled until they are whole, with a deadline.

Spans arrive late: within a second locally, two to three minutes after the answer on AWS. So there is no fixed wait, and
what does not come ends in a state that says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from .collected import Collected, Patience, TracedCall, trace_from
from .looking import look
from .span_records import SpanReader, TraceSource
from .traces.trace import Trace

if TYPE_CHECKING:
    from loomlib.aws.connection import Clients

_GIVEN_UP_S: Final = 20.0
"""The local exporter gives a request up after three attempts of five seconds at the most, and says so."""

Progress: TypeAlias = Callable[[str], None]


@dataclass(slots=True)
class _Sought:
    """One call while it is looked for."""

    call: TracedCall
    trace: Trace
    records: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    looks: int = 0
    grew: bool = True
    is_settled: bool = False

    def take(self, documents: Sequence[tuple[str, Mapping[str, object]]]) -> None:
        self.looks += 1
        texts = tuple(text for text, _ in documents)
        self.grew = len(texts) != len(self.records) or self.looks == 1
        if texts and self.grew:
            self.trace, self.unreadable = trace_from(
                [document for _, document in documents], trace_id=self.call.trace_id
            )
            self.records = texts


class TraceCollector:
    """Collects traces through one connection."""

    def __init__(self, clients: Clients) -> None:
        self._reader = SpanReader(clients)

    def collect(
        self,
        source: TraceSource,
        calls: Sequence[TracedCall],
        patience: Patience,
        *,
        progress: Progress | None = None,
    ) -> dict[int, Collected]:
        """The trace of each of an agent's calls, by invocation id. Many calls cost as many queries as one.

        Polls as `patience` says, for those only that are not whole yet; `progress` hears of every look. Raises what
        reading logs raises (`AccessDenied` …).
        """
        sought = [_Sought(call, Trace.one(())) for call in calls]
        waiting = [each for each in sought if each.call.reached_agent]
        started = time.monotonic()
        while waiting:
            now_s = time.time()
            late = {each.call.invocation_id for each in waiting if _is_too_late(each.call, patience, now_s)}
            findings = look(self._reader, source, [each.call for each in waiting], late)
            for each in waiting:
                each.take(findings.of(each.call))
                each.is_settled = _is_settled(each, patience, now_s)
            waiting = [each for each in waiting if not each.is_settled]
            waited_s = time.monotonic() - started
            if progress is not None:
                progress(_told(sought, waiting, waited_s, patience))
            if waited_s >= patience.wait_s:
                break
            if waiting:
                time.sleep(min(patience.interval_s, patience.wait_s - waited_s))
        lost_ms = self._lost_ms(source, sought, patience)
        return {each.call.invocation_id: self._outcome(source, each, patience, lost_ms) for each in sought}

    def _lost_ms(self, source: TraceSource, sought: Sequence[_Sought], patience: Patience) -> Sequence[int]:
        """When the agent's processes said that spans were lost: asked once, and only where a call is without any."""
        now_s = time.time()
        silent = [
            each.call
            for each in sought
            if each.call.reached_agent and not each.trace.spans and _is_too_late(each.call, patience, now_s)
        ]
        if not silent:
            return ()
        start_ms = int(min(call.sent_s or now_s for call in silent) * 1000)
        qualifiers = {call.qualifier for call in silent}
        return [
            at_ms
            for qualifier in sorted(qualifiers)
            for at_ms in self._reader.lost_ms(source, qualifier, start_ms=start_ms, end_ms=int(now_s * 1000))
        ]

    def _outcome(self, source: TraceSource, sought: _Sought, patience: Patience, lost_ms: Sequence[int]) -> Collected:
        return Collected(
            call=sought.call,
            state=self._state(source, sought, patience, lost_ms),
            trace=sought.trace,
            records=sought.records,
            unreadable=sought.unreadable,
            looks=sought.looks,
        )

    def _state(self, source: TraceSource, sought: _Sought, patience: Patience, lost_ms: Sequence[int]) -> str:
        if not sought.call.reached_agent:
            return "not_reached"
        if sought.trace.spans:
            is_whole = "partial" not in sought.trace.marks and (sought.is_settled or _has_top(sought.trace))
            return "found" if is_whole else "partial"
        if not sought.records and not self._reader.has_group(source, sought.call.qualifier):
            return "no_group"
        now_s, call = time.time(), sought.call
        if not _is_too_late(call, patience, now_s):
            return "not_found_yet"
        if any(_is_of(call, at_ms) for at_ms in lost_ms):
            return "lost"
        may_come = call.agent_exports and call.done_s is not None and now_s - call.done_s <= _GIVEN_UP_S
        return "not_found_yet" if may_come else "exports_nothing"


def _is_settled(sought: _Sought, patience: Patience, now_s: float) -> bool:
    """Whether more looking is in vain: the trace is whole, or what is missing had all the time it could need."""
    if _is_too_late(sought.call, patience, now_s):
        return True
    if not sought.trace.spans or "partial" in sought.trace.marks or not _has_top(sought.trace):
        return False
    # The server's span ends last and is exported last. Without one, only a look that brings nothing new can tell.
    young = sought.call.done_s is None or now_s - sought.call.done_s < patience.settle_s
    return not sought.grew if young or not sought.trace.of_operation("server") else True


def _is_of(call: TracedCall, lost_ms: int) -> bool:
    """Whether spans that were given up at this time can be the call's."""
    if call.sent_s is None or call.done_s is None:
        return False
    return call.sent_s <= lost_ms / 1000 <= call.done_s + _GIVEN_UP_S


def _is_too_late(call: TracedCall, patience: Patience, now_s: float) -> bool:
    return call.done_s is not None and now_s - call.done_s > patience.horizon_s


def _has_top(trace: Trace) -> bool:
    return bool(trace.of_operation("server", "invoke_agent"))


def _told(sought: Sequence[_Sought], waiting: Sequence[_Sought], waited_s: float, patience: Patience) -> str:
    spans = sum(len(each.trace.spans) for each in sought)
    if not waiting:
        return f"{spans:,} spans"
    whole = f"{len(sought) - len(waiting):,} of {len(sought):,} traces whole" if len(sought) > 1 else "not whole yet"
    why = f" · {patience.why}" if patience.why else ""
    return f"{spans:,} spans so far, {whole} · {waited_s:.0f} of at most {patience.wait_s:.0f} s{why}"


__all__ = ["Collected", "Patience", "Progress", "TraceCollector", "TracedCall"]
