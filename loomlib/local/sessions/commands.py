"""Commands inside a session, and connections to its ports: requested from the bootstrap (see `spawning`)."""

from __future__ import annotations

import array
import asyncio
import codecs
import contextlib
import os
import socket
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..sandbox.received import received_sockets
from .lifeline import SessionProcess
from .otel import SPANS
from .spawning import CONNECTED

_CHUNK_BYTES = 65_536
_CHUNKS_AHEAD = 16
_DIGITS = 3  # of an exit code
_DRAIN_S = 0.5  # how long the output of processes that a command left running is read
_REST_BYTES = 2**20  # the most that a pipe holds
SHELL = next((path for path in ("/bin/bash", "/bin/sh") if Path(path).exists()), "/bin/sh")
_OF_THE_BOOTSTRAP = frozenset({SPANS, "LOOM_SERVER", "LOOM_NODE"})

PLATFORM_ERROR = -1
"""The exit code for a command that could not be started or was killed (botocore's model)."""


@dataclass(frozen=True, slots=True)
class Output:
    """A part of a command's output."""

    stream: Literal["stdout", "stderr"]
    text: str


@dataclass(frozen=True, slots=True)
class Exit:
    """How a command ended."""

    code: int
    timed_out: bool = False


async def run_command(process: SessionProcess, command: str, *, timeout_s: float) -> AsyncGenerator[Output | Exit]:
    """Run a command in a shell inside a session; yield its output as it arrives, and finally its exit.

    It works in the session's folder, with the variables with which the agent was started. Closing the generator kills
    it; what it left running in the background lives on until the session ends.

    Args:
        process: The session's process.
        command: The shell command.
        timeout_s: Seconds after which the command is killed.

    Raises:
        OSError: The process has ended.
    """
    queue: asyncio.Queue[Output | Exit] = asyncio.Queue(_CHUNKS_AHEAD)
    async with contextlib.AsyncExitStack() as resources:
        channel = resources.enter_context(contextlib.closing(process.open_channel()))
        pipes: list[Pipe] = []
        for _ in range(3):
            pipes.append(await Pipe.open())
            resources.callback(pipes[-1].close)
        process.give(*(pipe.writer for pipe in pipes))
        await ask_channel(
            channel,
            ["run", str(process.folder), SHELL, command, *variables_of(process)],
            [pipe.writer for pipe in pipes],
        )
        for pipe in pipes:
            pipe.close_writer()
        output, errors, code = pipes
        reading = {
            output: asyncio.ensure_future(_read("stdout", output.reader, queue)),
            errors: asyncio.ensure_future(_read("stderr", errors.reader, queue)),
        }

        def kill() -> None:
            with contextlib.suppress(OSError):
                channel.send(b"k")

        ending = asyncio.ensure_future(_end(code.reader, reading, queue, timeout_s, kill, channel))
        try:
            while not isinstance(part := await queue.get(), Exit):
                yield part
            yield part
        finally:
            tasks = (*reading.values(), ending)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def variables_of(process: SessionProcess) -> list[str]:
    """Return the variables of a session's commands, as `name=value`: those with which its agent was started."""
    return [f"{name}={value}" for name, value in process.environment.items() if name not in _OF_THE_BOOTSTRAP]


async def _read(
    name: Literal["stdout", "stderr"], pipe: asyncio.StreamReader, queue: asyncio.Queue[Output | Exit]
) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while chunk := await pipe.read(_CHUNK_BYTES):
        if text := decoder.decode(chunk):
            await queue.put(Output(name, text))
    if text := decoder.decode(b"", final=True):
        await queue.put(Output(name, text))


async def _end(
    code: asyncio.StreamReader,
    reading: Mapping[Pipe, asyncio.Future[None]],
    queue: asyncio.Queue[Output | Exit],
    timeout_s: float,
    kill: Callable[[], None],
    channel: socket.socket,
) -> None:
    """Wait for a command's end and for the rest of its output, and put its exit into the queue."""
    try:
        async with asyncio.timeout(timeout_s):
            text = await read_exit_code(code)
    except TimeoutError:
        kill()
        await _rest(reading)
        await queue.put(Exit(PLATFORM_ERROR, timed_out=True))
        return
    await _rest(reading)
    if text.isdigit() and len(text) <= _DIGITS:
        await queue.put(Exit(int(text)))
        return
    with contextlib.suppress(OSError):  # no exit code was reported: the shell was killed
        if reason := channel.recv(1_000).decode("utf-8", "replace"):
            await queue.put(Output("stderr", f"The command could not be started: {reason}\n"))
    await queue.put(Exit(PLATFORM_ERROR))


async def read_exit_code(code: asyncio.StreamReader) -> str:
    """Return the exit code as the shell writes it; its length is limited, as a hostile agent may write anything."""
    text = b""
    while len(text) <= _DIGITS + 1 and (more := await code.read(_DIGITS + 2)):
        text += more
    return text.decode("ascii", "replace").strip()


