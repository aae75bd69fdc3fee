"""When each call of a process is sent: at its intended start, or when its chain's previous call has ended."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Final

from .client import Flight, LoadClient
from .exact_timer import exact_timer
from .form import RequestForm
from .journal import Ended, JournalWriter
from .plan import NONE, Plan
from .requests import RequestMaker
from .trace_ids import call_traceparent

AHEAD_CALLS: Final = 512
AHEAD_NS: Final = 60_000_000_000
"""How far in advance requests are prepared; AWS accepts a signature for five minutes."""

STALE_NS: Final = 180_000_000_000
"""Age after which a prepared request is prepared again, so that it reaches AWS within five minutes."""

_SPIN_NS: Final = 60_000
"""How long before a call's time the timer wakes: the kernel takes about this long to schedule the process."""

_BATCH: Final = 4
"""Calls that are sent before sockets are read again, so that a burst does not delay the times of arriving bytes."""


class Schedule:
    """Sends the calls of a plan at their times.

    Args:
        loop: The running loop.
        plan: The calls.
        form: The common parameters of their requests.
        maker: Creates the requests.
        journal: Records a line before and after each call.
        on_done: Called when all calls have ended.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        plan: Plan,
        *,
        form: RequestForm,
        maker: RequestMaker,
        journal: JournalWriter,
        on_done: Callable[[], None],
    ) -> None:
        self._loop, self._plan, self._maker, self._journal = loop, plan, maker, journal
        self._form, self._on_done = form, on_done
        self._ready: dict[int, tuple[int, str, bytes]] = {}  # call: when prepared, session, request
        self._next_first = self._next_prepared = 0
        self._followers: list[tuple[int, int, int]] = []  # when due, call, when its previous call ended
        self._stopped = False
        self._origin_ns = 0
        self._turn: asyncio.Handle | None = None
        self._prepare_first()

    def start(self, origin_ns: int) -> None:
        """Start; times of the plan are relative to `origin_ns`, a reading of `time.perf_counter_ns`."""
        self._origin_ns = origin_ns
        self._client = LoadClient(self._loop, self._form, origin_ns=origin_ns, on_end=self._ended)
        self._timer = exact_timer(self._loop, self._send_due)
        self._send_due()

    def stop(self) -> None:
        """Stop sending calls."""
        self._stopped = True
        self._finish_when_done()

    def cancel(self) -> None:
        """Stop sending calls, and end those in flight."""
        self._stopped = True
        self._client.cancel_all()
        self._finish_when_done()

    def close(self) -> None:
        """Close all connections."""
        self._timer.close()
        self._client.close()

    def _send_due(self) -> None:
        """Send the calls that are due, and set the timer for the next one."""
        self._turn = None
        for _ in range(_BATCH):
            due_ns = self._due_ns()
            if due_ns is None or self._stopped:
                self._finish_when_done()
                return
            left_ns = due_ns + self._origin_ns - time.perf_counter_ns()
            if left_ns > _SPIN_NS:
                self._timer.set(due_ns + self._origin_ns - _SPIN_NS)
                return
            if left_ns > 0:
                end_ns = due_ns + self._origin_ns
                while time.perf_counter_ns() < end_ns:
                    pass
            self._send_next()
        self._turn = self._loop.call_soon(self._send_due)

    def _due_ns(self) -> int | None:
        first, plan = self._next_first, self._plan
        if first < len(plan.first):
            due_ns = plan.due_ns(plan.first[first])
            return min(due_ns, self._followers[0][0]) if self._followers else due_ns
        return self._followers[0][0] if self._followers else None

    def _send_next(self) -> None:
        plan, waited_ns = self._plan, 0
        due_ns = self._due_ns()
        if self._followers and self._followers[0][0] == due_ns:
            ready_ns, call, former_ns = heappop(self._followers)
            intended_ns = ready_ns
            if (at_ns := plan.at_ns[call]) != NONE:
                intended_ns, waited_ns = at_ns, max(0, former_ns - at_ns)
        else:
            call = plan.first[self._next_first]
            self._next_first += 1
            intended_ns = plan.due_ns(call)
        session_id, request = self._request(call)
        index = plan.index[call]
        self._journal.sent(index, session_id, intended_ns, time.perf_counter_ns() - self._origin_ns)
        ended = Ended(index=index, session_id=session_id, intended_ns=intended_ns, waited_ns=waited_ns)
        self._client.send(Flight(call, ended, request))
        self._prepare_first()
        if (follower := plan.next[call]) != NONE:
            self._prepare(follower)

    def _ended(self, flight: Flight) -> None:
        self._journal.ended(flight.ended)
        follower = self._plan.next[flight.call]
        if follower != NONE:
            at_ns, done_ns = self._plan.at_ns[follower], flight.ended.done_ns
            due_ns = done_ns + self._plan.think_ns[follower] if at_ns == NONE else max(at_ns, done_ns)
            heappush(self._followers, (due_ns, follower, done_ns))
            if self._turn is None and not self._stopped:
                self._turn = self._loop.call_soon(self._send_due)
        self._finish_when_done()

    def _finish_when_done(self) -> None:
        idle = self._stopped or (self._next_first == len(self._plan.first) and not self._followers)
        if idle and not self._client.flights:
            self._on_done()

    def _request(self, call: int) -> tuple[str, bytes]:
        prepared = self._ready.pop(call, None)
        if prepared is not None and time.perf_counter_ns() - prepared[0] < STALE_NS:
            return prepared[1], prepared[2]
        session_id, body = self._plan.read(call)
        return session_id, self._body_of(call, session_id, body)

    def _prepare_first(self) -> None:
        """Prepare one or two of the calls that do not wait for another, within the limits of advance preparation."""
        plan = self._plan
        end = min(len(plan.first), self._next_first + AHEAD_CALLS)
        horizon_ns = plan.due_ns(plan.first[self._next_first]) + AHEAD_NS if self._next_first < len(plan.first) else 0
        count = AHEAD_CALLS if self._next_first == 0 and self._next_prepared == 0 else 2
        self._next_prepared = max(self._next_prepared, self._next_first)
        while count and self._next_prepared < end:
            call = plan.first[self._next_prepared]
            if plan.due_ns(call) > horizon_ns:
                return
            self._prepare(call)
            self._next_prepared += 1
            count -= 1

    def _prepare(self, call: int) -> None:
        session_id, body = self._plan.read(call)
        self._ready[call] = (time.perf_counter_ns(), session_id, self._body_of(call, session_id, body))

    def _body_of(self, call: int, session_id: str, body: bytes) -> bytes:
        since_s = self._form.traces_since_s
        if since_s is None:
            return self._maker.make(session_id, body)
        return self._maker.make(session_id, body, call_traceparent(since_s, session_id, self._plan.index[call]))
