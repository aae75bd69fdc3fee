"""Traces of stored invocations: from the store where they are kept whole, else collected, and then kept."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import StoreError
from ..store import InvocationRow, Store, TraceRow
from ..telemetry.cold_start import find_agent_start
from ..telemetry.collect import Collected, Patience, TraceCollector, TracedCall
from ..telemetry.collected import trace_from
from ..telemetry.diagnosis import ClientSide, client_side
from ..telemetry.logs import LogReader
from ..telemetry.process_starts import processes_began

if TYPE_CHECKING:
    from ..agents import AgentEntry
    from ..aws import Clients

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedInvocation:
    """A stored invocation with what was collected of its trace; `client` is None when it never ended."""

    row: InvocationRow
    collected: Collected
    client: ClientSide | None


class Tracer:
    """Finds traces for one workbench. `same_clock`: agents read the clock that the client reads."""

    def __init__(self, store: Store, clients: Clients, *, patience: Patience, same_clock: bool) -> None:
        self._store, self._clients, self.patience, self._same_clock = store, clients, patience, same_clock
        self._collector = TraceCollector(clients)
        self._log_reader = LogReader(clients)

    def trace(
        self,
        entry: AgentEntry,
        rows: Sequence[InvocationRow],
        *,
        progress: Callable[[str], None] | None = None,
    ) -> list[TracedInvocation]:
        """The traces of an agent's invocations, in their order. What is kept whole is not fetched again."""
        kept = {id: row for id, row in self._store.traces.get_many([row.id for row in rows]).items() if row.is_complete}
        found = {row.id: _restored(row, kept[row.id]) for row in rows if row.id in kept}
        is_cold = {id: row.details.get("is_cold") for id, row in kept.items()}
        wanted = [row for row in rows if row.id not in kept]
        if wanted:
            others = {row.id: self._others(row) for row in wanted}
            exports = self._store.traces.has_spans(wanted[0].agent_id)
            calls = [TracedCall.of(row, others[row.id].values(), agent_exports=exports) for row in wanted]
            collected = self._collector.collect(entry.arn, calls, self.patience, progress=progress)
            opening = {row.id for row in wanted if _is_ours(row) and all(id > row.id for id in others[row.id])}
            is_cold |= self._began(entry, collected, opening)
            for id, each in collected.items():
                self._keep(each, is_cold[id])
            found |= collected
        if len(rows) == 1:
            rows = [self._with_start(entry, rows[0], found[rows[0].id])]
        return [
            TracedInvocation(
                row=row,
                collected=found[row.id],
                client=client_side(row, is_cold=is_cold[row.id], same_clock=self._same_clock),
            )
            for row in rows
        ]

    def _with_start(self, entry: AgentEntry, row: InvocationRow, found: Collected) -> InvocationRow:
        """Where no server's span says when the agent began, its start line may: one look, no waiting."""
        if row.agent_start_time is not None or found.trace.of_operation("server") or not found.call.reached_agent:
            return row
        find_agent_start(self._store, self._log_reader, entry.arn, row.id, attempts=0)
        return self._store.invocations.get(row.id) or row

    def _began(
        self, entry: AgentEntry, collected: Mapping[int, Collected], opening: Set[int]
    ) -> dict[int, bool | None]:
        """Whether each call's process began for it; those that open a session of their own need not be looked up."""
        calls = [each.call for each in collected.values() if each.call.reached_agent]
        unsure = [call for call in calls if call.invocation_id not in opening]
        found: dict[int, bool | None] = dict.fromkeys(collected)
        found |= {call.invocation_id: True for call in calls if call.invocation_id in opening}
        return found | (processes_began(self._clients, entry.arn, unsure) if unsure else {})

    def _others(self, row: InvocationRow) -> dict[int, str | None]:
        """The trace ids of the session's other calls, by invocation id."""
        found = self._store.invocations.trace_ids(row.agent_id, row.session_id)
        return {id: trace_id for id, trace_id in found.items() if id != row.id}

    def _keep(self, collected: Collected, is_cold: bool | None) -> None:
        if not collected.records:
            return
        try:
            self._store.traces.put(
                collected.call.invocation_id,
                session_id=collected.call.session_id,
                trace_id=collected.trace.trace_id or collected.call.trace_id,
                state=collected.state,
                is_complete=collected.is_complete,
                span_count=len(collected.trace.spans),
                records=collected.records,
                details={"is_cold": is_cold},
            )
        except StoreError as error:  # it is collected all the same, and can be again
            _log.warning("A trace is collected but not kept: %s", error, extra={"id": collected.call.invocation_id})


def _is_ours(row: InvocationRow) -> bool:
    """Whether Loom made the session's id up: then nobody else can have used it before."""
    return row.session_id.startswith("loom-")


def _restored(row: InvocationRow, kept: TraceRow) -> Collected:
    trace, unreadable = trace_from(kept.records, trace_id=kept.trace_id)
    return Collected(
        call=TracedCall.of(row), state=kept.state, trace=trace, records=kept.records, unreadable=unreadable
    )