async def _rest(reading: Mapping[Pipe, asyncio.Future[None]]) -> None:
    """Wait until the rest of a command's output has been read, at the speed of the client."""
    await asyncio.wait(reading.values(), timeout=_DRAIN_S)
    for pipe in reading:
        pipe.finish()
    await asyncio.wait(reading.values())


async def spawn(process: SessionProcess, command: str, *, output: int, errors: int, status: int) -> socket.socket:
    """Start a command in a shell inside a session; return the channel whose closing kills it.

    Args:
        process: The session's process.
        command: What the shell is given.
        output: The descriptor of its standard output.
        errors: The descriptor of its standard error.
        status: The descriptor to which its exit code is written.

    Raises:
        OSError: The process has ended.
    """
    channel = process.open_channel()
    try:
        await ask_channel(
            channel,
            ["run", str(process.folder), SHELL, command, *variables_of(process)],
            [output, errors, status],
        )
    except BaseException:
        channel.close()
        raise
    return channel


async def connect_port(process: SessionProcess, port: int) -> socket.socket:
    """Return a socket that is connected to a port of a session's own loopback.

    Raises:
        ConnectionRefusedError: The process could not connect.
        OSError: The process has ended.
    """
    return await connect_address(process, "127.0.0.1", port)


async def connect_address(process: SessionProcess, host: str, port: int) -> socket.socket:
    """Return a socket that the session itself has connected, so that only addresses open to the session can be reached.

    Args:
        process: The session's process.
        host: A host name or an IPv4 address, as the session resolves it.
        port: The port.

    Raises:
        OSError: Nothing listens there, or the process has ended.
    """
    with contextlib.closing(process.open_channel()) as channel:
        await ask_channel(channel, ["connect", str(port), host])
        await _readable(channel)
        data, control, _, _ = channel.recvmsg(1_000, socket.CMSG_SPACE(array.array("i").itemsize))
    connected: socket.socket | None = None
    for level, kind, content in control:
        if (level, kind) != (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            continue
        for received in received_sockets(content):
            if connected is None and received.family == socket.AF_INET and received.type == socket.SOCK_STREAM:
                connected = received
            else:
                received.close()  # a process may send anything
    if data != CONNECTED or connected is None:
        if connected is not None:
            connected.close()
        if not data:
            raise ConnectionResetError("the session has ended")
        raise ConnectionRefusedError(data.decode("utf-8", "replace"))
    connected.setblocking(False)
    return connected


async def ask_channel(channel: socket.socket, words: Sequence[str], descriptors: Sequence[int] = ()) -> None:
    """Send a request on a channel, with descriptors for it (see `spawning`).

    Raises:
        OSError: The process has ended.
    """
    request = b"\0".join(os.fsencode(word) for word in words)
    socket.send_fds(channel, [len(request).to_bytes(8, "big")], descriptors)
    await asyncio.get_running_loop().sock_sendall(channel, request)


async def _readable(channel: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    arrived: asyncio.Future[None] = loop.create_future()

    def on_readable() -> None:
        if not arrived.done():
            arrived.set_result(None)

    loop.add_reader(channel, on_readable)
    try:
        await arrived
    finally:
        loop.remove_reader(channel)


@dataclass(slots=True, eq=False)
class Pipe:
    """A pipe that is read here and written by another process.

    Attributes:
        reader: Reads the data that the other process writes.
        transport: The transport of the reader.
        writer: The descriptor to pass on.
    """

    reader: asyncio.StreamReader
    transport: asyncio.ReadTransport
    writer: int

    @classmethod
    async def open(cls) -> Pipe:
        """Create a pipe."""
        read_end, writer = os.pipe()
        reader = asyncio.StreamReader()
        file = os.fdopen(read_end, "rb", buffering=0)
        try:
            transport, _ = await asyncio.get_running_loop().connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(reader), file
            )
        except BaseException:
            file.close()
            os.close(writer)
            raise
        return cls(reader, transport, writer)

    def close_writer(self) -> None:
        """Close the end that was passed on."""
        if self.writer >= 0:
            os.close(self.writer)
            self.writer = -1

    def finish(self) -> None:
        """Take what the pipe holds, and nothing that is written later: the reader ends after it."""
        if self.transport.is_closing():
            return
        descriptor, left = self.transport.get_extra_info("pipe").fileno(), _REST_BYTES
        with contextlib.suppress(BlockingIOError):
            while left > 0 and (data := os.read(descriptor, min(left, _CHUNK_BYTES))):
                self.reader.feed_data(data)
                left -= len(data)
        self.transport.close()

    def close(self) -> None:
        """Close both ends."""
        self.close_writer()
        self.transport.close()
