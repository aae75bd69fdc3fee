"""Calls that go well: what reaches the agent, what comes back, and when."""

from __future__ import annotations

import asyncio
import json
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from loomlib.local import sessions
from loomlib.local.contract import SessionLimitError

ECHO = """
async def invoke(payload, scope, receive, send):
    headers = {name.decode(): value.decode() for name, value in scope["headers"]}
    said = {"pid": os.getpid(), "payload": payload, "headers": headers, "cwd": os.getcwd(), "argv": sys.argv,
            "path": sys.path, "name": __name__, "file": __file__, "environment": dict(os.environ),
            "main": sys.modules["__main__"].__file__, "port": scope["server"][1], "host": scope["server"][0]}
    await answer(send, json.dumps(said).encode(), headers=[(b"content-type", b"application/json"), (b"x-own", b"yes")])
"""


async def test_a_bedrock_agent_answers_and_its_session_stays_warm(lab, call, read):
    pool = lab.pool()
    runtime = lab.bedrock("""
        @app.entrypoint
        def invoke(payload, context):
            return {"pid": os.getpid(), "session": context.session_id, "prompt": payload["prompt"]}
    """)
    first = json.loads(await read(await pool.invoke(call(runtime, {"prompt": "one"}))))
    second = json.loads(await read(await pool.invoke(call(runtime, {"prompt": "two"}))))
    assert first["pid"] == second["pid"]
    assert (first["prompt"], second["prompt"]) == ("one", "two")
    [session] = pool.sessions()
    assert first["session"] == session.session_id
    assert ([session.pid], session.invocations, session.version) == (lab.outer([first["pid"]]), 2, "1")
    assert session.rss_bytes > 1_000_000
    assert session.last_used_at > session.started_at


async def test_headers_and_status_pass_both_ways_without_the_hop_by_hop_ones(lab, call, read):
    pool = lab.pool()
    runtime = lab.asgi(ECHO)
    headers = {"accept": "text/event-stream", "traceparent": "00-1-2-01", "connection": "close", "te": "x"}
    answer = await pool.invoke(call(runtime, {"a": 1}, headers=headers))
    echo = json.loads(await read(answer))
    assert answer.status == 200
    assert answer.headers["x-own"] == "yes"
    assert not {"connection", "transfer-encoding", "content-length"} & set(answer.headers)
    assert echo["headers"]["traceparent"] == "00-1-2-01"
    assert echo["headers"]["accept"] == "text/event-stream"
    assert echo["headers"]["x-amzn-bedrock-agentcore-runtime-session-id"] == pool.sessions()[0].session_id
    assert "te" not in echo["headers"]
    assert echo["headers"].get("connection") is None


async def test_an_error_status_of_the_agent_is_an_answer(lab, call, read):
    pool = lab.pool()
    runtime = lab.bedrock("""
        @app.entrypoint
        def invoke(payload):
            raise RuntimeError("no luck")
    """)
    answer = await pool.invoke(call(runtime, {}))
    assert answer.status == 500
    assert b"no luck" in await read(answer)


async def test_the_script_runs_as_if_by_hand_in_a_folder_of_its_own(lab, call, read):
    pool = lab.pool()
    echo = json.loads(await read(await pool.invoke(call(lab.asgi(ECHO)))))
    stream = pool.sessions()[0].stream
    folder = lab.home / "sessions" / stream.rpartition("]")[2]
    assert echo["argv"] == ["agent.py"]
    assert echo["name"] == "__main__"
    assert echo["main"] == echo["file"] == f"{folder}/agent.py"
    assert echo["cwd"] == echo["path"][0] == str(folder)
    assert echo["host"] == "127.0.0.1"


