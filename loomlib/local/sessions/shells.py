"""Interactive shells inside a session: a terminal that clients attach to and leave, while its shell keeps running.

The terminal is created here and not inside the session. So the agent's code never has the side that is read here: with
it, the code could consume the output or make a read block.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import termios
from typing import Final, NamedTuple

from .commands import SHELL, Pipe, ask_channel, read_exit_code, variables_of
from .lifeline import SessionProcess

RECENT_BYTES: Final = 256 * 2**10
"""How much of its recent output a shell keeps for the next client (AgentCore's limit)."""

_INPUT_BYTES: Final = 256 * 2**10
_AHEAD_BYTES: Final = RECENT_BYTES // 2  # output that waits for an attached client; the terminal then waits as well
_CHUNK_BYTES: Final = 32 * 2**10
_DRAIN_S: Final = 0.5
_DEFAULT_SIZE: Final = (24, 80)


class ShellEnd(NamedTuple):
    """How a shell ended: its exit code, or None if it is unknown, and then the reason if that is known."""

    code: int | None
    reason: str = ""


class Shell:
    """One shell with its terminal. It ends by itself, through `end`, or with its session.

    Attributes:
        ended: How it ended, once it has.
    """

    def __init__(self, terminal: int, channel: socket.socket, status: Pipe) -> None:
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[ShellEnd] = self._loop.create_future()
        self._terminal, self._channel, self._status = terminal, channel, status
        self._recent, self._begin = bytearray(), 0
        self._input = bytearray()
        self._drained = asyncio.Event()
        self._is_reading = False
        self._client: Attachment | None = None
        self._watch()
        self._following = self._loop.create_task(self._follow())

    @classmethod
    async def start(cls, process: SessionProcess) -> Shell:
        """Start a shell in the session's folder, with the variables with which its agent was started.

        Raises:
            OSError: The process has ended, or this machine has no free terminal.
        """
        with contextlib.ExitStack() as on_failure, contextlib.ExitStack() as passed_on:
            channel = on_failure.enter_context(contextlib.closing(process.open_channel()))
            own, other = os.openpty()
            on_failure.callback(os.close, own)
            passed_on.callback(os.close, other)
            os.set_blocking(own, False)
            termios.tcsetwinsize(own, _DEFAULT_SIZE)
            status = await Pipe.open()
            on_failure.callback(status.close)
            words = ["shell", str(process.folder), SHELL, *variables_of(process), "TERM=xterm-256color"]
            process.give(other)
            await ask_channel(channel, words, [other, status.writer])
            status.close_writer()
            on_failure.pop_all()
        return cls(own, channel, status)

    def attach(self) -> Attachment:
        """Attach a client, which receives the recent output first; the former client is notified of its replacement."""
        if self._client is not None:
            self._client.replaced.set()
        self._client = Attachment(self, self._begin)
        self._wait_for_client()
        return self._client

    def end(self) -> None:
        """Kill the shell; its background processes keep running until the session ends."""
        self._channel.close()

    # For the attached client

    def detach(self, client: Attachment) -> None:
        """Detach a client; the shell keeps running."""
        if self._client is client:
            self._client = None
            self._watch()

    def output_for(self, client: Attachment) -> bytes:
        """Return a client's next output, and resume the terminal if it was waiting for this client."""
        # Output that a replaced client had not read may have been dropped.
        client.position = max(client.position, self._begin)
        chunk = bytes(self._recent[client.position - self._begin :][:_CHUNK_BYTES])
        client.position += len(chunk)
        if self._client is client:
            self._watch()
        return chunk

    def write(self, data: bytes) -> bool:
        """Type something; return False when too much waits to be read."""
        if self.ended.done():
            return True
        if len(self._input) + len(data) > _INPUT_BYTES:
            return False
        self._input += data
        self._on_writable()
        return True

    def resize(self, width: int, height: int) -> None:
        """Set the terminal's size; the foreground program is notified."""
        if not self.ended.done():
            termios.tcsetwinsize(self._terminal, (height, width))

    # The terminal

    def _watch(self) -> None:
        if not self._is_reading and not self._drained.is_set() and not self.ended.done():
            self._is_reading = True
            self._loop.add_reader(self._terminal, self._on_readable)

    def _stop_watching(self) -> None:
        if self._is_reading:
            self._is_reading = False
            self._loop.remove_reader(self._terminal)

    def _on_readable(self) -> None:
        try:
            data = os.read(self._terminal, _CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:  # no process has the terminal open
            data = b""
        if not data:
            self._stop_watching()
            self._drained.set()
            return
        self._keep(data)

    def _keep(self, data: bytes) -> None:
        self._recent += data
        if (surplus := len(self._recent) - RECENT_BYTES) > 0:
            del self._recent[:surplus]
            self._begin += surplus
        if self._client is not None:
            self._client.changed.set()
            self._wait_for_client()

    def _wait_for_client(self) -> None:
        """Stop reading the terminal while the attached client has much output left to take."""
        if self._client is not None and self._begin + len(self._recent) - self._client.position > _AHEAD_BYTES:
            self._stop_watching()

    def _read_rest(self) -> None:
        """Read the rest of the terminal's output without waiting for the client, which still gets all of it."""
        left = RECENT_BYTES - _AHEAD_BYTES - _CHUNK_BYTES
        with contextlib.suppress(OSError):  # it holds nothing
            while left > 0 and (data := os.read(self._terminal, min(left, _CHUNK_BYTES))):
                self._keep(data)
                left -= len(data)

    def _on_writable(self) -> None:
        self._loop.remove_writer(self._terminal)
        try:
            while self._input:
                del self._input[: os.write(self._terminal, self._input[:_CHUNK_BYTES])]
        except BlockingIOError:
            self._loop.add_writer(self._terminal, self._on_writable)
        except OSError:
            self._input.clear()

    async def _follow(self) -> None:
        """Wait for the shell's end and for the rest of its output."""
        text = await read_exit_code(self._status.reader)
        with contextlib.suppress(TimeoutError):  # what it left running may have the terminal open
            async with asyncio.timeout(_DRAIN_S):
                await self._drained.wait()
        self._read_rest()
        reason = ""
        if not text:  # it was killed, or could not be started
            with contextlib.suppress(OSError):
                reason = self._channel.recv(1_000).decode("utf-8", "replace")
        self._stop_watching()
        self._loop.remove_writer(self._terminal)
        self.ended.set_result(ShellEnd(int(text) if text.isdecimal() and len(text) <= 3 else None, reason))
        os.close(self._terminal)
        self._channel.close()
        self._status.close()
        if self._client is not None:
            self._client.changed.set()


class Attachment:
    """A client of a shell.

    Attributes:
        position: The amount of output that the client has already taken.
        changed: Set when there is more output, and when the shell has ended.
        replaced: Set when another client has attached.
    """

    def __init__(self, shell: Shell, position: int) -> None:
        self._shell, self.position = shell, position
        self.changed, self.replaced = asyncio.Event(), asyncio.Event()

    async def read(self) -> bytes:
        """Return the next output; nothing when the shell has ended."""
        while True:
            self.changed.clear()
            if data := self._shell.output_for(self):
                return data
            if self._shell.ended.done():
                return b""
            await self.changed.wait()

    def write(self, data: bytes) -> bool:
        """Type something; return False when too much waits to be read."""
        return self._shell.write(data)

    def resize(self, width: int, height: int) -> None:
        """Set the terminal's size."""
        self._shell.resize(width, height)

    def close(self) -> None:
        """Leave the shell, which keeps running."""
        self._shell.detach(self)
