"""Channels between the service and a session's process: commands, shells, sockets, and what failures leave behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
from descriptors import free_descriptors, open_descriptors

from loomlib.local.sandbox.handshake import HELLO, expect_credentials, receive_hello
from loomlib.local.sessions.commands import Exit, Output, connect_port, run_command
from loomlib.local.sessions.lifeline import SessionProcess
from loomlib.local.sessions.sandbox_worker import SandboxWorker, WorkerPlan
from loomlib.local.sessions.shells import Shell

HEALTHY = "async def invoke(payload, scope, receive, send): await answer(send, b'')"
HANDS_OUT = (
    """
    import socket, threading

    def hand_out(descriptor):
        channel = socket.socket(fileno=descriptor)
        channel.settimeout(None)
        port = channel.recv(int.from_bytes(channel.recv(8), "big")).split(b"\\0")[1]
        if port == b"9000":
            with open("/dev/null") as file:
                socket.send_fds(channel, [b"+"], [file.fileno()])
            channel.close()
            return
        listener = socket.create_server(("127.0.0.1", 0))
        peer = socket.create_connection(listener.getsockname())
        handed, _ = listener.accept()
        socket.send_fds(channel, [b"+"], [handed.fileno()])
        while True:
            os.set_blocking(handed.fileno(), True)
            time.sleep(0.001)

    def start(descriptor):
        threading.Thread(target=hand_out, args=(descriptor,), daemon=True).start()

    [hook] = (hook for hook in sys.meta_path if type(hook).__name__ == "StartHook")
    type(hook).find_spec.__globals__["answer_request"] = start
"""
    + "\n    "
    + HEALTHY
)
_SLOW_S = 0.05
"""The pause of a slow client, in which the service has read as much ahead as it may."""


@contextlib.asynccontextmanager
async def process_of(pool, call) -> AsyncIterator[SessionProcess]:
    """The process of a session that is in use."""
    use = await pool.use(call)
    try:
        yield use.running.process
    finally:
        use.close()


async def test_a_slow_client_gets_all_output_of_a_command_that_has_ended(lab, call):
    runtime = lab.asgi(HEALTHY)
    async with process_of(lab.pool(), call(runtime)) as process:
        received, ended = 0, process.folder / "ended"
        parts = run_command(process, "head -c 1500000 /dev/zero | tr '\\0' a; echo END; touch ended", timeout_s=100)
        is_slow = True
        async for part in parts:
            last = part
            if isinstance(part, Output):
                received += len(part.text)
            if is_slow:
                is_slow = not ended.exists()
                await asyncio.sleep(_SLOW_S if is_slow else 20 * _SLOW_S)
        assert last == Exit(0)
        assert received == 1_500_004


async def test_a_client_gets_all_output_of_a_shell_that_has_ended(lab, call):
    async with process_of(lab.pool(), call(lab.asgi(HEALTHY))) as process:
        shell = await Shell.start(process)
        client = shell.attach()
        # Of 137 KB, 131 KB are read ahead, and the terminal holds the rest (up to 8 KB: drivers/tty/pty.c).
        client.write(b"PS1=; stty -echo -onlcr; seq -f '%09.0f' 1 13700; exit\n")
        assert (await shell.ended).code == 0
        text = b""
        while data := await client.read():
            text += data
        numbers = [int(line) for line in text.splitlines() if len(line) == 9 and line.isdigit()]
        assert numbers == list(range(1, 13_701))


async def test_a_client_that_attaches_while_a_shell_prints_gets_each_line_once(lab, call):
    async with process_of(lab.pool(), call(lab.asgi(HEALTHY))) as process:
        shell = await Shell.start(process)
        client = shell.attach()
        client.write(b"PS1=; stty -echo -onlcr; seq -f '%09.0f' 1 100000000\n")
        text = b""
        while b"000090000" not in text:  # more than a shell keeps
            text += await client.read()
        for _ in range(3):
            client = shell.attach()
            for _ in range(100):
                await asyncio.sleep(0)  # the service accepts the client's connection before it reads
            text = b""
            while len(text) < 300_000:
                text += await client.read()
            numbers = [int(line) for line in text.split(b"\n")[1:-1]]
            assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        shell.end()


async def test_a_descriptor_that_is_no_socket_is_closed(lab, call, eventually):
    async with process_of(lab.pool(), call(lab.asgi(HANDS_OUT))) as process:
        before = open_descriptors()
        for _ in range(3):
            with pytest.raises(ConnectionRefusedError):
                await connect_port(process, 9000)
        await eventually(lambda: open_descriptors() == before, "the end of what the session sent")


async def test_a_socket_that_a_session_makes_blocking_does_not_block(lab, call, eventually):
    async with process_of(lab.pool(), call(lab.asgi(HANDS_OUT))) as process:
        with contextlib.closing(await connect_port(process, 9001)) as connected:
            await eventually(lambda: os.get_blocking(connected.fileno()), "the change of the socket")

            def fill() -> None:
                with contextlib.suppress(BlockingIOError):
                    while True:
                        connected.send(bytes(65_536))

            await asyncio.wait_for(asyncio.to_thread(fill), 20)
            with pytest.raises(BlockingIOError):
                connected.recv(1)


def test_a_first_message_without_a_socket_leaves_no_descriptor() -> None:
    own, other = socket.socketpair()
    with own, other, open("/dev/null") as file:
        expect_credentials(own)
        before = open_descriptors()
        socket.send_fds(other, [HELLO], [file.fileno(), file.fileno()])
        _, hello = receive_hello(own)
        assert hello is not None
        assert (hello.pid, hello.endpoint) == (os.getpid(), None)
        assert open_descriptors() == before


async def test_an_impossible_port_is_refused_with_its_reason(lab, call):
    async with process_of(lab.pool(), call(lab.asgi(HEALTHY))) as process:
        with pytest.raises(ConnectionRefusedError, match="port must be 0-65535"):
            await connect_port(process, 70_000)


async def test_a_command_without_free_descriptors_leaves_none_open(lab, call, eventually):
    async with process_of(lab.pool(), call(lab.asgi(HEALTHY))) as process:
        before = open_descriptors()
        for count in (2, 4, 6):
            with free_descriptors(count), pytest.raises(OSError, match="Too many open files"):
                async for _ in run_command(process, "true", timeout_s=5):
                    pass
            await eventually(lambda: open_descriptors() == before, "the end of the command's pipes")
        assert [part async for part in run_command(process, "true", timeout_s=60)] == [Exit(0)]


async def test_a_worker_whose_record_cannot_be_written_leaves_nothing(lab, tmp_path, eventually):
    shared = lab.pool().shared
    script = tmp_path / "worker.py"
    script.write_text("import time; time.sleep(600)")
    mark = str(uuid.uuid4())
    folder = shared.folder / mark
    folder.mkdir(parents=True)
    (shared.folder / f"{mark}.json").symlink_to("/dev/full")
    descriptors, children = open_descriptors(), set(psutil.Process().children(recursive=True))
    plan = WorkerPlan(
        mark=mark, folder=folder, bootstrap=script, environment={}, isolation=shared.isolation, read=(script,)
    )
    with pytest.raises(OSError, match="No space left"):
        SandboxWorker(plan, shared, on_end=lambda: None)
    # A process of a service that other tests started may end meanwhile.
    await eventually(
        lambda: open_descriptors() == descriptors and set(psutil.Process().children(recursive=True)) <= children,
        "the end of the process",
    )
    await eventually(lambda: not list(Path(shared.folder).iterdir()), "the removal of its files")
