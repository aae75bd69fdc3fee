"""Traces of stored invocations: complete ones are read from the store, others are collected and stored."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Final

from ..agents import AgentEntry
from ..aws import Clients
from ..errors import StoreError
from ..store import InvocationRow, Store, TraceRow
from ..telemetry.cold_start import find_agent_start
from ..telemetry.cost import RuntimeUse
from ..telemetry.diagnosis import ClientSide, client_side
from ..telemetry.logs import LogReader
from ..telemetry.process_starts import processes_began
from ..telemetry.session_starts import SessionStartRecord, find_session_starts
from ..telemetry.span_sources import NamedSource
from ..telemetry.trace_collector import TraceCollector
from ..telemetry.trace_lookup import PollingPolicy, TraceRequest, TraceResult, trace_from
from .runtime_uses import stored_use

_log = logging.getLogger(__name__)

_CLOCKS_S: Final = 0.1
"""If a clock is adjusted, the start of a session may appear just before the call that starts it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedInvocation:
    """A stored invocation with its trace.

    `client` is None when the invocation never ended; `use`, its CPU and memory, is None until it is stored. `start` is
    the start of the session's process in this invocation, where that is recorded.
    """

    row: InvocationRow
    collected: TraceResult
    client: ClientSide | None
    use: RuntimeUse | None = None
    start: SessionStartRecord | None = None


