"""Requests of an agent to the service, from a session with a network of its own."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine

from .commands import connect_address
from .lifeline import SessionProcess
from .pool_settings import ServeEndpoint


class OwnRequests:
    """Serves the socket at which an agent's own requests to the service arrive.

    Args:
        serve: Serves a socket and returns a function that stops it; None if sessions share the machine's network.
        spawn: Runs a coroutine in the background.
        until: Set once no process or file of the session is left.
    """

    def __init__(
        self,
        serve: ServeEndpoint | None,
        spawn: Callable[[Coroutine[None, None, None]], object],
        until: asyncio.Event,
    ) -> None:
        self._serve, self._spawn, self._until = serve, spawn, until
        self._process: asyncio.Future[SessionProcess] = asyncio.get_running_loop().create_future()
        self._is_used = False

    def set_process(self, process: SessionProcess) -> None:
        """Set the session's process, through whose network the service connects."""
        self._process.set_result(process)

    def connect(self, endpoint: socket.socket) -> None:
        """Serve the socket, which is the first that the process sends."""
        if self._serve is None or self._is_used:
            endpoint.close()
            return
        self._is_used = True
        self._spawn(self._serve_until_gone(self._serve, endpoint))

    async def _serve_until_gone(self, serve: ServeEndpoint, endpoint: socket.socket) -> None:
        stop = await serve(endpoint, self._dial)
        try:
            await self._until.wait()
        finally:
            stop()

    async def _dial(self, host: str, port: int) -> socket.socket:
        return await connect_address(await asyncio.shield(self._process), host, port)
