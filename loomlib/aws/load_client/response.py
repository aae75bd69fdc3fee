"""The part of HTTP/1.1 (RFC 9112) that a client needs to find the start and the end of a response's body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_HEAD_LIMIT: Final = 65_536
_UNTIL_CLOSE: Final = -1
_SIZE, _DATA, _DATA_END, _TRAILER = range(4)


class FramingError(Exception):
    """The bytes are not an HTTP response."""


class ResponseReader:
    """Reads one response; the result does not depend on how the bytes are split.

    Attributes:
        status: The status; -1 until the head is whole.
        headers: The headers, by their names in lower case.
        complete: Whether the whole response has arrived.
        reusable: Whether the connection can carry another request after it.
    """

    __slots__ = ("_bytes_left", "_chunked", "_head", "_rest", "_state", "complete", "headers", "reusable", "status")

    def __init__(self) -> None:
        self.status = -1
        self.headers: Mapping[str, str] = {}
        self.complete = False
        self.reusable = True
        self._head = b""
        self._chunked = False
        self._bytes_left = 0
        self._rest: bytes = b""
        self._state = _SIZE

    def feed(self, data: bytes) -> bytes:
        """Return the bytes of the body in `data`.

        Raises:
            FramingError: The bytes are not an HTTP response.
        """
        if self.status < 0:
            data = self._read_head(data)
            if self.status < 0 or self.complete:
                return b""
        if self._chunked:
            return self._read_chunks(data) if data else b""
        if self._bytes_left == _UNTIL_CLOSE:
            return data
        if len(data) > self._bytes_left:
            self.reusable = False  # no pending request explains further bytes
            data = data[: self._bytes_left]
        self._bytes_left -= len(data)
        self.complete = self._bytes_left == 0
        return data

    def close(self) -> bool:
        """Return whether the response is complete now that the connection has closed."""
        self.complete = self.complete or (self.status >= 0 and not self._chunked and self._bytes_left == _UNTIL_CLOSE)
        self.reusable = False
        return self.complete

    def _read_head(self, data: bytes) -> bytes:
        head, end, rest = (self._head + data).partition(b"\r\n\r\n")
        if not end:
            self._head = head
            if len(head) > _HEAD_LIMIT:
                raise FramingError("the head of the response is too long")
            return b""
        lines = head.decode("latin-1").split("\r\n")
        version, _, status = lines[0].partition(" ")
        if not version.startswith("HTTP/1.") or not status[:3].isdigit():
            raise FramingError("the response is not HTTP/1.1")
        if status.startswith("1"):  # an interim response; the final one follows
            self._head = b""
            return self._read_head(rest)
        headers: dict[str, str] = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        self.headers, self.status = headers, int(status[:3])
        connection = headers.get("connection", "").lower()
        self.reusable = "close" not in connection and (version != "HTTP/1.0" or "keep-alive" in connection)
        self._measure(headers)
        return rest

    def _measure(self, headers: Mapping[str, str]) -> None:
        """Determine how the end of the body is indicated (RFC 9112, 6.3)."""
        if self.status in (204, 304):
            self.complete = True
        elif "chunked" in headers.get("transfer-encoding", "").lower():
            self._chunked = True
        elif (length := headers.get("content-length")) is not None:
            if not length.isdigit():
                raise FramingError("the response's length is not a number")
            self._bytes_left = int(length)
            self.complete = self._bytes_left == 0
        else:
            self._bytes_left, self.reusable = _UNTIL_CLOSE, False

    def _read_chunks(self, data: bytes) -> bytes:
        if self._rest:
            data = self._rest + data
            self._rest = b""
        pieces: list[bytes] = []
        at, size = 0, len(data)
        while at < size and not self.complete:
            if self._state == _DATA:
                end = min(at + self._bytes_left, size)
                pieces.append(data[at:end])
                self._bytes_left -= end - at
                at = end
                if not self._bytes_left:
                    self._state = _DATA_END
                continue
            end = data.find(b"\r\n", at)
            if end < 0:
                self._rest = data[at:]
                if len(self._rest) > _HEAD_LIMIT:
                    raise FramingError("a line of the response's framing is too long")
                break
            line, at = data[at:end], end + 2
            self._read_framing(line)
        if at < size and self.complete:
            self.reusable = False
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _read_framing(self, line: bytes) -> None:
        if self._state == _SIZE:
            try:
                self._bytes_left = int(line.partition(b";")[0], 16)
            except ValueError as error:
                raise FramingError("the size of a chunk is not a number") from error
            if self._bytes_left < 0:
                raise FramingError("the size of a chunk is negative")
            self._state = _DATA if self._bytes_left else _TRAILER
        elif self._state == _DATA_END:
            if line:
                raise FramingError("a chunk is longer than its size")
            self._state = _SIZE
        elif not line:
            self.complete = True
