"""Collect traces: poll for the spans of one or many invocations until they are complete or a deadline passes.

Spans arrive late: within a second locally, two to three minutes after the answer on AWS. So there is no fixed wait, and
a trace that does not arrive ends in a state that says why.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Final, TypeAlias

from loomlib.presentation.formats import number, plural, waited
from loomlib.wall_clock import OF_THIS_PROCESS

from .export_notices import GIVEN_UP_S, ExportNotices, ExportProblem, read_notices
from .sources import RuntimeSource
from .span_lookup import lookup_spans
from .span_records import SpanReader
from .span_sources import NamedSource
from .trace_lookup import FINAL_AFTER_S, PollingPolicy, TraceRequest, TraceResult, trace_from
from .traces.trace import Trace

if TYPE_CHECKING:
    from loomlib.aws.connection import Clients

_TRUSTED_ATTEMPTS: Final = 5
"""Number of lookups without a result after which the export notices of an agent that had spans before are read."""

Progress: TypeAlias = Callable[[str], None]


@dataclass(slots=True, eq=False)
class _Lookup:
    """The state of one lookup."""

    request: TraceRequest
    trace: Trace
    records: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    attempts: int = 0
    grew: bool = True
    is_settled: bool = False
    problem: ExportProblem | None = None
    had_problem_before: bool = False

    def add(self, documents: Sequence[tuple[str, Mapping[str, object]]]) -> None:
        self.attempts += 1
        texts = tuple(text for text, _ in documents)
        self.grew = len(texts) != len(self.records) or self.attempts == 1
        if texts and self.grew:
            parsed = [document for _, document in documents]
            self.trace, self.unreadable = trace_from(parsed, trace_id=self.request.trace_id)
            self.records = texts

    def may_export_nothing(self, late: Set[int]) -> bool:
        """Whether the process may create no spans at all, so that its notices should be read."""
        is_new = not self.request.agent_exports
        return is_new or self.attempts > _TRUSTED_ATTEMPTS or self.request.invocation_id in late

    def note(self, notices: ExportNotices) -> None:
        """Apply export notices; spans exported before a notice may still be in flight."""
        self.had_problem_before = self.problem is not None
        self.problem = notices.problem_of(self.request)


class TraceCollector:
    """Collects traces through one connection.

    Args:
        clients: The AWS clients of a connection.
        elsewhere: A plugin's span source to use instead of CloudWatch.
    """

    def __init__(self, clients: Clients, *, elsewhere: NamedSource | None = None) -> None:
        self._reader, self._elsewhere = SpanReader(clients), elsewhere

    def collect(
        self,
        source: RuntimeSource,
        requests: Sequence[TraceRequest],
        policy: PollingPolicy,
        *,
        progress: Progress | None = None,
    ) -> dict[int, TraceResult]:
        """Collect the traces of an agent's invocations; many cost as many queries as one.

        Args:
            source: The agent's runtime.
            requests: The invocations whose traces are wanted.
            policy: How long to poll; only incomplete traces are looked up again.
            progress: Called with a sentence after each lookup.

        Returns:
            A result for each invocation id.

        Raises:
            AwsError: The logs cannot be read (`AccessDeniedError` and so on).
        """
        lookups = [_Lookup(request, Trace.one(())) for request in requests]
        pending = [lookup for lookup in lookups if lookup.request.reached_agent]
        start_s = time.monotonic()
        while pending:
            late = {item.request.invocation_id for item in pending if _is_too_late(item.request, policy)}
            pending_requests = [lookup.request for lookup in pending]
            if self._elsewhere is None:
                records = lookup_spans(self._reader, source, pending_requests, late, any_time=policy.any_time)
            else:
                records = self._elsewhere.look(pending_requests)
            for lookup in pending:
                lookup.add(records.of(lookup.request))
            if self._elsewhere is None:
                self._read_notices(source, pending, policy, late)
            for lookup in pending:
                lookup.is_settled = _is_settled(lookup, policy)
            pending = [lookup for lookup in pending if not lookup.is_settled]
            waited_s = time.monotonic() - start_s
            if progress is not None:
                progress(_progress_sentence(lookups, pending, waited_s, policy))
            if waited_s >= policy.wait_s:
                break
            if pending:
                time.sleep(min(policy.interval_s, policy.wait_s - waited_s))
        has_group = cache(partial(self._reader.has_group, source))
        if self._elsewhere is not None:
            has_group = _always
        return {lookup.request.invocation_id: _result(lookup, policy, has_group) for lookup in lookups}

    def _read_notices(
        self,
        source: RuntimeSource,
        lookups: Sequence[_Lookup],
        policy: PollingPolicy,
        late: Set[int],
    ) -> None:
        """Read the service's notices about processes whose spans are missing.

        Whether a process creates spans at all is checked at once when no span of the agent was ever found.
        """
        missing = [lookup for lookup in lookups if policy.reports_exports and not _is_complete(lookup.trace)]
        doubtful = [lookup for lookup in missing if not lookup.trace.spans and lookup.may_export_nothing(late)]
        others = [lookup for lookup in missing if lookup not in doubtful]
        for group, with_export_status in ((doubtful, True), (others, False)):
            if group:
                requests = [lookup.request for lookup in group]
                notices = read_notices(
                    self._reader, source, requests, now_s=time.time(), with_export_status=with_export_status
                )
                for lookup in group:
                    lookup.note(notices)


def _always(_: str) -> bool:
    return True


def _result(lookup: _Lookup, policy: PollingPolicy, has_group: Callable[[str], bool]) -> TraceResult:
    done_s = lookup.request.done_s
    return TraceResult(
        request=lookup.request,
        state=_state(lookup, policy, has_group),
        trace=lookup.trace,
        records=lookup.records,
        unreadable=lookup.unreadable,
        attempts=lookup.attempts,
        is_final=done_s is not None and OF_THIS_PROCESS.age_s(done_s) > max(FINAL_AFTER_S, policy.horizon_s),
    )


def _state(lookup: _Lookup, policy: PollingPolicy, has_group: Callable[[str], bool]) -> str:
    if not lookup.request.reached_agent:
        return "not_reached"
    if lookup.trace.spans:
        is_whole = lookup.is_settled or (_has_top(lookup.trace) and not _lacks_server(lookup, policy))
        is_complete = "partial" not in lookup.trace.marks and is_whole
        return "found" if is_complete else "partial"
    if not lookup.records and not has_group(lookup.request.qualifier):
        return "no_group"
    if lookup.problem is not None:
        return "exports_nothing" if lookup.problem == "silent" else lookup.problem
    request = lookup.request
    if not _is_too_late(request, policy):
        return "not_found_yet"
    may_come = (
        policy.reports_exports and request.done_s is not None and OF_THIS_PROCESS.age_s(request.done_s) <= GIVEN_UP_S
    )
    return "undelivered" if may_come else "exports_nothing"


def _is_settled(lookup: _Lookup, policy: PollingPolicy) -> bool:
    """Return whether more polling is useless: the trace is complete, or missing spans are overdue."""
    if _is_too_late(lookup.request, policy) or (lookup.problem == "silent" and not lookup.trace.spans):
        return True
    if lookup.problem in ("lost", "died") and lookup.had_problem_before and not lookup.grew:
        return True
    if not _is_complete(lookup.trace) or _lacks_server(lookup, policy):
        return False
    # The server's span ends last and is exported last. Without one, only a lookup that finds nothing new can tell.
    done_s = lookup.request.done_s
    young = done_s is None or OF_THIS_PROCESS.age_s(done_s) < policy.settle_s
    return not lookup.grew if young or not lookup.trace.of_operation("server") else True


def _lacks_server(lookup: _Lookup, policy: PollingPolicy) -> bool:
    """Return whether the server's span may still come: the parent of a first span is not in the trace.

    The server's span of another session is that of an agent or a tool that this one called.
    """
    trace, request = lookup.trace, lookup.request
    if request.done_s is not None and OF_THIS_PROCESS.age_s(request.done_s) >= policy.server_span_s:
        return False
    sessions = {span.attributes.get("session.id") for span in trace.of_operation("server")}
    if sessions & {None, request.session_id}:
        return False
    return any(root.parent_id is not None for root in trace.roots)


def _is_too_late(request: TraceRequest, policy: PollingPolicy) -> bool:
    return request.done_s is not None and OF_THIS_PROCESS.age_s(request.done_s) > policy.horizon_s


def _is_complete(trace: Trace) -> bool:
    return bool(trace.spans) and "partial" not in trace.marks and _has_top(trace)


def _has_top(trace: Trace) -> bool:
    return bool(trace.of_operation("server", "invoke_agent"))


def _progress_sentence(
    lookups: Sequence[_Lookup], pending: Sequence[_Lookup], waited_s: float, policy: PollingPolicy
) -> str:
    spans = sum(len(lookup.trace.spans) for lookup in lookups)
    if not pending:
        return plural(spans, "span")
    complete = len(lookups) - len(pending)
    traces = f"{number(complete)} of {number(len(lookups))} traces complete" if len(lookups) > 1 else "trace incomplete"
    reason = f" · {policy.reason}" if policy.reason else ""
    return f"{plural(spans, 'span')} so far, {traces} · {waited(waited_s, policy.wait_s)}{reason}"
