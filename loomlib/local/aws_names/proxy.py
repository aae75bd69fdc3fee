"""The proxy: it routes CONNECT for AgentCore's hosts to the service, refuses AWS's other hosts, tunnels the rest."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from ..contract import Dial
from .hosts import is_aws_host, is_served

if TYPE_CHECKING:
    from .certificates import Authority

_log = logging.getLogger(__name__)
_TARGET: Final = re.compile(rb"CONNECT ([A-Za-z0-9.-]{1,253}):(\d{1,5}) HTTP/1\.[01]\r\n")
_HEAD_BYTES: Final = 16_384
_HEAD_WITHIN_S: Final = 10.0
_CONNECTED_WITHIN_S: Final = 20.0
_PIECE_BYTES: Final = 65_536
_MOST_OPEN: Final = 256


class AwsProxy:
    """A proxy on loopback.

    Args:
        home: The home folder, which has the certificate authority.
        service_port: The service's own port.
        dial: Connects to other addresses; through this machine's own network by default.
    """

    def __init__(self, home: Path, service_port: int, dial: Dial | None = None) -> None:
        self._home, self._service_port, self._dial = home, service_port, dial
        self._authority: Authority | None = None
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()

    async def start(self) -> int:
        """Listen on a free port of 127.0.0.1 and return it."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=_HEAD_BYTES)
        return int(self._server.sockets[0].getsockname()[1])

    def protocol(self) -> asyncio.Protocol:
        """Return the protocol of one connection that was accepted elsewhere."""
        loop = asyncio.get_running_loop()
        return asyncio.StreamReaderProtocol(asyncio.StreamReader(_HEAD_BYTES, loop), self._accept, loop)

    def stop(self) -> None:
        """Stop listening, and begin to end the connections."""
        if self._server is not None:
            self._server.close()
        for task in self._open:
            task.cancel()

    async def close(self) -> None:
        """Stop listening and end the connections."""
        self.stop()
        await asyncio.gather(*self._open, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._open) >= _MOST_OPEN:
            writer.close()
            return
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, ssl.SSLError, asyncio.IncompleteReadError, TimeoutError):
            try:
                await self._connect(reader, writer)
            finally:
                writer.close()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_HEAD_WITHIN_S):
                head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            return await _refuse(writer, "431 Request Header Fields Too Large")
        target = _TARGET.match(head)
        if target is None:
            return await _refuse(writer, "405 Method Not Allowed")
        host, port = target[1].decode().lower(), int(target[2])
        served = is_served(host) and port == 443
        if is_aws_host(host) and not served:
            _log.warning("The proxy refused a client a connection to %s:%d: no call leaves for AWS.", host, port)
            return await _refuse(writer, "403 Forbidden")
        try:
            async with asyncio.timeout(_CONNECTED_WITHIN_S):
                other = await self._reach(host, port, served=served)
        except (OSError, TimeoutError, OverflowError):
            return await _refuse(writer, "502 Bad Gateway")
        try:
            context = await asyncio.to_thread(self._context, host) if served else None
            if context:
                cast(asyncio.Transport, writer.transport).pause_reading()
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            if context:
                await writer.start_tls(context, ssl_handshake_timeout=_HEAD_WITHIN_S)
            await _splice(reader, writer, *other)
        finally:
            other[1].close()

    async def _reach(self, host: str, port: int, *, served: bool) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if served:
            return await asyncio.open_connection("127.0.0.1", self._service_port)
        if self._dial is None:
            return await asyncio.open_connection(host, port)
        return await asyncio.open_connection(sock=await self._dial(host, port))

    def _context(self, host: str) -> ssl.SSLContext:
        if self._authority is None:
            from .certificates import Authority  # takes 60 ms, so it is imported only when the proxy is used

            self._authority = Authority(self._home)
        return self._authority.context(host)


async def _splice(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    other_reader: asyncio.StreamReader,
    other_writer: asyncio.StreamWriter,
) -> None:
    """Copy in both directions until one side has ended and the other has received everything."""
    up = asyncio.ensure_future(_copy(reader, other_writer))
    down = asyncio.ensure_future(_copy(other_reader, writer))
    try:
        await asyncio.wait((up, down), return_when=asyncio.FIRST_COMPLETED)
        if up.done() and not down.done() and other_writer.can_write_eof():
            await down  # a client that has sent everything still reads the answer
    finally:
        for task in (up, down):
            task.cancel()
        await asyncio.gather(up, down, return_exceptions=True)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(_PIECE_BYTES):
        writer.write(piece)
        await writer.drain()
    if writer.can_write_eof():
        with contextlib.suppress(OSError):
            writer.write_eof()


async def _refuse(writer: asyncio.StreamWriter, status: str) -> None:
    writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
    await writer.drain()
