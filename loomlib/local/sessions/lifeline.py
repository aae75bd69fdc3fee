"""The lifeline: the channel between the service and a session's process while both run."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path

from ..sandbox.handshake import receive_hello
from ..sandbox.isolation import Isolation
from ..sandbox.network import OpenNetwork
from .connections import Address
from .processes import group_of, parent_of, signal_group


class SessionProcess(ABC):
    """A session's process, booted or restored: its first message, its signals, its network and its end.

    Attributes:
        mark: The mark that identifies all its processes.
        folder: Its working folder, as seen by the process.
        environment: The variables with which it was started.
        address: Where its server accepts connections.
        output_fd: The pipe of its stdout and stderr.
        leader: The pid of its first process, from which all others descend.
        pid: The agent's pid; 0 until its first message.
        home: Its home folder if it has its own user id; it is writable like `folder`.
        user: Its user id if that differs from the service's; otherwise 0.
        exit_code: Its exit code; None until it has ended.
        ended: Set once no process of it is left.
    """

    address: Address
    output_fd: int
    leader: int
    home: Path | None = None
    user: int = 0

    def __init__(
        self,
        mark: str,
        isolation: Isolation,
        *,
        folder: Path,
        environment: Mapping[str, str],
        has_leader: bool,
        lifeline: socket.socket,
        on_signal: Callable[[bytes], None],
        on_endpoint: Callable[[socket.socket], None],
    ) -> None:
        self.mark, self.folder, self.environment = mark, folder, environment
        self.pid = 0
        self.exit_code: int | None = None
        self.ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._isolation, self._init, self._has_leader = isolation, 0, has_leader
        self._network: OpenNetwork | None = None
        self._has_exited = False
        self._lifeline, self._on_signal, self._on_endpoint = lifeline, on_signal, on_endpoint

    @abstractmethod
    def is_running(self) -> bool:
        """Return whether the process runs, according to the kernel: its exit may not have been noticed yet."""

    @abstractmethod
    def _kill(self) -> None:
        """Kill the process and everything that it has started."""

    async def end(self, *, grace_s: float) -> None:
        """Send SIGTERM to the group and SIGKILL after `grace_s` seconds; return when the process has ended."""
        if self.exit_code is None:
            if grace_s > 0 and self.pid:
                signal_group(group_of(self.pid), signal.SIGTERM)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.ended.wait(), grace_s)
            if self.exit_code is None:
                self._kill()
        await self.ended.wait()

    def open_channel(self) -> socket.socket:
        """Return one end of a new channel, for a request that the bootstrap answers (see `spawning`).

        Raises:
            OSError: The process has ended.
        """
        own, other = socket.socketpair()
        try:
            socket.send_fds(self._lifeline, [b"c"], [other.fileno()])
        except BaseException:
            own.close()
            raise
        finally:
            other.close()
        own.setblocking(False)
        return own

    def give(self, *descriptors: int) -> None:
        """Let the process also open its pipes or terminals by path, such as /dev/stdout."""
        if self.user:
            for descriptor in descriptors:
                os.fchown(descriptor, self.user, self.user)

    def how_it_ended(self) -> str:
        """Describe the exit by its exit code or the signal's name."""
        code = self.exit_code
        if code is None:
            return "is still running"
        if self._has_leader and code > 128:
            code = 128 - code  # as a shell reports a signal
        if code < 0:
            with contextlib.suppress(ValueError):
                return f"was killed by {signal.Signals(-code).name}"
        return f"ended with exit code {code}"

    def _greeted(self) -> None:
        """Continue the start after the process's first message."""
        if self._isolation.level == "bubblewrap":
            self._init = parent_of(self.pid)

    def _listen(self) -> None:
        """Read the bytes that the process sends over its lifeline."""
        hello = None
        try:
            if self._has_leader and not self.pid:
                data, hello = receive_hello(self._lifeline)
            else:
                data = self._lifeline.recv(4_096)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data and hello is None:
            self._loop.remove_reader(self._lifeline)  # its end is closed
        if hello is not None:
            self.pid = hello.pid
            self._greeted()
            if self._isolation.network_program and not self._has_exited:
                self._open_network()
            if hello.endpoint is not None:
                self._on_endpoint(hello.endpoint)
        for index in range(len(data)):
            self._on_signal(data[index : index + 1])

    @abstractmethod
    def _network_up(self) -> None:
        """Continue the start after the network is up."""

    def _stop_waiting_for_network(self) -> None:
        """Open no further network, and stop waiting for one that is being opened.

        Call it on the event loop before the network is closed. Otherwise the loop still has the closed descriptor
        registered, does not register the next connection that gets the same number, and never reads it.
        """
        self._has_exited = True
        if self._network is not None:
            self._loop.remove_reader(self._network.ready)

    def _open_network(self) -> None:
        """Connect the session to the internet, and notify the waiting bootstrap when the network is up."""
        try:
            network = self._network = OpenNetwork(self._isolation.network_program, self.pid)
        except OSError:
            return  # it has ended already

        def tell() -> None:
            self._loop.remove_reader(network.ready)
            self._network_up()
            with contextlib.suppress(OSError):
                self._lifeline.send(b"n")

        self._loop.add_reader(network.ready, tell)


def make_listener(mark: str, isolation: Isolation) -> socket.socket:
    """Return the socket on which a session's server will accept connections."""
    if not isolation.has_own_network:
        return socket.create_server(("127.0.0.1", 0), backlog=128)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"\0loom-{mark}-{secrets.token_hex(8)}")  # abstract: no file, and not reachable from the session
    listener.listen(128)
    return listener
