"""How sessions end, and that nothing of them stays."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import psutil
import pytest
from waiting import PATIENCE_S

from loomlib.local.contract import AgentProcessError, SessionEndedError

PID = "async def invoke(payload, scope, receive, send): await answer(send, str(os.getpid()).encode())"

HANGING = """
async def invoke(payload, scope, receive, send):
    if payload == "stream":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"first", "more_body": True})
    print("hanging")
    await asyncio.sleep(600)
"""

FAMILY = """
commands = [dict(), dict(start_new_session=True), dict(process_group=0)]
children = [subprocess.Popen(["sleep", "600"], **options).pid for options in commands]

async def invoke(payload, scope, receive, send):
    await answer(send, json.dumps([os.getpid(), *children]).encode())
"""


async def test_stop_ends_the_processes_and_the_folder_and_the_next_call_is_cold(lab, call, read, alive):
    pool = lab.pool()
    runtime = lab.asgi(FAMILY)
    family = lab.outer(json.loads(await read(await pool.invoke(call(runtime)))))
    assert all(alive(pid) for pid in family)
    [session] = pool.sessions()
    assert await pool.stop(runtime.runtime_id, "DEFAULT", session.session_id)
    assert not any(alive(pid) for pid in family)
    assert not list((lab.home / "sessions").iterdir())
    assert not await pool.stop(runtime.runtime_id, "DEFAULT", session.session_id)
    assert lab.outer(json.loads(await read(await pool.invoke(call(runtime)))))[0] not in family


async def test_a_stopped_agent_may_clean_up(lab, call, read):
    pool = lab.pool()
    runtime = lab.bedrock("""
        from contextlib import asynccontextmanager

        @asynccontextmanager
        async def lifespan(app):
            yield
            print("goodbye")

        app = BedrockAgentCoreApp(lifespan=lifespan)

        @app.entrypoint
        def invoke(payload):
            return "hello"
    """)
    assert await read(await pool.invoke(call(runtime, {})))
    lab.lines.events.clear()
    await pool.close()
    assert lab.lines.messages == ["goodbye"]


async def test_an_agent_deaf_to_sigterm_is_killed(lab, call, read, alive):
    pool = lab.pool()
    runtime = lab.asgi(f"""
        uvicorn.Server.handle_exit = lambda *_: print("not me")
        {PID}
    """)
    [pid] = lab.outer([int(await read(await pool.invoke(call(runtime))))])
    await pool.stop(runtime.runtime_id, "DEFAULT", pool.sessions()[0].session_id)
    assert not alive(pid)
    assert "not me" in lab.lines.messages


async def test_calls_caught_by_a_stop_fail_because_the_session_ended(lab, call, eventually):
    pool = lab.pool()
    runtime = lab.asgi(HANGING)
    waiting = asyncio.ensure_future(pool.invoke(call(runtime, "plain")))
    chunks = (await pool.invoke(call(runtime, "stream"))).chunks
    assert await anext(chunks) == b"first"
    await eventually(lambda: lab.lines.messages.count("hanging") == 2)
    await pool.stop(runtime.runtime_id, "DEFAULT", pool.sessions()[0].session_id)
    with pytest.raises(SessionEndedError, match="stopped"):
        await waiting
    with pytest.raises(SessionEndedError, match="stopped"):
        await anext(chunks)


async def test_a_stop_while_the_agent_starts_ends_it(lab, call, eventually, alive):
    pool = lab.pool()
    runtime = lab.runtime("import os, time; print(os.getpid()); time.sleep(600)")
    waiting = asyncio.ensure_future(pool.invoke(call(runtime)))
    await eventually(lambda: lab.lines.messages)
    [pid] = lab.outer([int(lab.lines.messages[0])])
    await pool.stop(runtime.runtime_id, "DEFAULT", pool.sessions()[0].session_id)
    with pytest.raises(SessionEndedError):
        await waiting
    assert not alive(pid)


async def test_a_stop_before_there_is_a_process_ends_the_session_too(lab, call):
    pool = lab.pool()
    runtime = lab.asgi(PID)
    waiting = asyncio.ensure_future(pool.invoke(call(runtime)))
    await asyncio.sleep(0)
    await pool.close()
    with pytest.raises(SessionEndedError):
        await waiting
    assert not list((lab.home / "sessions").iterdir())


async def test_a_stop_while_the_hook_of_its_version_runs_ends_the_session_at_once(lab, call, eventually):
    pool = lab.pool()
    runtime = lab.asgi(
        """
        async def invoke(payload, scope, receive, send):
            print("warming")
            await asyncio.sleep(600)
        """,
        platform="V2",
        warm_up="/warm",
    )
    waiting = asyncio.ensure_future(pool.invoke(call(runtime)))
    await eventually(lambda: "warming" in lab.lines.messages)
    async with asyncio.timeout(100):  # less than a hook may take
        await pool.stop(runtime.runtime_id, "DEFAULT", pool.sessions()[0].session_id)
        with pytest.raises(SessionEndedError):
            await waiting


DEEP = """
def make_folders():
    here = os.open(".", os.O_RDONLY)
    for _ in range(1_500):
        open("file", "w").close()
        os.symlink("SHARED", "link")
        os.mkdir("d")
        os.chdir("d")
    os.fchdir(here)
    os.close(here)

