"""The search for one invocation's start line: what each look finds, and what is kept of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from ..store import NEVER_BEGAN
from .clock_skew import Sighting, SkewBound, bound_skew
from .start_lines import WINDOW_S, StartLine, choose_start, start_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loomlib.store import InvocationRow, Store

    from .logs import LogPage, LogReader
    from .sources import RuntimeSource

_ANSWERED: Final = ("Invocation completed", "Returning streaming response", "Invocation failed")
"""How the AgentCore SDK's line begins after the agent's code ran: what has no start line by then has none at all."""


class StartSearch:
    """Looks for the start of one stored invocation; the other invocations of its session help to bound the clocks."""

    def __init__(self, store: Store, reader: LogReader, source: RuntimeSource, invocation_id: int) -> None:
        self._store, self._reader, self._source = store, reader, source
        row = store.invocations.get(invocation_id)
        if row is None:
            raise LookupError(f"no invocation has the id {invocation_id}")
        self._row: InvocationRow = row
        self._starts: dict[int, float] = {}
        self._page: LogPage | None = None
        self._quiet = 0
        self._other_lines = False
        self.log_events_found = 0

    @property
    def start(self) -> float | None:
        """The start by the agent's clock (Unix seconds), None when it is not found."""
        return self._starts.get(self._row.id)

    @property
    def latency_ms(self) -> float | None:
        """The specification's cold-start latency: agent start − client invoke."""
        start, sent = self.start, self._row.client_invoke_time
        return None if start is None or sent is None else (start - sent) * 1000

    @property
    def skew(self) -> SkewBound | None:
        """The bound of the two clocks' difference from all of the session's calls whose start is known."""
        rows = sorted(self._session(), key=lambda row: row.id != self._row.id)  # this call first
        seen = [_sighting(row, self._starts[row.id]) for row in rows if row.id in self._starts]
        return bound_skew(one for one in seen if one is not None)

    def look(self) -> bool:
        """Look once; whether more looking is in vain, because it is found or cannot be there."""
        rows = self._session()
        self._starts.update({row.id: row.agent_start_time for row in rows if row.agent_start_time is not None})
        if self.start is not None or self._row.client_invoke_time is None or self._row.failure in NEVER_BEGAN:
            return True
        before = self.log_events_found
        first = min(row.client_invoke_time or self._row.client_invoke_time for row in rows)
        self._page = self._reader.session_logs(
            self._source,
            self._row.qualifier,
            self._row.session_id,
            start=datetime.fromtimestamp(first, UTC) - timedelta(seconds=WINDOW_S),
            limit=None,
        )
        self.log_events_found = len(self._page)
        lines = start_lines(self._page, self._row.session_id)
        self._other_lines = bool(lines)
        self._assign(lines, rows)
        if self.start is not None:
            return True
        answered = any(event.message.startswith(_ANSWERED) for event in self._page)
        self._quiet = self._quiet + 1 if answered and not lines and self.log_events_found == before else 0
        return self._quiet > 0

    def settle(self) -> str:
        """The state in which the search ended, stored; so are the other starts of the session that were seen."""
        state, skew = self._state(), self.skew
        for row in self._session():
            start = self._starts.get(row.id)
            known = (row.agent_start_time, row.skew_low_ms, row.skew_high_ms)
            if start is None or row.client_invoke_time is None or skew is None:
                continue
            if known != (start, skew.low_ms, skew.high_ms):
                self._store.invocations.note_start(
                    row.id,
                    state="found",
                    agent_start_time=start,
                    cold_start_latency_ms=(start - row.client_invoke_time) * 1000,
                    skew_low_ms=skew.low_ms,
                    skew_high_ms=skew.high_ms,
                )
        if self.start is None:
            self._store.invocations.note_start(self._row.id, state=state)
        return state

    def _state(self) -> str:
        if self.start is not None:
            return "found"
        if self._page is None:  # it was never sent, or refused before it reached the agent
            return "no_start_line"
        if self._page.state == "no_group":
            return "no_logs"
        # Where other calls of the session have their line, this one's is still on its way.
        return "no_start_line" if self.log_events_found and not self._other_lines else "not_found_yet"

    def _session(self) -> Sequence[InvocationRow]:
        found = self._store.invocations.list(agent_id=self._row.agent_id, session_id=self._row.session_id, limit=None)
        return [row for row in reversed(found) if row.qualifier == self._row.qualifier]

    def _assign(self, lines: Sequence[StartLine], rows: Sequence[InvocationRow]) -> None:
        """Which line belongs to which of the session's calls; by order when every call is known to have begun."""
        began = [row for row in rows if row.failure not in NEVER_BEGAN and row.client_invoke_time is not None]
        certain = all(row.status == "complete" for row in began) and len(lines) <= len(began)
        for place, row in enumerate(began):
            if row.client_invoke_time is None or (not certain and row.id != self._row.id):
                continue
            line = choose_start(
                lines,
                sent=row.client_invoke_time,
                done=row.client_done_time,
                place=place if certain else None,
                request_id=row.request_id,
            )
            if line is not None:
                self._starts.setdefault(row.id, line.time.timestamp())


def _sighting(row: InvocationRow, start: float) -> Sighting | None:
    if row.client_invoke_time is None:
        return None
    received = None if row.ttft_ms is None else row.client_invoke_time + row.ttft_ms / 1000
    last = received if received is not None else row.client_done_time
    return None if last is None else Sighting(sent=row.client_invoke_time, received=last, start=start)
