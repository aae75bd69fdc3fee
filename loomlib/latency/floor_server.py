"""A process that does nothing: it answers every HTTP request at once with the same bytes.

The harness floor is measured against it: the same client, the same loopback, no agent. It is run as a script (standard
library only), takes a free loopback port, writes `{"port": …}` as one line, and ends when its standard input closes, so
that it never outlives the study that started it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import sys

_HEAD = (
    "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\n"
    "x-amzn-bedrock-agentcore-runtime-session-id: harness-floor-harness-floor-harness-floor\r\n"
    "content-length: {size}\r\n\r\n"
)


class _NullAgent(asyncio.Protocol):
    """One connection: it answers each complete request with the prepared response in one write."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self._transport = transport
            connection: socket.socket = transport.get_extra_info("socket")
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while self._transport is not None and (size := _request_size(self._buffer)) is not None:
            if len(self._buffer) < size:
                return
            self._buffer = self._buffer[size:]
            self._transport.write(self._answer)


def _request_size(buffer: bytes) -> int | None:
    """Return the length of the first request with its body; None while its head is incomplete."""
    head, separator, _ = buffer.partition(b"\r\n\r\n")
    if not separator:
        return None
    for line in head.lower().split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name == b"content-length":
            return len(head) + 4 + int(value)
    return len(head) + 4


def make_answer(content_type: str, size: int) -> bytes:
    """Return the whole answer: head and body.

    Args:
        content_type: Content type; the body is valid for it where `size` allows.
        size: Size of the body in bytes.
    """
    if content_type.startswith("text/event-stream") and size >= 10:
        body = b"data: " + b"x" * (size - 8) + b"\n\n"
    elif size >= 2:
        body = b'"' + b"x" * (size - 2) + b'"'
    else:
        body = b"0" * size
    return _HEAD.format(content_type=content_type, size=len(body)).encode("latin-1") + body


async def _serve(answer: bytes) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _NullAgent(answer), "127.0.0.1", 0)
    sys.stdout.write(json.dumps({"port": server.sockets[0].getsockname()[1]}) + "\n")
    sys.stdout.flush()
    # Whoever started this process holds the other end of its standard input; a killed process closes it.
    closed = asyncio.Event()
    await loop.connect_read_pipe(lambda: _ParentWatch(closed), sys.stdin)
    await closed.wait()
    server.close()


class _ParentWatch(asyncio.Protocol):
    def __init__(self, closed: asyncio.Event) -> None:
        self._closed = closed

    def connection_lost(self, exc: Exception | None) -> None:
        self._closed.set()


def main() -> None:
    """Parse the content type and the size of the answer, then serve until standard input closes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--content-type", default="application/json")
    parser.add_argument("--size", type=int, default=64, help="bytes of the body")
    chosen = parser.parse_args()
    asyncio.run(_serve(make_answer(chosen.content_type, max(0, chosen.size))))


if __name__ == "__main__":
    main()