class TraceFinder:
    """Finds traces for one workbench. `same_clock`: agents and the client share one clock."""

    def __init__(self, store: Store, clients: Clients, *, span_polling: PollingPolicy, same_clock: bool) -> None:
        self._store, self._clients, self.span_polling, self._same_clock = store, clients, span_polling, same_clock
        self._collector = TraceCollector(clients)
        self._log_reader = LogReader(clients)

    def trace(
        self,
        entry: AgentEntry,
        rows: Sequence[InvocationRow],
        *,
        source: NamedSource | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> list[TracedInvocation]:
        """Return the traces of an agent's invocations, in their order. Complete ones are not fetched again.

        Args:
            entry: The agent's entry in the catalog.
            rows: Stored invocations of the agent.
            source: Read spans only from this source, and reuse only stored traces from it; every source by default.
            progress: Called with a sentence while spans are awaited.
        """
        stored = self._store.traces.get_many([row.id for row in rows])
        reusable = {id: row for id, row in stored.items() if row.is_complete and _is_from(row, source)}
        exports = bool(rows) and self._store.traces.has_spans(rows[0].agent_id)
        results = {
            row.id: _restored(row, reusable[row.id], agent_exports=exports) for row in rows if row.id in reusable
        }
        is_cold = {id: row.details.get("is_cold") for id, row in reusable.items()}
        starts = {id: SessionStartRecord.read(row.details.get("start") or {}) for id, row in reusable.items()}
        missing_rows = [row for row in rows if row.id not in reusable]
        if missing_rows:
            others = {row.id: self._others(row) for row in missing_rows}
            calls = [TraceRequest.of(row, others[row.id].values(), agent_exports=exports) for row in missing_rows]
            collected = self._collect(entry, calls, source, progress)
            opening = {row.id for row in missing_rows if _is_ours(row) and all(id > row.id for id in others[row.id])}
            is_cold |= self._began(entry, collected, opening)
            starts |= self._starts(entry, [result.request for id, result in collected.items() if is_cold[id]])
            for id, result in collected.items():
                if result.is_complete or id not in stored or not stored[id].is_complete:
                    details: dict[str, object] = {"is_cold": is_cold[id]}
                    details |= {} if source is None else {"source": source.name}
                    details |= {} if (start := starts.get(id)) is None else {"start": start.stored()}
                    self._keep(result, details)
            results |= collected
        if len(rows) == 1:
            rows = [self._with_start(entry, rows[0], results[rows[0].id])]
        return [
            TracedInvocation(
                row=row,
                collected=results[row.id],
                client=client_side(row, is_cold=is_cold[row.id], same_clock=self._same_clock),
                use=stored_use(reusable[row.id].details) if row.id in reusable else None,
                start=starts.get(row.id),
            )
            for row in rows
        ]

    def _collect(
        self,
        entry: AgentEntry,
        calls: Sequence[TraceRequest],
        source: NamedSource | None,
        progress: Callable[[str], None] | None,
    ) -> dict[int, TraceResult]:
        if source is None:
            return self._collector.collect(entry.arn, calls, self.span_polling, progress=progress)
        span_polling = replace(self.span_polling, reason=f"reading {source.name}", remedy="", reports_exports=False)
        elsewhere = TraceCollector(self._clients, elsewhere=source)
        return elsewhere.collect(entry.arn, calls, span_polling, progress=progress)

    def _with_start(self, entry: AgentEntry, row: InvocationRow, result: TraceResult) -> InvocationRow:
        """Look once for the agent's start line if no server span shows when the agent began."""
        if row.agent_start_time is not None or result.trace.of_operation("server") or not result.request.reached_agent:
            return row
        find_agent_start(self._store, self._log_reader, entry.arn, row.id, attempts=0)
        return self._store.invocations.get(row.id) or row

    def _began(
        self, entry: AgentEntry, collected: Mapping[int, TraceResult], opening: Set[int]
    ) -> dict[int, bool | None]:
        """Return whether each call started its process; a call that opens a session needs no lookup."""
        calls = [result.request for result in collected.values() if result.request.reached_agent]
        unsure = [call for call in calls if call.invocation_id not in opening]
        began: dict[int, bool | None] = dict.fromkeys(collected)
        began |= {call.invocation_id: True for call in calls if call.invocation_id in opening}
        return began | (processes_began(self._clients, entry.arn, unsure) if unsure else {})

    def _starts(self, entry: AgentEntry, cold: Sequence[TraceRequest]) -> dict[int, SessionStartRecord | None]:
        """Return how the sessions of cold calls started, by invocation; AWS does not record this."""
        timed = [call for call in cold if call.sent_s is not None and call.done_s is not None]
        if not self.span_polling.reports_exports:
            return {}
        starts: dict[int, SessionStartRecord | None] = {}
        for qualifier in {call.qualifier for call in timed}:
            calls = [call for call in timed if call.qualifier == qualifier]
            recorded = find_session_starts(
                self._clients,
                entry.arn,
                {call.session_id for call in calls},
                qualifier=qualifier,
                start_s=min(call.sent_s or 0.0 for call in calls),
                end_s=max(call.done_s or 0.0 for call in calls),
            )
            for call in calls:
                during = [start for start in recorded.get(call.session_id, ()) if _within(start, call)]
                starts[call.invocation_id] = during[-1] if during else None
        return starts

    def _others(self, row: InvocationRow) -> dict[int, str | None]:
        """Return the trace ids of the session's other calls by invocation id."""
        trace_ids = self._store.invocations.trace_ids(row.agent_id, row.session_id)
        return {id: trace_id for id, trace_id in trace_ids.items() if id != row.id}

    def _keep(self, collected: TraceResult, details: Mapping[str, object]) -> None:
        if not collected.request.reached_agent or not (collected.records or collected.is_complete):
            return
        try:
            self._store.traces.put(
                collected.request.invocation_id,
                session_id=collected.request.session_id,
                trace_id=collected.trace.trace_id or collected.request.trace_id,
                state=collected.state,
                is_complete=collected.is_complete,
                span_count=len(collected.trace.spans),
                records=collected.records,
                details=details,
            )
        except StoreError as error:  # the caller has it, and it can be collected again
            _log.warning(
                "A collected trace could not be stored: %s", error, extra={"id": collected.request.invocation_id}
            )


def _within(start: SessionStartRecord, call: TraceRequest) -> bool:
    return (call.sent_s or 0.0) - _CLOCKS_S <= start.start_ns / 1e9 <= (call.done_s or 0.0)


def _is_ours(row: InvocationRow) -> bool:
    """Return whether Loom created the session id, so that no earlier process can have used it."""
    return row.session_id.startswith("loom-")


def _is_from(stored: TraceRow, source: NamedSource | None) -> bool:
    return source is None or stored.details.get("source") == source.name


def _restored(row: InvocationRow, stored: TraceRow, *, agent_exports: bool) -> TraceResult:
    trace, unreadable = trace_from(stored.records, trace_id=stored.trace_id)
    return TraceResult(
        request=TraceRequest.of(row, agent_exports=agent_exports),
        state=stored.state,
        trace=trace,
        records=stored.records,
        unreadable=unreadable,
        is_final=stored.state != "found",
    )
