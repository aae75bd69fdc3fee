"""The parts of a session that exist once its process has started."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from .clocks import SessionClocks
from .connections import Connections
from .lifeline import SessionProcess
from .output import SessionOutput
from .wire import AgentConnection, ConnectionClosedError

_T = TypeVar("_T")

EXIT_SOON_S = 1.0
"""How long to wait for the process to end after it refused or closed a connection, in seconds."""


class ProcessGoneError(Exception):
    """The process ended before any byte of the request was sent, so another process can handle the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningProcess:
    """A running process, its output, its connections and its timers."""

    process: SessionProcess
    output: SessionOutput
    connections: Connections
    clocks: SessionClocks

    async def connect(self) -> AgentConnection:
        """Return a connection for one request.

        Raises:
            ProcessGoneError: The process has ended.
            ConnectionClosedError: The process is running but refuses connections.
        """
        return await self._unless_gone(self.connections.take)

    async def connect_socket(self) -> socket.socket:
        """Return a connected socket for something other than HTTP. Raise as `connect` does."""
        return await self._unless_gone(self.connections.open_socket)

    async def _unless_gone(self, take: Callable[[], Awaitable[_T]]) -> _T:
        try:
            return await take()
        except ConnectionClosedError as cut:
            # A killed process stops listening before the kernel reports its end, while its threads are ending.
            try:
                await asyncio.wait_for(self.process.ended.wait(), EXIT_SOON_S)
            except TimeoutError:
                raise cut from None
            raise ProcessGoneError(str(cut)) from cut
