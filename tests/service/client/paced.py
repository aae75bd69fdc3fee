"""A bare HTTP server in AgentCore's wire form whose answers are scripts: bytes, pauses, and a way to end.

It is not a model of AgentCore (that is `loomlib.local`); it produces the answers that a healthy service never gives.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote


@dataclass
class Request:
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: bytes = field(repr=False)
    connection: int

    @property
    def arn(self) -> str:
        return unquote(self.path.split("/")[2])


class Reply:
    """What a script writes with. `sent_ns` are the moments at which body pieces were handed to the socket."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self.sent_ns: list[int] = []

    async def head(self, status: int = 200, content_type: str = "text/event-stream", **headers: str) -> None:
        header_fields = {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [f"HTTP/1.1 {status} Status", f"Content-Type: {content_type}", "X-Amzn-RequestId: req-1"]
        if "Content-Length" not in header_fields:
            lines.append("Transfer-Encoding: chunked")
        lines += [f"{name}: {value}" for name, value in header_fields.items()]
        self.writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        await self.writer.drain()

    async def chunk(self, data: bytes) -> None:
        self.sent_ns.append(time.perf_counter_ns())
        self.writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        await self.writer.drain()

    async def end(self) -> None:
        self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()

    async def whole(
        self, body: bytes, status: int = 200, content_type: str = "application/json", **headers: str
    ) -> None:
        await self.head(status, content_type, **{"Content-Length": str(len(body)), **headers})
        self.sent_ns.append(time.perf_counter_ns())
        self.writer.write(body)
        await self.writer.drain()

    def cut(self) -> None:
        self.writer.transport.abort()


Script = Callable[[Request, Reply], Awaitable[None]]


class PacedServer:
    """Serves `script` on a loopback port from a thread of its own; `requests` is what came."""

    def __init__(self, script: Script, tls: ssl.SSLContext | None = None) -> None:
        self.script, self.tls = script, tls
        self.requests: list[Request] = []
        self.replies: list[Reply] = []
        self.open_connections = 0
        self._writers: list[asyncio.StreamWriter] = []
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._ready.wait(60)

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def environment(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
        }

    def close(self) -> None:
        with contextlib.suppress(RuntimeError):  # closed before
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(60)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, ssl=self.tls)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        await asyncio.sleep(0)  # a task that accepts a connection and is cancelled before it begins leaves its socket
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.gather(*(writer.wait_closed() for writer in self._writers), return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        self.open_connections += 1
        number = len(self._writers)
        try:
            # asyncio's stream protocol (3.11) trips over a connection task that ends cancelled
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while True:
                    request = await self._read(reader, number)
                    self.requests.append(request)
                    reply = Reply(writer)
                    self.replies.append(reply)
                    await self.script(request, reply)
        finally:
            self.open_connections -= 1
            writer.close()

    async def _read(self, reader: asyncio.StreamReader, number: int) -> Request:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        return Request(path=head[0].split(" ")[1], headers=headers, body=body, connection=number)


@contextlib.contextmanager
def paced_server(script: Script, tls: ssl.SSLContext | None = None) -> Iterator[PacedServer]:
    server = PacedServer(script, tls)
    try:
        yield server
    finally:
        server.close()
