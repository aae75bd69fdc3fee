"""A small HTTP/1.1 client for a session's own server: persistent connections, chunks as they arrive.

It uses only asyncio and httptools, because the whole local service may add at most 1.5 ms to a warm invocation.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import httptools

_HIGH_WATER_BYTES = 1_048_576  # if more of the response is unread, reading pauses until the consumer has caught up

_MOST_BYTES_WITHOUT_BODY = 524_288
"""Maximum number of consecutive bytes of headers or trailers. The read that contains both the end of the headers and
the start of the body counts in full (at most 256 KiB in asyncio)."""

_HOP_BY_HOP = frozenset(
    {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "trailers"}
    | {"transfer-encoding", "upgrade", "content-length", "host", "expect"}
)


class ConnectionClosedError(Exception):
    """The connection was closed, by either side, before the response was complete."""


class NotHttpError(Exception):
    """The server sent bytes that are not HTTP."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseHead:
    """Status and headers of a response, by lower-case names, without hop-by-hop headers."""

    status: int
    headers: Mapping[str, str]


def encode_request(method: str, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """Encode a request.

    Args:
        method: The HTTP method.
        path: The path.
        headers: The headers; hop-by-hop headers are left out, except `host`.
        body: The body; if it has 64 KiB or more, the caller must send it.

    Raises:
        ValueError: A header contains a line break or a NUL character.
    """
    lines = [f"{method} {path} HTTP/1.1", f"host: {headers.get('host', '127.0.0.1')}"]
    for name, value in headers.items():
        if name.lower() in _HOP_BY_HOP:
            continue
        if any(character in name + value for character in "\r\n\0"):
            raise ValueError(f"header {name!r} contains a line break or a NUL character")
        lines.append(f"{name}: {value}")
    if body or method == "POST":
        lines.append(f"content-length: {len(body)}")
    head = "\r\n".join(lines).encode("latin-1", "replace") + b"\r\n\r\n"
    return head + body if len(body) < 65_536 else head


class AgentConnection(asyncio.Protocol):
    """One connection: `ask` sends a request, `next_chunk` returns the next part of the response body."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self._writable: asyncio.Future[None] | None = None
        self._head: asyncio.Future[ResponseHead] | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._failure: Exception | None = None
        self._chunks: deque[bytes] = deque()
        self._unread_bytes = self._bytes_without_body = 0
        self._headers: dict[str, str] = {}
        self._parser: httptools.HttpResponseParser | None = None
        self._complete = self._idle = True
        self._until_close = False
        self._reading = True

    @property
    def reusable(self) -> bool:
        """Whether another request may be sent: the response is complete and the connection stays open."""
        return self._idle and self._failure is None

    @property
    def chunk_waits(self) -> bool:
        """Whether `next_chunk` returns immediately."""
        return bool(self._chunks) or self._complete

    async def ask(self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> ResponseHead:
        """Send a request and return the response head.

        Args:
            method: The HTTP method.
            path: The path with its query.
            headers: The header fields; `content-length` is added.
            body: The request's body.

        Raises:
            ConnectionClosedError: The agent closed the connection.
            NotHttpError: The agent's response is not HTTP.
        """
        if self._failure is not None:
            raise self._failure
        assert self._transport is not None
        assert self._idle
        request = encode_request(method, path, headers, body)
        self._parser = httptools.HttpResponseParser(self)
        self._headers, self._complete, self._idle, self._until_close = {}, False, False, False
        self._chunks.clear()
        self._unread_bytes = self._bytes_without_body = 0
        self._head = self._loop.create_future()
        self._transport.write(request)
        if len(body) >= 65_536:
            self._transport.write(body)
        return await self._head

    async def next_chunk(self) -> bytes | None:
        """Return the next part of the body as received, None after the last."""
        while not self._chunks:
            if self._complete:
                return None
            if self._failure is not None:
                raise self._failure
            self._waiter = self._loop.create_future()
            await self._waiter
        chunk = self._chunks.popleft()
        self._unread_bytes -= len(chunk)
        if not self._reading and self._unread_bytes < _HIGH_WATER_BYTES // 2 and self._transport is not None:
            self._reading = True
            self._transport.resume_reading()
        return chunk

    def close(self) -> None:
        """Close immediately, so that the server notices that the client disconnected."""
        if self._transport is not None:
            self._transport.abort()
        self._fail(ConnectionClosedError("closed by the service"))

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Parse data from the server."""
        if self._idle or self._parser is None:
            self._break(NotHttpError(f"{data[:60]!r} without a request"))
            return
        self._bytes_without_body += len(data)
        if self._bytes_without_body > _MOST_BYTES_WITHOUT_BODY:
            self._break(NotHttpError(f"headers or trailers of more than {_MOST_BYTES_WITHOUT_BODY:,} bytes"))
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._break(NotHttpError(f"{data[:60]!r} ({error})"))

    def connection_lost(self, exc: Exception | None) -> None:
        """Finish a response that ends with its connection; fail an incomplete one."""
        if self._until_close and not self._complete and exc is None:
            self._finish(keep=False)
        self._fail(ConnectionClosedError("the connection closed"))

    # httptools callbacks

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a header, joined with an earlier one of the same name; ignore trailers."""
        if self._head is None or self._head.done():
            return
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        self._headers[key] = f"{self._headers[key]}, {text}" if key in self._headers else text

    def on_message_begin(self) -> None:
        """Refuse a second answer to one request: it must not become the next request's."""
        if self._complete:
            self._idle = False
            self._fail(NotHttpError("a second answer to one request"))

    def on_headers_complete(self) -> None:
        """Complete the response head."""
        assert self._parser is not None
        status = self._parser.get_status_code()
        if status < 200:
            return
        self._until_close = "content-length" not in self._headers and "transfer-encoding" not in self._headers
        headers = {name: value for name, value in self._headers.items() if name not in _HOP_BY_HOP}
        if self._head is not None and not self._head.done():
            self._head.set_result(ResponseHead(status=status, headers=headers))

    def on_body(self, body: bytes) -> None:
        """Queue a part of the body, and stop reading above the high-water mark."""
        if self._complete:
            return  # of a second answer to one request
        self._chunks.append(body)
        self._bytes_without_body = 0
        self._unread_bytes += len(body)
        if self._reading and self._unread_bytes > _HIGH_WATER_BYTES and self._transport is not None:
            self._reading = False
            self._transport.pause_reading()
        self._wake()

    def on_message_complete(self) -> None:
        """Complete the response."""
        assert self._parser is not None
        if self._parser.get_status_code() < 200:  # 100 Continue and similar: the response follows
            self._headers = {}
            return
        self._finish(keep=self._parser.should_keep_alive())

    def _finish(self, *, keep: bool) -> None:
        self._complete = True
        if keep:
            self._idle = True
        elif self._transport is not None:
            self._transport.close()
        self._wake()

    def _break(self, failure: Exception) -> None:
        self._fail(failure)
        if self._transport is not None:
            self._transport.abort()

    def _fail(self, failure: Exception) -> None:
        if self._failure is None:
            self._failure = failure
        if self._head is not None and not self._head.done():
            self._head.set_exception(self._failure)
            self._head.exception()  # the caller may have been cancelled
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
