"""The two timers that end a session: idle timeout and maximum lifetime."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from .health import Health

_BUSY_CHECK_S = 15.0  # interval between pings of an agent that is HealthyBusy


class SessionClocks:
    """Ends a session after its idle timeout or maximum lifetime.

    A session is not idle during an invocation (`pause`) or while its agent answers pings with HealthyBusy. Durations
    are measured on the event loop's clock, so a change of the machine's time neither shortens nor prolongs a session.

    Args:
        idle_timeout_s: Seconds without an invocation after which the session ends.
        max_lifetime_s: Seconds after which it ends in any case.
        ask: Pings the agent; returns None if it cannot be reached.
        end: Ends the session for a reason.
        unix_time: Returns the Unix time, in which agents report the time of their last status change.
    """

    def __init__(
        self,
        *,
        idle_timeout_s: float,
        max_lifetime_s: float,
        ask: Callable[[], Awaitable[Health | None]],
        end: Callable[[str], Awaitable[None]],
        unix_time: Callable[[], float] = time.time,
    ) -> None:
        self._idle_timeout_s, self._ask, self._end = idle_timeout_s, ask, end
        self._loop = asyncio.get_running_loop()
        self._idle_timer: asyncio.TimerHandle | None = None
        self._life_timer = self._loop.call_later(
            max_lifetime_s, self._start, end, f"The session reached its maximum lifetime of {max_lifetime_s:g} s"
        )
        self._task: asyncio.Future[None] | None = None
        self._unix_time = unix_time
        self._idle_since = self._loop.time()
        self._reported, self._changed_at = 0.0, 0.0

    def pause(self) -> None:
        """Stop the idle timer: an invocation has started."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None

    def resume(self) -> None:
        """Start the idle timer: the last invocation has ended."""
        self._idle_since = self._loop.time()
        self._check_in(self._idle_timeout_s)

    def stop(self) -> None:
        """Stop both timers: the session has ended."""
        self.pause()
        self._life_timer.cancel()

    def _check_in(self, seconds: float) -> None:
        self.pause()
        self._idle_timer = self._loop.call_later(seconds, self._start, self._check)

    def _start(self, work: Callable[..., Awaitable[None]], *arguments: str) -> None:
        self._task = asyncio.ensure_future(work(*arguments))

    async def _check(self) -> None:
        timer = self._idle_timer
        health = await self._ask()
        if self._idle_timer is not timer:
            return  # an invocation began meanwhile, or the session ended
        if health is not None and health.is_busy:
            self._check_in(min(_BUSY_CHECK_S, self._idle_timeout_s))
            return
        if health is not None and health.changed_at != self._reported:
            # Converted once: from then on its age grows with the loop's clock, whatever the machine's time is set to.
            age_s = max(0.0, self._unix_time() - health.changed_at)
            self._reported, self._changed_at = health.changed_at, self._loop.time() - age_s
        remaining_s = max(self._idle_since, self._changed_at) + self._idle_timeout_s - self._loop.time()
        if remaining_s > 1:  # agents report whole seconds
            self._check_in(remaining_s)
        else:
            await self._end(f"The session was idle for {self._idle_timeout_s:g} s")