WHEN

async def invoke(payload, scope, receive, send):
    make_folders()
    await answer(send, b"made")
"""


@pytest.mark.parametrize("platform", ["V1", "V2"])
async def test_folders_of_any_depth_go_with_their_session(lab, call, read, platform):
    pool, kept_file = lab.pool(), lab.shared / "kept"
    kept_file.touch()
    at_the_start = "make_folders()" if platform == "V2" else ""
    runtime = lab.asgi(DEEP.replace("SHARED", str(lab.shared)).replace("WHEN", at_the_start), platform=platform)
    async with asyncio.timeout(PATIENCE_S):
        if platform == "V2":
            with pytest.raises(AgentProcessError, match="too many levels of folders"):
                await pool.invoke(call(runtime))
        else:
            assert await read(await pool.invoke(call(runtime))) == b"made"
            await pool.stop(runtime.runtime_id, "DEFAULT", pool.sessions()[0].session_id)
        await pool.close()
    assert not list((lab.home / "sessions").iterdir())
    assert kept_file.exists()


async def test_deep_folders_of_a_former_service_are_swept(lab):
    folder = lab.home / "sessions" / "former"
    folder.mkdir(parents=True)
    here = os.open(".", os.O_RDONLY)
    os.chdir(folder)
    for _ in range(1_500):
        os.mkdir("d")
        os.chdir("d")
    os.fchdir(here)
    os.close(here)
    lab.pool()
    assert not folder.exists()


async def test_deleting_a_runtime_ends_its_sessions_only(lab, call, read):
    pool = lab.pool()
    one, two = lab.asgi(PID), lab.asgi(PID, name="two")
    calls = [call(one), call(one, qualifier="blue"), call(two)]
    await asyncio.gather(*(pool.invoke(request) for request in calls))
    assert await pool.stop_runtime(one.runtime_id) == 2
    assert [session.runtime_id for session in pool.sessions()] == [two.runtime_id]


async def test_an_idle_session_ends_but_not_under_a_call(lab, call, read, eventually):
    pool = lab.pool()
    runtime = lab.asgi(
        """
        async def invoke(payload, scope, receive, send):
            await asyncio.sleep(payload)
            await answer(send, str(os.getpid()).encode())
        """,
        idle_timeout_s=0.3,
    )
    assert await read(await pool.invoke(call(runtime, 1.0)))
    await eventually(lambda: not pool.sessions())
    assert await read(await pool.invoke(call(runtime, 0)))


async def test_an_agent_that_is_busy_in_the_background_is_not_idle(lab, call, read, eventually):
    pool = lab.pool()
    runtime = lab.asgi(
        """
        pings = []

        def ping():
            pings.append(1)
            print("pinged")
            return {"status": "HealthyBusy" if 1 < len(pings) < 5 else "Healthy", "time_of_last_update": 0}

        async def invoke(payload, scope, receive, send):
            await answer(send, b"done")
        """,
        idle_timeout_s=0.1,
    )
    await read(await pool.invoke(call(runtime)))
    await eventually(lambda: not pool.sessions())
    assert lab.lines.messages.count("pinged") == 5  # the first at the start, three busy, and the one that was its end


async def test_a_session_that_is_too_old_ends_even_under_a_call(lab, call, eventually):
    pool = lab.pool()
    runtime = lab.asgi(HANGING, max_lifetime_s=1.5)
    with pytest.raises(SessionEndedError, match="maximum lifetime"):
        await pool.invoke(call(runtime))
    await eventually(lambda: not pool.sessions())


async def test_a_large_package_is_linked_and_its_files_are_still_the_sessions_own(lab, call, read):
    pool = lab.pool()
    runtime = lab.asgi("""
        import vendored.thing
        async def invoke(payload, scope, receive, send):
            with open("agent.py", "a") as file:
                file.write("# changed")
            await answer(send, vendored.thing.__name__.encode())
    """)
    (runtime.code / "vendored").mkdir()
    (runtime.code / "vendored" / "thing.py").write_text("")
    for number in range(300):
        (runtime.code / "vendored" / f"data{number}").write_text("")
    before = (runtime.code / "agent.py").read_text()
    assert await read(await pool.invoke(call(runtime))) == b"vendored.thing"
    await pool.close()
    assert (runtime.code / "agent.py").read_text() == before
    assert len(list((runtime.code / "vendored").glob("data*"))) == 300


SERVICE = """
import asyncio, json, sys
from pathlib import Path
from loomlib.local.contract import AgentCall, RuntimeVersion
from loomlib.local.sandbox.isolation import Isolation
from loomlib.local.sessions import SessionPool

