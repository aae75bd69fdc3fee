"""Whatever an agent forks ends with its session and with its service; so does a session that is not forked in full."""

from __future__ import annotations

import asyncio
import contextlib
import re
from pathlib import Path

import pytest
from descriptors import free_descriptors, open_descriptors
from waiting import PATIENCE_S, eventually

from loomlib.local.contract import AgentProcessError, SessionEndedError
from loomlib.local.sandbox.isolation import Isolation, choose
from loomlib.local.sessions import SnapshotError

FORKS = """
    import ctypes

    def daemonize(**options):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.chdir("/")
                os.execve("/bin/sleep", ["loom-canary-NAME", "600"], options.get("env", {}))
            os._exit(0)
        os.wait()

    def ignoring():
        if os.fork() == 0:
            for number in range(1, 65):
                try:
                    signal.signal(number, signal.SIG_IGN)
                except (OSError, ValueError):
                    pass
            os.execve("/bin/sleep", ["loom-canary-NAME", "600"], {})

    sleeping = ["loom-canary-NAME", "600"]
    for options in (
        dict(), dict(start_new_session=True), dict(process_group=0), dict(env={}), dict(env={}, start_new_session=True)
    ):
        subprocess.Popen(sleeping, executable="/bin/sleep", **options)
    daemonize()
    ignoring()
    subprocess.Popen(["/bin/sh", "-c", "(exec -a loom-canary-NAME sleep 600 &) ; sleep 600 & wait"])
    os.posix_spawn("/bin/sleep", sleeping, {})

    async def invoke(payload, scope, receive, send):
        if payload == "end":
            os._exit(0)
        await answer(send, b"forked")
"""


def canaries(name: str) -> list[int]:
    """The processes that call themselves by the canary's name."""
    pids: list[int] = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if file.read_bytes().startswith(f"loom-canary-{name}\0".encode()):
                pids.append(int(file.parent.name))
    return pids


def has_level(level: str) -> Isolation:
    isolation = choose("best", "service") if level == "bubblewrap" else Isolation()
    if isolation.level != level:
        pytest.skip(isolation.reason)
    return isolation


@pytest.mark.parametrize("level", ["bubblewrap", "none"])
@pytest.mark.parametrize("end", ["stop", "close", "own end"])
async def test_all_that_an_agent_forked_ends_with_its_session(lab, call, read, level, end):
    pool = lab.pool(isolation=has_level(level))
    name = re.sub(r"\W", "", f"{level}{end}{lab.home.parent.name}")
    runtime = lab.asgi(FORKS.replace("NAME", name))
    assert await read(await pool.invoke(call(runtime))) == b"forked"
    await eventually(lambda: len(canaries(name)) >= 7)  # what the agent forked itself may begin its program later
    if end == "stop":
        await pool.stop(runtime.runtime_id, "DEFAULT", pool.sessions()[0].session_id)
    elif end == "close":
        await pool.close()
    else:
        with pytest.raises(Exception, match="ended with exit code 0"):
            await pool.invoke(call(runtime, "end"))
        await eventually(lambda: not pool.sessions())
    assert canaries(name) == []


# A fork handler that waits for as long as the file `hold` exists, and writes the file `held` meanwhile.
HOLDING = """
    def hold():
        while os.path.exists("SHARED/hold"):
            open("SHARED/held", "w").close()
            time.sleep(0.01)

    os.register_at_fork(after_in_child=hold)

    async def invoke(payload, scope, receive, send):
        await answer(send, os.environ["LOOM_SESSION"].encode())
"""


@pytest.mark.parametrize("level", ["bubblewrap", "none"])
async def test_a_fork_that_does_not_begin_fails_its_session_and_the_next_one_takes_a_new_snapshot(
    lab, call, read, level
):
    pool = lab.pool(isolation=has_level(level), start_timeout_s=20.0)  # in which a busy machine starts the agent
    runtime = lab.asgi(HOLDING.replace("SHARED", str(lab.shared)), platform="V2")
    first = await read(await pool.invoke(call(runtime, session_id="first")))
    (lab.shared / "hold").touch()
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(AgentProcessError, match="the frozen process forked no session within 20 s"):
            await pool.invoke(call(runtime, session_id="second"))
    (lab.shared / "hold").unlink()
    assert await read(await pool.invoke(call(runtime, session_id="third")))
    assert await read(await pool.invoke(call(runtime, session_id="first"))) == first
    assert len(list((lab.home / "sessions").glob("*.sessions"))) == 2
    async with asyncio.timeout(PATIENCE_S):
        await pool.close()
    assert not list((lab.home / "sessions").iterdir())


