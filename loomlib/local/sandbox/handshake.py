"""The first message of a sandboxed process: its pid, and the socket on which it reaches the service.

In the sandbox, loopback is the session's own, so the service does not listen there. The bootstrap opens a listening
socket at the service's port and sends it to the service, which accepts connections on it as on its own socket: an
agent's request leaves the sandbox without a relay, at the cost of a plain connection. The kernel adds the sender's
pid as this side sees it.
"""

from __future__ import annotations

import array
import socket
import struct
from dataclasses import dataclass

from .received import received_sockets

HELLO = b"@"
"""The byte that carries the message."""

_CREDENTIALS = struct.Struct("3i")  # struct ucred: pid, uid, gid
_SO_PASSCRED, _SCM_CREDENTIALS = 16, 2  # Linux
_CONTROL_BYTES = socket.CMSG_SPACE(_CREDENTIALS.size) + socket.CMSG_SPACE(4 * array.array("i").itemsize)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """The contents of a process's first message; `endpoint` is None when it needs no socket."""

    pid: int
    endpoint: socket.socket | None


def expect_credentials(lifeline: socket.socket) -> None:
    """Ask the kernel for the pids of senders; call it before the process starts."""
    lifeline.setsockopt(socket.SOL_SOCKET, _SO_PASSCRED, 1)


def receive_hello(lifeline: socket.socket) -> tuple[bytes, Hello | None]:
    """Read the data that has arrived, with the message if there is one. Raise as `socket.recv` does.

    A process may send anything, so everything but a listening socket is closed.
    """
    data, control, _, _ = lifeline.recvmsg(4_096, _CONTROL_BYTES)
    pid, endpoint = 0, None
    for level, kind, value in control:
        if level != socket.SOL_SOCKET:
            continue
        if kind == _SCM_CREDENTIALS and len(value) >= _CREDENTIALS.size:
            pid = _CREDENTIALS.unpack_from(value)[0]
        if kind == socket.SCM_RIGHTS:
            for received in received_sockets(value):
                if endpoint is None and _listens(received):
                    endpoint = received
                else:
                    received.close()
    if HELLO not in data:
        if endpoint is not None:
            endpoint.close()
        return data, None
    return data.replace(HELLO, b"", 1), Hello(pid=pid, endpoint=endpoint)


def _listens(candidate: socket.socket) -> bool:
    try:
        is_listening = candidate.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1
    except OSError:
        return False
    return is_listening and candidate.family == socket.AF_INET and candidate.type == socket.SOCK_STREAM
