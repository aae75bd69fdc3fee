"""Whatever an agent forks ends with its session and with its service, at every level of isolation."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import pytest
from waiting import eventually

from loomlib.local.sandbox.isolation import Isolation, choose

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


@pytest.mark.parametrize("level", ["bubblewrap", "none"])
@pytest.mark.parametrize("end", ["stop", "close", "own end"])
async def test_all_that_an_agent_forked_ends_with_its_session(lab, call, read, level, end):
    isolation = choose("best", "service") if level == "bubblewrap" else Isolation()
    if isolation.level != level:
        pytest.skip(isolation.reason)
    pool = lab.pool(isolation=isolation)
    name = re.sub(r"\W", "", f"{level}{end}{lab.home.parent.name}")
    runtime = lab.asgi(FORKS.replace("NAME", name))
    assert await read(await pool.invoke(call(runtime))) == b"forked"
    assert len(canaries(name)) >= 7
    if end == "stop":
        await pool.stop(runtime.runtime_id, "DEFAULT", pool.sessions()[0].session_id)
    elif end == "close":
        await pool.close()
    else:
        with pytest.raises(Exception, match="ended with exit code 0"):
            await pool.invoke(call(runtime, "end"))
        await eventually(lambda: not pool.sessions())
    assert canaries(name) == []