async def test_the_environment_is_clean_and_the_runtimes_own_variables_win(lab, call, read, monkeypatch, tmp_path):
    monkeypatch.setenv("SECRET_TOKEN", "the user's")
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.setenv("PYTHONPATH", "/the/users")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    overlay = tmp_path / "overlay"
    overlay.mkdir()
    pool = lab.pool(environment={"AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1"})
    runtime = lab.asgi(ECHO, environment={"AWS_REGION": "us-west-2", "MODE": "fast"}, search_path=(overlay,))
    echo = json.loads(await read(await pool.invoke(call(runtime))))
    environment = echo["environment"]
    assert environment["AWS_REGION"] == "us-west-2"
    assert environment["MODE"] == "fast"
    assert environment["AWS_ENDPOINT_URL_S3"] == "http://127.0.0.1:1"
    assert environment["TZ"] == "UTC"
    assert environment["PYTHONUNBUFFERED"] == "1"
    assert environment["PYTHONPATH"] == str(overlay)
    assert echo["path"][1] == str(overlay)
    assert not {"SECRET_TOKEN", "AWS_PROFILE", "PYTHONDONTWRITEBYTECODE"} & set(environment)


async def test_the_agent_inherits_its_socket_and_lifeline_only_and_hands_neither_on(lab, call, read):
    pool = lab.pool()
    runtime = lab.asgi("""
        show = "import os; print(*(os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd')[:-1]))"
        own = len(os.listdir("/proc/self/fd")) - 1
        child = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, close_fds=False)

        async def invoke(payload, scope, receive, send):
            await answer(send, json.dumps([own, child.stdout.split(), child.stderr]).encode())
    """)
    own, child, failure = json.loads(await read(await pool.invoke(call(runtime))))
    assert own == 5
    assert not failure
    assert len(child) == 3


async def test_every_chunk_arrives_alone_and_before_the_next_is_sent(lab, call):
    pool = lab.pool()
    runtime = lab.bedrock("""
        gates = {}

        @app.entrypoint
        async def invoke(payload):
            if "open" in payload:
                gates["gate"].release()
                yield "opened"
                return
            gates["gate"] = asyncio.Semaphore(0)
            for number in range(payload["chunks"]):
                yield number
                await gates["gate"].acquire()
    """)
    answer = await pool.invoke(call(runtime, {"chunks": 5}))
    assert answer.headers["content-type"].startswith("text/event-stream")
    arrived = []
    async for chunk in answer.chunks:  # the agent waits for us after each chunk: buffering anywhere would hang
        arrived.append(chunk)
        async for _ in (await pool.invoke(call(runtime, {"open": 1}))).chunks:
            pass
    assert arrived == [f"data: {number}\n\n".encode() for number in range(5)]


async def test_a_large_payload_and_a_large_answer_pass_whole(lab, call):
    pool = lab.pool()
    runtime = lab.asgi("""
        async def invoke(payload, scope, receive, send):
            await answer(send, b"x" * len(payload["text"]) * 2)
    """)
    answer = await pool.invoke(call(runtime, {"text": "y" * 5_000_000}))
    size = 0
    async for chunk in answer.chunks:
        size += len(chunk)
        if size < 2_000_000:
            await asyncio.sleep(0.01)  # a slow reader: the reading stops and goes on
    assert size == 10_000_000


async def test_two_first_calls_of_a_session_share_one_process_and_run_together(lab, call, read):
    pool = lab.pool()
    runtime = lab.asgi("""
        meeting = asyncio.Barrier(3)

        async def invoke(payload, scope, receive, send):
            await meeting.wait()
            await answer(send, str(os.getpid()).encode())
    """)
    answers = await asyncio.gather(*(pool.invoke(call(runtime)) for _ in range(3)))
    assert len({await read(answer) for answer in answers}) == 1
    assert len(pool.sessions()) == 1


async def test_sessions_are_apart_by_id_by_qualifier_and_by_runtime(lab, call, read):
    pool = lab.pool()
    runtime, other = lab.asgi(ECHO), lab.asgi(ECHO, name="two")
    calls = [
        call(runtime),
        call(runtime, session_id="another-" * 5),
        call(runtime, qualifier="blue"),
        call(other),
    ]
    answers = await asyncio.gather(*(pool.invoke(request) for request in calls))
    echoes = [json.loads(await read(answer)) for answer in answers]
    assert len({session.pid for session in pool.sessions()}) == len({echo["cwd"] for echo in echoes}) == 4
    assert len(pool.sessions()) == 4


