"""Collecting traces: the spans of one invocation or of many, polled until they are whole, with a deadline.

Spans arrive late: within a second locally, two to three minutes after the answer on AWS. So there is no fixed wait, and
what does not come ends in a state that says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Final, TypeAlias

from .export_notices import GIVEN_UP_S, ProcessWords, Word, read_words
from .sources import RuntimeSource
from .span_lookup import look
from .span_records import SpanReader
from .span_sources import NamedSource
from .trace_lookup import FINAL_AFTER_S, Collected, Patience, TracedCall, trace_from
from .traces.trace import Trace

if TYPE_CHECKING:
    from loomlib.aws.connection import Clients

_LOOKS_OF_TRUST: Final = 5
"""How often spans are looked for of an agent that had some before, until it is asked whether it still makes any."""

Progress: TypeAlias = Callable[[str], None]


@dataclass(slots=True, eq=False)
class _Sought:
    """One call while it is looked for."""

    call: TracedCall
    trace: Trace
    records: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    looks: int = 0
    grew: bool = True
    is_settled: bool = False
    word: Word | None = None
    was_said_before: bool = False

    def take(self, documents: Sequence[tuple[str, Mapping[str, object]]]) -> None:
        self.looks += 1
        texts = tuple(text for text, _ in documents)
        self.grew = len(texts) != len(self.records) or self.looks == 1
        if texts and self.grew:
            self.trace, self.unreadable = trace_from(
                [document for _, document in documents], trace_id=self.call.trace_id
            )
            self.records = texts

    def may_be_silent(self, late: Set[int]) -> bool:
        """Whether it is likely enough that the process makes no spans to ask for it."""
        return not self.call.agent_exports or self.looks > _LOOKS_OF_TRUST or self.call.invocation_id in late

    def hear(self, words: ProcessWords) -> None:
        """Take what was said of the call's process; spans that left before may still be on their way at that moment."""
        self.was_said_before = self.word is not None
        self.word = words.about(self.call)


class TraceCollector:
    """Collects traces through one connection, or from a plugin's span source (`elsewhere`)."""

    def __init__(self, clients: Clients, *, elsewhere: NamedSource | None = None) -> None:
        self._reader, self._elsewhere = SpanReader(clients), elsewhere

    def collect(
        self,
        source: RuntimeSource,
        calls: Sequence[TracedCall],
        patience: Patience,
        *,
        progress: Progress | None = None,
    ) -> dict[int, Collected]:
        """The trace of each of an agent's calls, by invocation id. Many calls cost as many queries as one.

        Polls as `patience` says, for those only that are not whole yet; `progress` hears of every look. Raises what
        reading logs raises (`AccessDeniedError` …).
        """
        sought = [_Sought(call, Trace.one(())) for call in calls]
        waiting = [each for each in sought if each.call.reached_agent]
        started = time.monotonic()
        while waiting:
            now_s = time.time()
            late = {each.call.invocation_id for each in waiting if _is_too_late(each.call, patience, now_s)}
            wanted = [each.call for each in waiting]
            findings = (
                look(self._reader, source, wanted, late) if self._elsewhere is None else self._elsewhere.look(wanted)
            )
            for each in waiting:
                each.take(findings.of(each.call))
            if self._elsewhere is None:
                self._listen(source, waiting, patience, now_s, late)
            for each in waiting:
                each.is_settled = _is_settled(each, patience, now_s)
            waiting = [each for each in waiting if not each.is_settled]
            waited_s = time.monotonic() - started
            if progress is not None:
                progress(_told(sought, waiting, waited_s, patience))
            if waited_s >= patience.wait_s:
                break
            if waiting:
                time.sleep(min(patience.interval_s, patience.wait_s - waited_s))
        has_group = cache(partial(self._reader.has_group, source))
        if self._elsewhere is not None:
            has_group = _always
        return {each.call.invocation_id: _outcome(each, patience, has_group) for each in sought}

    def _listen(
        self, source: RuntimeSource, sought: Sequence[_Sought], patience: Patience, now_s: float, late: Set[int]
    ) -> None:
        """What the service says of the processes whose spans are missing.

        Whether a process makes spans at all is asked at once where none of the agent's were ever seen.
        """
        missing = [each for each in sought if patience.is_told and not _is_whole(each.trace)]
        doubted = [each for each in missing if not each.trace.spans and each.may_be_silent(late)]
        for each_sort, with_habits in ((doubted, True), ([each for each in missing if each not in doubted], False)):
            if each_sort:
                calls = [each.call for each in each_sort]
                words = read_words(self._reader, source, calls, now_s=now_s, with_habits=with_habits)
                for each in each_sort:
                    each.hear(words)


def _always(_: str) -> bool:
    return True


def _outcome(sought: _Sought, patience: Patience, has_group: Callable[[str], bool]) -> Collected:
    done_s = sought.call.done_s
    return Collected(
        call=sought.call,
        state=_state(sought, patience, has_group),
        trace=sought.trace,
        records=sought.records,
        unreadable=sought.unreadable,
        looks=sought.looks,
        is_final=done_s is not None and time.time() - done_s > max(FINAL_AFTER_S, patience.horizon_s),
    )


def _state(sought: _Sought, patience: Patience, has_group: Callable[[str], bool]) -> str:
    if not sought.call.reached_agent:
        return "not_reached"
    if sought.trace.spans:
        is_whole = "partial" not in sought.trace.marks and (sought.is_settled or _has_top(sought.trace))
        return "found" if is_whole else "partial"
    if not sought.records and not has_group(sought.call.qualifier):
        return "no_group"
    if sought.word is not None:
        return "exports_nothing" if sought.word == "silent" else sought.word
    now_s, call = time.time(), sought.call
    if not _is_too_late(call, patience, now_s):
        return "not_found_yet"
    may_come = patience.is_told and call.done_s is not None and now_s - call.done_s <= GIVEN_UP_S
    return "undelivered" if may_come else "exports_nothing"


def _is_settled(sought: _Sought, patience: Patience, now_s: float) -> bool:
    """Whether more looking is in vain: the trace is whole, or what is missing had all the time it could need."""
    if _is_too_late(sought.call, patience, now_s) or (sought.word == "silent" and not sought.trace.spans):
        return True
    if sought.word in ("lost", "died") and sought.was_said_before and not sought.grew:
        return True
    if not _is_whole(sought.trace):
        return False
    # The server's span ends last and is exported last. Without one, only a look that brings nothing new can tell.
    young = sought.call.done_s is None or now_s - sought.call.done_s < patience.settle_s
    return not sought.grew if young or not sought.trace.of_operation("server") else True


def _is_too_late(call: TracedCall, patience: Patience, now_s: float) -> bool:
    return call.done_s is not None and now_s - call.done_s > patience.horizon_s


def _is_whole(trace: Trace) -> bool:
    return bool(trace.spans) and "partial" not in trace.marks and _has_top(trace)


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
