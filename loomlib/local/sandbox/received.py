"""Sockets that a sandboxed process sends to the service. The process may send any descriptor and keep a copy."""

from __future__ import annotations

import array
import contextlib
import errno
import os
import select
import socket
import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

_NO_LINGER = struct.pack("ii", 0, 0)


class ReceivedSocket(socket.socket):
    """A socket of which the sender may have a copy.

    O_NONBLOCK is a flag of the open file description, which the sender shares and can change at any time. A plain call
    could then block the event loop, so these methods pass MSG_DONTWAIT.
    """

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept as `socket.accept` does, without waiting unless the sender accepts or changes the flag just then."""
        os.set_blocking(self.fileno(), False)
        poll = select.poll()
        poll.register(self, select.POLLIN)
        if not poll.poll(0):
            raise BlockingIOError(errno.EAGAIN, "no connection is waiting")
        return super().accept()

    def recv(self, bufsize: int, flags: int = 0, /) -> bytes:
        """Receive as `socket.recv` does, without waiting."""
        return super().recv(bufsize, flags | socket.MSG_DONTWAIT)

    def recv_into(self, buffer: WriteableBuffer, nbytes: int = 0, flags: int = 0) -> int:
        """Receive as `socket.recv_into` does, without waiting."""
        return super().recv_into(buffer, nbytes, flags | socket.MSG_DONTWAIT)

    def send(self, data: ReadableBuffer, flags: int = 0, /) -> int:
        """Send as `socket.send` does, without waiting."""
        return super().send(data, flags | socket.MSG_DONTWAIT)

    def sendmsg(
        self,
        buffers: Iterable[ReadableBuffer],
        ancdata: Iterable[tuple[int, int, ReadableBuffer]] = (),
        flags: int = 0,
        address: Any = None,
        /,
    ) -> int:
        """Send as `socket.sendmsg` does, without waiting."""
        return super().sendmsg(buffers, ancdata, flags | socket.MSG_DONTWAIT, address)

    def close(self) -> None:
        """Close as `socket.close` does, without waiting until what was sent has arrived."""
        with contextlib.suppress(OSError):
            self.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        super().close()


def received_sockets(data: bytes) -> list[ReceivedSocket]:
    """Return the sockets among received descriptors, and close the other descriptors.

    Args:
        data: The descriptors, as SCM_RIGHTS carries them.
    """
    descriptors = array.array("i")
    descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
    sockets: list[ReceivedSocket] = []
    for descriptor in descriptors:
        try:
            sockets.append(ReceivedSocket(fileno=descriptor))
        except OSError:
            os.close(descriptor)
    return sockets
