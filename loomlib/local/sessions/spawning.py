"""Requests that the bootstrap handles inside a session: run a command or a shell, or connect to an address.

It runs in the agent's process, so it uses the standard library only and imports almost nothing. Processes that it
starts are inside the session by construction: they have its namespaces, limits, control groups and lack of privileges.

The service sends one end of a socket pair over the lifeline for each request. The service then sends, once, the length
of the request as eight bytes with descriptors attached, and the request: words separated by NUL.
"""

from __future__ import annotations

import _socket
import contextlib
import os
import sys
from _socket import AF_INET, CMSG_SPACE, SCM_RIGHTS, SOCK_STREAM, SOL_SOCKET, socket
from _thread import allocate_lock, start_new_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Further = Callable[[socket, list[bytes], list[int]], object]

CLOSED_ON_EXEC: int = getattr(_socket, "MSG_CMSG_CLOEXEC", 0)  # Linux

CONNECTED = b"+"
"""The answer to "connect", with the connected socket."""

_MOST_DESCRIPTORS = 3
_SIGKILL, _SIGPIPE, _SIGXFSZ = 9, 13, 25
# The shell reports the exit code itself: the agent's own code may reap any child of its process.
_SHELL_LINE = 'cd -- "$1" || exit; "$0" -c "$2" 3>&-; echo $? >&3'
_INTERACTIVE_LINE = 'cd -- "$1" || exit; "$0" -i 3>&-; echo $? >&3'
# Signals that the agent may ignore, which a shell would have to ignore as well.
_OF_TERMINALS = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGTSTP", "SIGTTIN", "SIGTTOU")


def answer(descriptor: int, further: Mapping[bytes, Further] | None = None) -> None:
    """Answer one request on a channel, and close it.

    Args:
        descriptor: The channel.
        further: Handles other kinds of requests; called with the channel, the words and the descriptors.
    """
    channel = socket(fileno=descriptor)
    channel.settimeout(None)  # whatever default the agent's code has set
    descriptors: list[int] = []
    try:
        head, control, _, _ = channel.recvmsg(8, CMSG_SPACE(4 * _MOST_DESCRIPTORS), CLOSED_ON_EXEC)
        for level, kind_of_data, data in control:
            if (level, kind_of_data) == (SOL_SOCKET, SCM_RIGHTS):
                descriptors += [int.from_bytes(data[at : at + 4], sys.byteorder) for at in range(0, len(data) - 3, 4)]
        kind, *words = _exactly(channel, int.from_bytes(head, "big")).split(b"\0")
        if kind in (b"run", b"shell"):
            pid = (spawn if kind == b"run" else spawn_shell)(words, descriptors)
            while descriptors:
                os.close(descriptors.pop())
            wait(channel, pid)
        elif kind == b"connect":
            connect(channel, words[1].decode(), int(words[0]))
        elif further is not None and kind in further:
            further[kind](channel, words, descriptors)
    except (OSError, OverflowError, ValueError) as failure:  # OverflowError: the port is too high
        with contextlib.suppress(OSError):  # the service has abandoned the request
            channel.sendall(str(failure).encode())
    finally:
        for received_fd in descriptors:
            os.close(received_fd)
        channel.close()


def spawn(words: list[bytes], descriptors: list[int]) -> int:
    """Start a command in a process group of its own and return its pid.

    Args:
        words: The working folder, the shell, the command, and the variables as `name=value`.
        descriptors: The descriptors for its output, its errors and its exit code.
    """
    folder, shell, command, *variables = words
    output, errors, status = descriptors
    environment = {name: value for name, _, value in (pair.partition(b"=") for pair in variables)}
    return os.posix_spawn(
        shell,
        [shell, b"-c", _SHELL_LINE, shell, folder, command],
        environment,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, output, 1),
            (os.POSIX_SPAWN_DUP2, errors, 2),
            (os.POSIX_SPAWN_DUP2, status, 3),
        ],
        setpgroup=0,
        setsigmask=(),
        setsigdef=(_SIGPIPE, _SIGXFSZ),  # which Python ignores
    )


def spawn_shell(words: list[bytes], descriptors: list[int]) -> int:
    """Start an interactive shell on a terminal, in a Unix session of its own, and return its pid.

    Args:
        words: The working folder, the shell, and the variables as `name=value`.
        descriptors: The descriptors of the terminal and for the exit code.
    """
    import signal  # takes a millisecond, so not at the start of a session

    folder, shell, *variables = words
    terminal, status = descriptors
    # A session's leader that opens a terminal by a path gets it as its controlling one. The service's terminals have no
    # path in the sandbox but this.
    path = f"/proc/self/fd/{terminal}" if os.path.exists("/proc/self/fd") else os.ttyname(terminal)
    return os.posix_spawn(
        shell,
        [shell, b"-c", _INTERACTIVE_LINE, shell, folder],
        {name: value for name, _, value in (pair.partition(b"=") for pair in variables)},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, path, os.O_RDWR, 0),
            (os.POSIX_SPAWN_DUP2, 0, 1),
            (os.POSIX_SPAWN_DUP2, 0, 2),
            (os.POSIX_SPAWN_DUP2, status, 3),
        ],
        setsid=True,
        setsigmask=(),
        setsigdef=(_SIGPIPE, _SIGXFSZ, *(getattr(signal, name) for name in _OF_TERMINALS)),
    )


def wait(channel: socket, pid: int) -> None:
    """Wait until a process has ended; kill its group if the service requests it or disconnects."""
    lock, has_ended = allocate_lock(), False

    def kill_on_request() -> None:
        with contextlib.suppress(OSError):
            channel.recv(1)
        with lock:
            if not has_ended:
                os.killpg(pid, _SIGKILL)

    start_new_thread(kill_on_request, ())
    try:
        if hasattr(os, "waitid"):  # macOS has none before Python 3.13
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # its pid stays taken until it is reaped
        with lock:
            has_ended = True
            os.waitpid(pid, 0)
    except ChildProcessError:
        has_ended = True  # the agent's own code has reaped it
    channel.shutdown(2)


def connect(channel: socket, host: str, port: int) -> None:
    """Send back a socket that is connected to an address, as the session's own network reaches it."""
    peer = socket(AF_INET, SOCK_STREAM)
    peer.settimeout(None)
    try:
        peer.connect((host, port))
        channel.sendmsg([CONNECTED], [(SOL_SOCKET, SCM_RIGHTS, peer.fileno().to_bytes(4, sys.byteorder))])
    finally:
        peer.close()


def _exactly(channel: socket, size: int) -> bytes:
    parts: list[bytes] = []
    while size > 0:
        part = channel.recv(min(size, 65_536))
        if not part:
            raise OSError("the request ended too early")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
