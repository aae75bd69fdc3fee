"""The connections of one session: kept alive and reused, with one request at a time on each."""

from __future__ import annotations

import asyncio
import os
import socket

from .wire import AgentConnection, ConnectionClosedError

Address = tuple[str, int] | bytes | str
"""Host and port, or the name of a Unix socket."""


class Connections:
    """Connections to one agent's address: the newest idle one is used first, a new one is opened when none is idle."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._idle: list[AgentConnection] = []
        self._open: set[AgentConnection] = set()
        self._closed = False

    async def take(self) -> AgentConnection:
        """Return a connection for one request. Raise `ConnectionClosedError` when the agent no longer listens."""
        while self._idle:
            connection = self._idle.pop()
            if connection.reusable:
                return connection
            self._open.discard(connection)
        if self._closed:
            raise ConnectionClosedError("the session has ended")
        try:
            loop = asyncio.get_running_loop()
            if isinstance(self._address, tuple):
                _, connection = await loop.create_connection(AgentConnection, *self._address)
            else:
                _, connection = await loop.create_unix_connection(AgentConnection, os.fsdecode(self._address))
        except OSError as failure:
            raise ConnectionClosedError(str(failure)) from failure
        self._open.add(connection)
        return connection

    async def open_socket(self) -> socket.socket:
        """Return a new connected socket, which the caller closes. Raise `ConnectionClosedError` as `take` does."""
        if self._closed:
            raise ConnectionClosedError("the session has ended")
        sock = socket.socket(socket.AF_INET if isinstance(self._address, tuple) else socket.AF_UNIX)
        sock.setblocking(False)
        try:
            if sock.family == socket.AF_INET:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            address = self._address if isinstance(self._address, tuple) else os.fsdecode(self._address)
            await asyncio.get_running_loop().sock_connect(sock, address)
        except OSError as failure:
            sock.close()
            raise ConnectionClosedError(str(failure)) from failure
        except BaseException:
            sock.close()
            raise
        return sock

    def give_back(self, connection: AgentConnection) -> None:
        """Keep a connection for the next request, or close it if its response was not read completely."""
        if connection.reusable and not self._closed:
            self._idle.append(connection)
        else:
            connection.close()
            self._open.discard(connection)

    def close_idle(self) -> None:
        """Close idle connections; the others may still receive the end of a response."""
        self._closed = True
        while self._idle:
            connection = self._idle.pop()
            connection.close()
            self._open.discard(connection)

    def close_all(self) -> None:
        """Close all connections; pending requests raise `ConnectionClosedError`."""
        self._closed = True
        self._idle.clear()
        while self._open:
            self._open.pop().close()