class Nowhere:
    def write(self, **event): ...

async def main(home, code, level):
    pool = SessionPool(home=Path(home), sink=Nowhere(), environment={}, admit=lambda *_: None,
                       start_timeout_s=60, answer_timeout_s=60, isolation=Isolation() if level == "none" else None,
                       writable=[Path(home).parent / "shared"])
    runtime = RuntimeVersion(runtime_id="one", arn="arn", version="1", code=Path(code), entry_point=("agent.py",))
    answer = await pool.invoke(AgentCall(runtime=runtime, qualifier="DEFAULT", session_id="s", body=b"null"))
    print((b"".join([chunk async for chunk in answer.chunks])).decode(), flush=True)
    await asyncio.sleep(600)

asyncio.run(main(*sys.argv[1:]))
"""


def _service(lab, runtime, level="best") -> tuple[subprocess.Popen[str], list[int]]:
    """A service in a process of its own, after the first answer of its only agent: the pids that the agent told."""
    command = [sys.executable, "-c", textwrap.dedent(SERVICE), str(lab.home), str(runtime.code), level]
    root = Path(__file__).parents[3]
    service = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(root)})
    assert service.stdout is not None
    return service, lab.outer(json.loads(service.stdout.readline()))


@pytest.mark.parametrize("level", ["best", "none"])
async def test_a_killed_service_leaves_no_process_behind(lab, alive, eventually, level):
    service, family = _service(lab, lab.asgi(FAMILY), level)
    with service:
        assert len(family) == 4
        assert all(alive(pid) for pid in family)
        service.kill()
    await eventually(lambda: not any(alive(pid) for pid in family))


async def test_a_pool_sweeps_what_a_former_one_could_not_take_along(lab, alive, eventually):
    frozen = """
        async def invoke(payload, scope, receive, send):
            child = subprocess.Popen(["sleep", "600"], start_new_session=True)
            await answer(send, json.dumps([os.getpid(), child.pid]).encode())
            await asyncio.sleep(1)  # so that the test can look up both
            os.kill(child.pid, signal.SIGSTOP)
            os.kill(os.getpid(), signal.SIGSTOP)
    """
    service, family = _service(lab, lab.asgi(frozen))
    [keeper] = (
        child
        for child in psutil.Process(service.pid).children()
        if any(part.endswith("keeper.py") for part in child.cmdline())
    )
    with service:
        keeper.kill()  # it would sweep as well
        service.kill()
    assert list((lab.home / "sessions").iterdir())
    bystander = subprocess.Popen(["sleep", "600"])
    record = next((lab.home / "sessions").glob("*.json"))
    values = json.loads(record.read_text("ascii")) | {"pid": bystander.pid}
    (lab.home / "sessions" / "other.json").write_text(json.dumps(values), "ascii")
    try:
        lab.pool()
        await eventually(lambda: not any(alive(pid) for pid in family))
        assert alive(bystander.pid)  # its number stood in a record, but not with its start time
        assert not list((lab.home / "sessions").iterdir())
    finally:
        bystander.send_signal(signal.SIGKILL)
        bystander.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="holding the interpreter needs a C library to sleep in")
async def test_a_killed_service_takes_along_an_agent_that_holds_the_interpreter(lab, alive, eventually):
    answered_marker, holding_marker = lab.shared / "answered", lab.shared / "holding"
    stuck = f"""
        import ctypes, pathlib
        async def invoke(payload, scope, receive, send):
            await answer(send, json.dumps([os.getpid()]).encode())
            while not os.path.exists({str(answered_marker)!r}):
                await asyncio.sleep(0.01)
            pathlib.Path({str(holding_marker)!r}).touch()
            ctypes.PyDLL(None).sleep(600)
    """
    service, [pid] = _service(lab, lab.asgi(stuck))
    with service:
        answered_marker.touch()
        await eventually(holding_marker.exists)
        service.kill()
    await eventually(lambda: not alive(pid))
