"""A use of a session other than an invocation: a WebSocket, or a command."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..contract import AgentProcessError, SessionEndedError

if TYPE_CHECKING:
    from .running import RunningProcess
    from .session import RuntimeSession


@dataclass(slots=True)
class SessionUse:
    """A use, during which the session is not idle; `close` ends it.

    Attributes:
        session: The session.
        running: Its process with its connections.
        on_close: Called once when the use ends.
    """

    session: RuntimeSession
    running: RunningProcess
    on_close: Callable[[], None]
    _is_over: bool = False

    @property
    def ended(self) -> asyncio.Event:
        """Set when the session ends."""
        return self.session.ended

    async def explain(self, failure: Exception) -> AgentProcessError | SessionEndedError:
        """Return the error for a use that failed, with the process's exit if that was the cause."""
        return await self.session.explain(failure, mid_answer=True)

    def log_tail(self) -> tuple[str, ...]:
        """Return the last lines of the agent's output."""
        return tuple(self.running.output.tail)

    def close(self) -> None:
        """End the use; a second call has no effect."""
        if not self._is_over:
            self._is_over = True
            self.session.finish()
            self.on_close()
