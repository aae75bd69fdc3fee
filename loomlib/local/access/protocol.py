"""The HTTP protocol of the service: uvicorn's, with limits that apply before a caller is authenticated."""

from __future__ import annotations

import asyncio
import json
import logging
import resource
from collections.abc import Callable
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_log = logging.getLogger(__name__)

HEAD_BYTES: Final = 65_536
"""Maximum bytes of a request line with all header fields. S3 allows 8 KB; `baggage` alone may have 8 KB."""

HEADER_FIELDS: Final = 200
"""Maximum number of header fields of a request."""

FRAMING_BYTES: Final = HEAD_BYTES
"""Maximum bytes after the header fields that are not part of the body: chunk extensions and trailers."""

HEAD_WITHIN_S: Final = 20.0
"""Seconds within which a client that has started a request must send its header fields."""

FIRST_BYTE_WITHIN_S: Final = 60.0
"""Seconds within which a connected client must start its first request."""

_CONNECT: Final = b"CONNECT "
_MOST_CONNECTIONS = 2_000
_ONCE = frozenset({b"connection", b"upgrade", b"sec-websocket-key", b"sec-websocket-version"})


def most_connections() -> int:
    """Return the maximum number of open connections; raise this process's limit of open files as far as allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    file_limit = 4 * _MOST_CONNECTIONS
    if soft != resource.RLIM_INFINITY and soft < file_limit:
        soft = file_limit if hard == resource.RLIM_INFINITY else min(file_limit, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return _MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else min(_MOST_CONNECTIONS, soft // 2)


class BoundedProtocol(HttpToolsProtocol):
    """One connection, with limits on the size, number and time of header fields, and on the size of trailers.

    If there are too many connections, the one that has been idle longest is closed, so that idle connections cannot
    block others; if none is idle, the new one is refused.

    If `tunnel` is set, a connection that starts with CONNECT is passed to the protocol that `tunnel` returns.
    """

    most_connections = _MOST_CONNECTIONS
    tunnel: Callable[[], asyncio.Protocol] | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._head_bytes, self._in_head, self._refused, self._has_begun = 0, False, False, False
        self._framing_bytes, self._in_body, self._has_advanced = 0, False, False
        self._active_at = self.loop.time()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        cycle: Any = self.cycle  # None before the first request; uvicorn does not declare this
        return cycle is None or bool(cycle.response_complete)

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Accept a connection, if necessary in place of an idle one."""
        super().connection_made(transport)
        self._timer = self.loop.call_later(FIRST_BYTE_WITHIN_S, self._close)
        if len(self.connections) <= self.most_connections:
            return
        others = [item for item in self.connections if isinstance(item, BoundedProtocol) and item is not self]
        idle = [item for item in others if item.is_idle]
        if idle:
            min(idle, key=lambda item: item._active_at)._close()
        else:
            _log.warning("A connection was refused: %d connections are open", len(others))
            self._refuse(503, "ServiceUnavailableException", "The local AgentCore has too many connections")

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Feed the parser, unless the header fields are too long or too slow."""
        if self._refused:
            return
        cycle: Any = self.cycle
        if self.tunnel is not None and cycle is None and not self._in_head and data.startswith(_CONNECT):
            self._begin_tunnel(self.tunnel(), data)
            return
        self._active_at = self.loop.time()
        if self._in_head and self._head_bytes > HEAD_BYTES:
            self._refuse_head()
            return
        if self._framing_bytes > FRAMING_BYTES:
            self._refuse_framing()
            return
        self._has_begun = self._has_advanced = False
        super().data_received(data)
        # Data with part of the body may contain more framing than content: clients send chunks of a few bytes.
        self._framing_bytes = self._framing_bytes + len(data) if self._in_body and not self._has_advanced else 0
        if self._in_head:
            # Data in which a request starts may contain the end of the previous one, so it is not counted.
            self._head_bytes += 0 if self._has_begun else len(data)
            if self._timer is None:
                self._timer = self.loop.call_later(HEAD_WITHIN_S, self._close)

    def on_message_begin(self) -> None:
        """Start to count the header fields; uvicorn's timers do not cover them."""
        super().on_message_begin()
        self._in_head, self._has_begun, self._head_bytes = True, True, 0
        self._in_body = False
        self._stop_timer()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Process a header field; trailers are not used and dropped."""
        if self._in_head and not self._refused:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Start the response, unless there are too many header fields."""
        self._in_head, self._in_body, self._has_advanced = False, True, True
        self._stop_timer()
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > HEAD_BYTES or len(self.headers) > HEADER_FIELDS:
            self._refuse_head()
        if not self._refused:
            super().on_headers_complete()

    def handle_websocket_upgrade(self) -> None:
        """Start a WebSocket.

        Clients that are given the SDK's header fields send the opening handshake's twice. Their own come first and are
        kept, because the response must match their own key.
        """
        seen_names: set[bytes] = set()
        fields: list[tuple[bytes, bytes]] = []
        for name, value in self.scope["headers"]:
            if name not in _ONCE or name not in seen_names:
                fields.append((name, value))
            seen_names.add(name)
        self.scope["headers"] = fields
        super().handle_websocket_upgrade()

    def on_body(self, body: bytes) -> None:
        """Process a part of the body."""
        self._has_advanced = True
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """End the body."""
        self._in_body = False
        if not self._refused:
            super().on_message_complete()

    def _begin_tunnel(self, protocol: asyncio.Protocol, data: bytes) -> None:
        self._stop_timer()
        self.connections.discard(self)
        self.transport.set_protocol(protocol)
        protocol.connection_made(self.transport)
        protocol.data_received(data)

    def _refuse_head(self) -> None:
        message = (
            f"The request line and header fields exceed {HEAD_BYTES:,} bytes or {HEADER_FIELDS} fields: "
            "your request header section exceeds the maximum allowed size"
        )
        self._refuse(431, "RequestHeaderSectionTooLarge", message)

    def _refuse_framing(self) -> None:
        """Close the connection; send the reason, unless the response to its request has started."""
        cycle: Any = self.cycle
        _log.warning("A connection was closed: %s bytes of trailers or chunk extensions", f"{self._framing_bytes:,}")
        if cycle is not None and cycle.response_started:
            self._refused = True
            self._close()
            return
        message = f"The trailers or the extensions of a chunk exceed {FRAMING_BYTES:,} bytes"
        self._refuse(431, "RequestHeaderSectionTooLarge", message)

    def _refuse(self, status: int, code: str, message: str) -> None:
        self._refused = True
        body = json.dumps({"__type": code, "message": message}).encode()
        phrase = {431: "Request Header Fields Too Large", 503: "Service Unavailable"}[status]
        head = (
            f"HTTP/1.1 {status} {phrase}\r\ncontent-type: application/json\r\nx-amzn-errortype: {code}\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self._close()

    def _close(self) -> None:
        self.connections.discard(self)  # now, so that each connection of a burst closes another one
        if not self.transport.is_closing():
            self.transport.close()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
