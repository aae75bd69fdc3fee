"""The HTTP server of the service."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Generator
from typing import cast

from uvicorn.server import Server

from .access.protocol import BoundedProtocol
from .aws_names.proxy import AwsProxy


class ServiceServer(Server):
    """uvicorn without its signal handlers: sessions must end before connections do."""

    async def serve_also(self, listener: socket.socket, names: AwsProxy) -> Callable[[], None]:
        """Answer requests on a further listening socket, until the returned function is called.

        Args:
            listener: The socket.
            names: The proxy that answers for AWS's host names on the same socket.
        """
        loop = asyncio.get_running_loop()

        def make() -> BoundedProtocol:
            protocol = self._protocol()
            protocol.tunnel = names.protocol
            return protocol

        serving = await loop.create_server(make, sock=listener)

        def stop() -> None:
            serving.close()
            names.stop()

        return stop

    def _protocol(self) -> BoundedProtocol:
        protocol = cast(Callable[..., BoundedProtocol], self.config.http_protocol_class)
        return protocol(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Leave the signals to the service."""
        yield


async def until_started(server: Server, serving: asyncio.Task[None]) -> None:
    """Wait until a server answers requests.

    Raises:
        RuntimeError: It stopped before it served requests.
    """
    while not server.started:
        if serving.done():
            await serving
            raise RuntimeError("uvicorn stopped before it served")
        await asyncio.sleep(0.001)