@pytest.mark.parametrize("begins", [True, False])
async def test_a_session_that_is_stopped_while_it_is_restored_ends_and_leaves_no_descriptor(
    lab, call, read, eventually, begins
):
    pool = lab.pool(start_timeout_s=600.0)  # the end does not wait for it
    runtime = lab.asgi(HOLDING.replace("SHARED", str(lab.shared)), platform="V2")
    await pool.build(runtime)
    before = open_descriptors()
    (lab.shared / "hold").touch()
    waiting = asyncio.ensure_future(pool.invoke(call(runtime)))
    await eventually((lab.shared / "held").exists)
    async with asyncio.timeout(PATIENCE_S):
        stopping = asyncio.ensure_future(pool.stop(runtime.runtime_id, "DEFAULT", pool.sessions()[0].session_id))
        if begins:
            (lab.shared / "hold").unlink()
        assert await stopping
        with pytest.raises(SessionEndedError):
            await waiting
    await eventually(lambda: open_descriptors() <= before)
    (lab.shared / "hold").unlink(missing_ok=True)
    assert await read(await pool.invoke(call(runtime)))


async def test_a_fork_that_the_kernel_refuses_fails_one_session(lab, call, read):
    pool = lab.pool()
    runtime = lab.asgi(
        """
        forks, fork = [], os.fork

        def refused():
            forks.append(1)
            if len(forks) == 2:  # the first one is Loom's attempt before it freezes this process
                raise BlockingIOError("too many processes")
            return fork()

        os.fork = refused

        async def invoke(payload, scope, receive, send):
            await answer(send, b"restored")
        """,
        platform="V2",
    )
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(AgentProcessError, match="ended with exit code 1 before it served a request"):
            await pool.invoke(call(runtime))
    assert "Loom: the session could not be restored: too many processes" in lab.lines.messages
    assert await read(await pool.invoke(call(runtime))) == b"restored"


async def test_a_session_whose_agent_writes_its_exit_code_itself_ends(lab, call):
    pool = lab.pool()
    runtime = lab.asgi(
        """
        import stat
        pipes = []

        def keep_pipes():
            for name in os.listdir("/proc/self/fd"):
                try:
                    if int(name) > 2 and stat.S_ISFIFO(os.fstat(int(name)).st_mode):
                        pipes.append(os.dup(int(name)))
                except OSError:
                    pass

        os.register_at_fork(after_in_child=keep_pipes)

        async def invoke(payload, scope, receive, send):
            for pipe in pipes:
                try:
                    os.write(pipe, b"9" * 5_000)
                except OSError:
                    pass
            os._exit(0)
        """,
        platform="V2",
    )
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(AgentProcessError, match="was killed by SIGKILL"):
            await pool.invoke(call(runtime))
        await pool.close()
    assert not list((lab.home / "sessions").iterdir())


# It finds the socket over which Loom requests the snapshot, and answers before Loom does.
ANSWERING = """
    import socket

    for name in os.listdir("/proc/self/fd"):
        try:
            with socket.socket(fileno=os.dup(int(name))) as control:
                if control.family == socket.AF_UNIX and control.type == socket.SOCK_SEQPACKET:
                    control.send(ANSWER)
        except OSError:
            pass

    async def invoke(payload, scope, receive, send):
        await answer(send, b"served")
"""


@pytest.mark.parametrize("answer", ["{}", '{"obstacles": 5}', '{"obstacles": [["a"]]}', "[1]", "no JSON"])
async def test_an_agent_that_answers_for_loom_when_it_is_frozen_fails_its_version(lab, call, answer):
    pool = lab.pool()
    runtime = lab.asgi(ANSWERING.replace("ANSWER", repr(answer.encode())), platform="V2")
    with pytest.raises(SnapshotError, match="malformed answer"):
        await pool.build(runtime)
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(AgentProcessError, match="malformed answer"):
            await pool.invoke(call(runtime))
        await pool.close()
    assert not list((lab.home / "sessions").iterdir())


async def test_many_reasons_not_to_fork_are_reported_in_part(lab, call, read):
    pool = lab.pool()
    runtime = lab.asgi(
        """
        files = [open(os.fsencode(f"{number}") + b"\\xff" * 200, "w") for number in range(400)]
        for file in files:
            os.unlink(file.name)

        async def invoke(payload, scope, receive, send):
            await answer(send, b"booted")
        """,
        platform="V2",
    )
    assert await read(await pool.invoke(call(runtime))) == b"booted"
    assert any("sessions are booted: an open file without a name" in message for message in lab.lines.messages)


async def test_a_restore_without_free_descriptors_keeps_none(lab, call, read):
    pool = lab.pool()
    runtime = lab.asgi(HOLDING.replace("SHARED", str(lab.shared)), platform="V2")
    await pool.build(runtime)
    for count in range(3, 8):
        before = open_descriptors()
        with free_descriptors(count), pytest.raises(AgentProcessError, match="Too many open files"):
            await pool.invoke(call(runtime))
        assert open_descriptors() == before
    assert await read(await pool.invoke(call(runtime)))
