"""Count of the bytes that a connection carries: headers, framing and TLS records, as TCP delivers them."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

import aiohttp

if TYPE_CHECKING:
    from aiohttp.connector import Connection

_OPEN: Final[WeakValueDictionary[int, CountingSocket]] = WeakValueDictionary()
"""Sockets by file descriptor, the only attribute that asyncio's wrapper shares with its socket."""


@dataclass(frozen=True, slots=True)
class WireBytes:
    """Bytes that a connection carried.

    Attributes:
        sent: Bytes sent.
        received: Bytes received.
    """

    sent: int = 0
    received: int = 0

    def __add__(self, other: WireBytes) -> WireBytes:
        return WireBytes(self.sent + other.sent, self.received + other.received)

    def __sub__(self, other: WireBytes) -> WireBytes:
        return WireBytes(self.sent - other.sent, self.received - other.received)


class CountingSocket(socket.socket):
    """A socket that counts. asyncio's transports use these four methods, TLS ones included.

    Attributes:
        carried: The bytes since the socket was opened.
        taken: The bytes that earlier requests on this connection carried.
    """

    def __init__(self, family: int, kind: int, protocol: int) -> None:
        super().__init__(family, kind, protocol)
        self.carried = self.handed_out = WireBytes()
        _OPEN[self.fileno()] = self

    def recv(self, *args: Any) -> bytes:
        """Receive."""
        data = super().recv(*args)
        self.carried += WireBytes(received=len(data))
        return data

    def recv_into(self, *args: Any, **options: Any) -> int:
        """Receive into a buffer."""
        size = super().recv_into(*args, **options)
        self.carried += WireBytes(received=size)
        return size

    def send(self, *args: Any) -> int:
        """Send."""
        size = super().send(*args)
        self.carried += WireBytes(sent=size)
        return size

    def sendmsg(self, *args: Any) -> int:
        """Send from several buffers."""
        size = super().sendmsg(*args)
        self.carried += WireBytes(sent=size)
        return size


class CountedResponse(aiohttp.ClientResponse):
    """A response that keeps a reference to its socket, even after the connection returns to the pool.

    Attributes:
        counting: The socket; None for a connection that is not counted.
    """

    counting: CountingSocket | None = None

    async def start(self, connection: Connection) -> CountedResponse:
        """Read the head."""
        transport = connection.transport
        self.counting = None if transport is None else counting_socket(transport.get_extra_info("socket"))
        await super().start(connection)
        return self


def make_socket(address: Any) -> CountingSocket:
    """Return a socket for an address of `getaddrinfo`; for aiohttp's connectors."""
    return CountingSocket(*address[:3])


def counting_socket(wrapper: Any) -> CountingSocket | None:
    """Return the counting socket behind asyncio's wrapper; None if the connection is not counted."""
    return None if wrapper is None else _OPEN.get(wrapper.fileno())
