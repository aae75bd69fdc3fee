"""The reference readers: as little as can stand between a socket and a clock."""

from __future__ import annotations

import asyncio
import socket
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

from loomlib.aws.signing import SignedRequest


@dataclass(frozen=True, slots=True)
class Heard:
    """When the request went out, and each time the socket gave bytes of the body (`time.perf_counter_ns`)."""

    sent_ns: int
    arrivals: list[tuple[int, bytes]]

    @property
    def first_ms(self) -> float:
        return (self.arrivals[0][0] - self.sent_ns) / 1e6

    @property
    def whole_ms(self) -> float:
        return (self.arrivals[-1][0] - self.sent_ns) / 1e6


def plain_request(port: int, session_id: str, body: bytes) -> bytes:
    """What the service sends to an agent's process."""
    return (
        f"POST /invocations HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        f"X-Amzn-Bedrock-AgentCore-Runtime-Session-Id: {session_id}\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


def signed_request(request: SignedRequest) -> bytes:
    """A signed invocation as the bytes of its HTTP request."""
    url = urlsplit(request.url)
    lines = [f"POST {url.path}?{url.query} HTTP/1.1", f"Host: {url.netloc}", f"Content-Length: {len(request.body)}"]
    lines += [
        f"{name}: {value}" for name, value in request.headers.items() if name.lower() not in ("host", "content-length")
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + request.body


class Caller:
    """A blocking socket, kept open between calls."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self) -> None:
        self._socket.close()

    def ask(self, request: bytes) -> Heard:
        """Sends `request` and reads the whole answer."""
        sent_ns = time.perf_counter_ns()
        self._socket.sendall(request)
        answer = _Answer()
        while not answer.complete:
            data = self._socket.recv(65536)
            answer.take(time.perf_counter_ns(), data)
        return Heard(sent_ns, answer.arrivals)


async def ask_async(port: int, request: bytes) -> Heard:
    """The same by asyncio's streams, on a new connection, which is in the time."""
    sent_ns = time.perf_counter_ns()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    answer = _Answer()
    while not answer.complete:
        data = await reader.read(65536)
        answer.take(time.perf_counter_ns(), data)
    writer.close()
    await writer.wait_closed()
    return Heard(sent_ns, answer.arrivals)


class _Answer:
    """As much of HTTP/1.1 as it takes to know where a body begins and ends."""

    def __init__(self) -> None:
        self.arrivals: list[tuple[int, bytes]] = []
        self.complete = False
        self._head: bytes | None = None
        self._before = b""
        self._left = -1  # bytes of a counted body still to come; -1 for a chunked one
        self._tail = b""

    def take(self, at_ns: int, data: bytes) -> None:
        if not data:
            raise ConnectionError("the connection was closed inside an answer")
        if self._head is None:
            head, end, data = (self._before + data).partition(b"\r\n\r\n")
            if not end:
                self._before = head
                return
            self._head = head.lower()
            if not self._head.split(b" ", 2)[1].startswith(b"2"):
                raise RuntimeError((head + b"\r\n\r\n" + data).decode("utf-8", "replace"))
            if b"content-length:" in self._head:
                self._left = int(self._head.split(b"content-length:")[1].split(b"\r\n")[0])
        if not data:
            return
        self.arrivals.append((at_ns, data))
        if self._left >= 0:
            self._left -= len(data)
            self.complete = self._left == 0
        else:
            self._tail = (self._tail + data)[-7:]
            self.complete = self._tail == b"\r\n0\r\n\r\n" or data == b"0\r\n\r\n"
