"""The search for one invocation's start line: what each lookup finds, and what is stored."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from loomlib.store import InvocationRow, Store

from ..store import NEVER_BEGAN
from .clock_skew import ClockSample, SkewBound, bound_skew
from .logs import LogPage, LogReader
from .sources import RuntimeSource
from .start_lines import WINDOW_S, StartLine, choose_start, start_lines

_ANSWERED: Final = ("Invocation completed", "Returning streaming response", "Invocation failed")
"""How the AgentCore SDK's line begins after the agent's code ran; without a start line by then, there is none."""


class StartSearch:
    """Looks up one invocation's start; the session's other invocations help to bound the clock skew."""

    def __init__(self, store: Store, reader: LogReader, source: RuntimeSource, invocation_id: int) -> None:
        self._store, self._reader, self._source = store, reader, source
        row = store.invocations.get(invocation_id)
        if row is None:
            raise LookupError(f"the store has no invocation with id {invocation_id}")
        self._row: InvocationRow = row
        self._starts: dict[int, float] = {}
        self._page: LogPage | None = None
        self._idle_lookups = 0
        self._other_lines = False
        self.log_events_found = 0

    @property
    def start(self) -> float | None:
        """The start on the agent's clock in Unix seconds; None while it is not found."""
        return self._starts.get(self._row.id)

    @property
    def latency_ms(self) -> float | None:
        """Cold-start latency: agent start − request sent, in milliseconds."""
        start, sent_s = self.start, self._row.client_invoke_time
        return None if start is None or sent_s is None else (start - sent_s) * 1000

    @property
    def skew(self) -> SkewBound | None:
        """The bound of the clock skew, from all of the session's invocations with a known start."""
        rows = sorted(self._session(), key=lambda row: row.id != self._row.id)  # this invocation first
        samples = [_clock_sample(row, self._starts[row.id]) for row in rows if row.id in self._starts]
        return bound_skew(sample for sample in samples if sample is not None)

    def lookup(self) -> bool:
        """Read the log once; return whether further lookups are useless: the start is found or cannot appear."""
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
        is_answered = any(event.message.startswith(_ANSWERED) for event in self._page)
        self._idle_lookups = (
            self._idle_lookups + 1 if is_answered and not lines and self.log_events_found == before else 0
        )
        return self._idle_lookups > 0

    def settle(self) -> str:
        """Store the final state, and found starts of the session's other invocations; return the state."""
        state, skew = self._state(), self.skew
        for row in self._session():
            start = self._starts.get(row.id)
            stored_values = (row.agent_start_time, row.skew_low_ms, row.skew_high_ms)
            if start is None or row.client_invoke_time is None or skew is None:
                continue
            if stored_values != (start, skew.low_ms, skew.high_ms):
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
        if self._page is None:  # never sent, or refused before it reached the agent
            return "no_start_line"
        if self._page.state == "no_group":
            return "no_logs"
        # If other invocations of the session have their line, this one's has yet to arrive.
        return "no_start_line" if self.log_events_found and not self._other_lines else "not_found_yet"

    def _session(self) -> Sequence[InvocationRow]:
        rows = self._store.invocations.list(agent_id=self._row.agent_id, session_id=self._row.session_id, limit=None)
        return [row for row in reversed(rows) if row.qualifier == self._row.qualifier]

    def _assign(self, lines: Sequence[StartLine], rows: Sequence[InvocationRow]) -> None:
        """Assign lines to the session's invocations; by order when each has started and has its line."""
        reached = [row for row in rows if row.failure not in NEVER_BEGAN and row.client_invoke_time is not None]
        is_complete = all(row.status == "complete" for row in reached) and len(lines) == len(reached)
        for index, row in enumerate(reached):
            if row.client_invoke_time is None or (not is_complete and row.id != self._row.id):
                continue
            line = choose_start(
                lines if is_complete else [line for line in lines if _may_be_of(line, row, reached)],
                sent=row.client_invoke_time,
                done=row.client_done_time,
                place=index if is_complete else None,
                request_id=row.request_id,
            )
            if line is not None:
                self._starts.setdefault(row.id, line.time.timestamp())


def _may_be_of(line: StartLine, row: InvocationRow, rows: Sequence[InvocationRow]) -> bool:
    """Return whether a line states an invocation's request id, or is nearer to its interval than to any other's."""
    if row.request_id is not None and line.event.request_id == row.request_id:
        return True
    return min(rows, key=lambda other: _distance_s(line, other)).id == row.id


def _distance_s(line: StartLine, row: InvocationRow) -> float:
    """Return how far a start is outside the interval from an invocation's request to its answer, in seconds."""
    start, sent = line.time.timestamp(), row.client_invoke_time or 0.0
    done = sent if row.client_done_time is None else row.client_done_time
    return max(sent - start, start - done, 0.0)


def _clock_sample(row: InvocationRow, start: float) -> ClockSample | None:
    if row.client_invoke_time is None:
        return None
    received = None if row.ttft_ms is None else row.client_invoke_time + row.ttft_ms / 1000
    received_at = received if received is not None else row.client_done_time
    return None if received_at is None else ClockSample(sent=row.client_invoke_time, received=received_at, start=start)
