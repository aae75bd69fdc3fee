"""The parts of a session that exist from the start of its process on, and the way to that process."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from .clocks import SessionClocks
from .connections import Connections
from .output import SessionOutput
from .process import AgentProcess
from .wire import Connection, ConnectionCut

EXIT_SOON_S = 1.0
"""A connection that was refused, or closed without an answer: time to see whether the process ended with it."""


class NobodyThere(Exception):
    """The process has just ended and nothing of the call was sent to it: another one can take the call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A process, what it prints, the connections to it and the clocks that end it."""

    process: AgentProcess
    output: SessionOutput
    connections: Connections
    clocks: SessionClocks

    async def connect(self) -> Connection:
        """A connection for one request. Raises `NobodyThere`, or `ConnectionCut` when the process lives but refuses."""
        try:
            return await self.connections.take()
        except ConnectionCut as cut:
            # Killed with threads still dying, a process listens no more before the kernel calls it ended.
            try:
                await asyncio.wait_for(self.process.ended.wait(), EXIT_SOON_S)
            except TimeoutError:
                raise cut from None
            raise NobodyThere(str(cut)) from cut
