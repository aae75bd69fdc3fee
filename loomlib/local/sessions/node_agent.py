"""Runs an agent that is a Node.js program, beside the bootstrap.

Its server listens on the runtime's port in the session's own network; connections to the session's socket are passed on
to it. It runs in the session's process, so it uses the standard library only.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import time

_PAUSE_S = 0.01
_CHUNK_BYTES = 65_536


def run(program: str, script: str, listener_fd: int, port: int) -> None:
    """Run a script with Node.js until it ends, and end with its exit code.

    Args:
        program: The path of Node.js.
        script: The script, in the working folder.
        listener_fd: The session's socket.
        port: Where the script's server listens.
    """
    pid = os.posix_spawn(program, [program, script], os.environ)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the script receives it as well, and this process ends after it
    listener = socket.socket(fileno=listener_fd)
    listener.setblocking(True)
    threading.Thread(target=_accept, args=(listener, port), daemon=True).start()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    sys.exit(code if code >= 0 else 128 - code)


def _accept(listener: socket.socket, port: int) -> None:
    while True:
        client, _ = listener.accept()
        threading.Thread(target=_pass_on, args=(client, port), daemon=True).start()


def _pass_on(client: socket.socket, port: int) -> None:
    with client, _connected(port) as server:
        back = threading.Thread(target=_copy, args=(server, client), daemon=True)
        back.start()
        _copy(client, server)
        back.join()


def _connected(port: int) -> socket.socket:
    """Return a connection to the script's server, as soon as it listens."""
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            time.sleep(_PAUSE_S)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(_CHUNK_BYTES):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