async def test_a_live_session_keeps_its_version_and_a_new_one_gets_the_new(lab, call, read):
    pool = lab.pool()
    old = lab.asgi("async def invoke(payload, scope, receive, send): await answer(send, b'old')")
    code = lab.package((old.code / "agent.py").read_text().replace("b'old'", "b'new'"), "later")
    new = lab.runtime(code, version="2")
    assert await read(await pool.invoke(call(old))) == b"old"
    assert await read(await pool.invoke(call(new))) == b"old"
    assert await read(await pool.invoke(call(new, session_id="another-" * 5))) == b"new"
    assert sorted(session.version for session in pool.sessions()) == ["1", "2"]


async def test_admission_is_asked_once_for_each_new_process_and_may_refuse(lab, call, read):
    admissions = []

    def admit(runtime_id, qualifier, active_sessions):
        admissions.append((runtime_id, qualifier, active_sessions))
        if active_sessions >= 1:
            raise SessionLimitError("quota", "one is enough")

    pool = lab.pool(admit=admit)
    runtime = lab.asgi(ECHO)
    await read(await pool.invoke(call(runtime)))
    await read(await pool.invoke(call(runtime)))
    with pytest.raises(SessionLimitError, match="one is enough"):
        await pool.invoke(call(runtime, session_id="another-" * 5))
    assert admissions == [(runtime.runtime_id, "DEFAULT", 0), (runtime.runtime_id, "DEFAULT", 1)]
    assert len(pool.sessions()) == 1


async def test_a_consumer_that_leaves_is_seen_by_the_agent(lab, call, eventually):
    pool = lab.pool()
    runtime = lab.asgi("""
        async def invoke(payload, scope, receive, send):
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"first", "more_body": True})
            message = await receive()
            print("seen:", message["type"])
    """)
    answer = await pool.invoke(call(runtime))
    async for _ in answer.chunks:
        break
    await answer.chunks.aclose()
    await eventually(lambda: "seen: http.disconnect" in lab.lines.messages)
    answer = await pool.invoke(call(runtime))
    del answer  # dropped without reading
    await eventually(lambda: lab.lines.messages.count("seen: http.disconnect") == 2)


async def test_a_second_server_beside_the_agents_stays_at_its_own_address(lab, call, read):
    pool = lab.pool()
    runtime = lab.asgi("""
        import socket, threading, urllib.request

        holder = socket.socket()  # bound and not listening: no other process gets the port, and the server can bind it
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        port = holder.getsockname()[1]

        async def tools(scope, receive, send):
            await answer(send, b"a tool server")

        server = uvicorn.Server(uvicorn.Config(tools, port=port, lifespan="off", log_level="warning"))
        threading.Thread(target=server.run, daemon=True).start()
        while not server.started:
            time.sleep(0.01)

        async def invoke(payload, scope, receive, send):
            await answer(send, urllib.request.urlopen(f"http://127.0.0.1:{port}/").read())
    """)
    assert await read(await pool.invoke(call(runtime))) == b"a tool server"


async def test_an_optional_checker_is_kept_out_unless_the_package_brings_it(lab, call, read):
    pool = lab.pool()
    body = """
        import jsonschema
        async def invoke(payload, scope, receive, send):
            await answer(send, json.dumps(sorted(set(sys.modules) & {"rfc3987_syntax", "webcolors"})).encode())
    """
    without = lab.asgi(body)
    package = lab.asgi(body, name="two")
    (package.code / "webcolors.py").write_text(
        "CSS21 = CSS3 = 'css3'\ndef name_to_hex(*_): ...\ndef normalize_hex(*_): ...\n"
    )
    assert json.loads(await read(await pool.invoke(call(without)))) == []
    assert json.loads(await read(await pool.invoke(call(package)))) == ["webcolors"]


async def test_what_sessions_import_of_loom_is_compiled_before_one_of_them_starts(lab):
    lab.pool()
    folder = Path(sessions.__file__).parent
    sources = [
        folder / "spans.py",
        folder / "uvicorn_changes.py",
        *folder.glob("tracing/*.py"),
        *folder.glob("snapshots/*.py"),
    ]
    assert [source.name for source in sources if not Path(cache_from_source(source)).exists()] == []
