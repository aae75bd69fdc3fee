"""Agents that fail: each kind of failure is distinguished, with the exit code and the last lines."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from loomlib.local.contract import AgentProcessError, SessionEndedError
from loomlib.local.sandbox.isolation import choose

HEALTHY = "async def invoke(payload, scope, receive, send): await answer(send, str(os.getpid()).encode())"


async def test_an_agent_that_dies_at_its_start_reports_how_it_ended_and_its_last_output(lab, call):
    pool = lab.pool()
    runtime = lab.runtime("for n in range(30): print('line', n)\nraise SystemExit('no model, no agent')")
    with pytest.raises(AgentProcessError, match="ended with exit code 1 before it served a request") as caught:
        await pool.invoke(call(runtime))
    assert len(caught.value.log_tail) == 20
    assert caught.value.log_tail[-2:] == ("line 29", "no model, no agent")
    assert not pool.sessions()
    assert len(lab.lines.messages) == 31


async def test_a_traceback_at_the_start_begins_in_the_agents_own_script(lab, call):
    pool = lab.pool()
    runtime = lab.runtime("import nothing_of_this_name")
    with pytest.raises(AgentProcessError) as caught:
        await pool.invoke(call(runtime))
    assert "bootstrap" not in "\n".join(caught.value.log_tail)
    assert caught.value.log_tail[-1] == "ModuleNotFoundError: No module named 'nothing_of_this_name'"


async def test_a_script_that_ends_without_serving_is_a_failure(lab, call):
    pool = lab.pool()
    with pytest.raises(AgentProcessError, match="ended with exit code 0 before it served"):
        await pool.invoke(call(lab.runtime("print('done')")))


async def test_an_agent_that_never_serves_is_ended_with_an_error_that_names_the_fix(lab, call, eventually, alive):
    pool = lab.pool(start_timeout_s=1.0)
    runtime = lab.runtime("import time; time.sleep(600)")
    waiting = asyncio.ensure_future(pool.invoke(call(runtime)))
    await eventually(lambda: pool.sessions() and pool.sessions()[0].pid)
    pid = pool.sessions()[0].pid
    with pytest.raises(AgentProcessError, match=r"did not start serving within 1 s; agents must serve with uvicorn"):
        await waiting
    assert not alive(pid)


@pytest.mark.parametrize("platform", ["V1", pytest.param("V2", marks=pytest.mark.long)])  # V2 waits for 10 s
async def test_a_session_that_ends_before_its_network_is_up_leaves_later_connections_readable(
    lab, call, eventually, tmp_path, platform
):
    slow = tmp_path / "slirp4netns"  # in place of the real one: a network that is never up
    slow.write_text("#!/bin/sh\nexec sleep 600\n")
    slow.chmod(0o755)
    isolation = choose("best", "service")
    if isolation.level != "bubblewrap":
        pytest.skip(isolation.reason)
    pool = lab.pool(isolation=replace(isolation, network="open", network_program=str(slow)))
    calling = asyncio.ensure_future(pool.invoke(call(lab.asgi(HEALTHY, platform=platform))))
    await eventually(lambda: pool.sessions() and pool.sessions()[0].pid)
    await pool.close()
    await asyncio.wait([calling])

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    connections = [await asyncio.open_connection(*server.sockets[0].getsockname()) for _ in range(40)]
    async with server, asyncio.timeout(30):
        for reader, writer in connections:
            writer.write(b"here\n")
            assert await reader.read() == b"here\n"
            writer.close()
            await writer.wait_closed()


@pytest.mark.parametrize("script", ["missing.py", "../one/agent.py", "/etc/hostname"])
async def test_an_entry_file_outside_the_package_or_missing_is_named(lab, call, script):
    pool = lab.pool()
    with pytest.raises(AgentProcessError, match=script):
        await pool.invoke(call(lab.runtime("", entry_point=(script,))))
    assert not list((lab.home / "sessions").iterdir())


async def test_an_unhealthy_agent_is_not_called(lab, call):
    pool = lab.pool()
    runtime = lab.runtime("""
        import uvicorn

        async def app(scope, receive, send):
            if scope["type"] == "http":
                await send({"type": "http.response.start", "status": 404, "headers": []})
                await send({"type": "http.response.body", "body": b""})

        uvicorn.run(app)
    """)
    with pytest.raises(AgentProcessError, match="GET /ping answered 404"):
        await pool.invoke(call(runtime))


async def test_every_call_that_waited_for_a_failed_start_is_reported(lab, call):
    pool = lab.pool()
    runtime = lab.runtime("import time; time.sleep(0.2); raise SystemExit(3)")
    failures = await asyncio.gather(*(pool.invoke(call(runtime)) for _ in range(3)), return_exceptions=True)
    assert [type(failure) for failure in failures] == [AgentProcessError] * 3
    assert "exit code 3" in str(failures[2])
    assert len({id(failure) for failure in failures}) == 3


async def test_a_process_that_dies_under_a_call_breaks_it_and_the_next_call_starts_another(lab, call, read):
    pool = lab.pool()
    runtime = lab.asgi("""
        async def invoke(payload, scope, receive, send):
            if payload == "die":
                print("farewell")
                os._exit(7)
            await answer(send, str(os.getpid()).encode())
    """)
    await read(await pool.invoke(call(runtime)))
    [first] = pool.sessions()
    with pytest.raises(AgentProcessError, match="ended with exit code 7 without an answer") as caught:
        await pool.invoke(call(runtime, "die"))
    assert caught.value.log_tail[-1] == "farewell"
    assert await read(await pool.invoke(call(runtime)))
    assert pool.sessions()[0].pid != first.pid
    assert len({event[1] for event in lab.lines.events}) == 1  # the second process has said nothing


async def test_a_session_whose_process_died_between_calls_starts_cold_again(lab, call, read, eventually, alive):
    pool = lab.pool()
    runtime = lab.asgi("""
        import threading
        async def invoke(payload, scope, receive, send):
            await answer(send, str(os.getpid()).encode())
            if payload is not None:
                threading.Thread(target=end_later, args=(payload,)).start()

        def end_later(until):
            while not os.path.exists(until):
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGKILL)
    """)
    between_calls = lab.shared / "between calls"
    await read(await pool.invoke(call(runtime, str(between_calls))))
    first = pool.sessions()[0].pid
    between_calls.touch()
    # An idle connection can outlive its process by a moment, and what was written to it may have been read.
    await eventually(lambda: not alive(first) and not pool.sessions())
    assert await read(await pool.invoke(call(runtime)))
    assert pool.sessions()[0].pid != first


async def test_a_process_that_is_gone_twice_before_it_took_a_call_is_the_agents_failure(lab, call):
    runtime = lab.asgi("""
        import contextlib, socket
        print("started", flush=True)

        def stop_listening():
            for name in os.listdir("/proc/self/fd"):
                with contextlib.suppress(OSError), socket.socket(fileno=os.dup(int(name))) as one:
                    if one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                        one.shutdown(socket.SHUT_RDWR)

        async def answer(send, body):
            stop_listening()
            headers = [(b"connection", b"close")]  # the invocation needs a connection of its own
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": body})
            os._exit(0)
    """)
    with pytest.raises(AgentProcessError, match="ended twice before it accepted the invocation: "):
        await lab.pool().invoke(call(runtime))
    assert lab.lines.messages.count("started") == 2


async def test_a_death_in_mid_stream_cuts_the_chunks_with_the_signal_named(lab, call):
    pool = lab.pool()
    runtime = lab.bedrock("""
        import signal
        @app.entrypoint
        async def invoke(payload):
            yield "one"
            yield "two"
            while not os.path.exists(payload["until"]):
                await asyncio.sleep(0.01)
            print("struck down")
            os.kill(os.getpid(), signal.SIGKILL)
            yield "three"
    """)
    answer = await pool.invoke(call(runtime, {"until": str(lab.shared / "both are read")}))
    content = b""
    while content != b'data: "one"\n\ndata: "two"\n\n':
        content += await anext(answer.chunks)
    (lab.shared / "both are read").touch()
    with pytest.raises(AgentProcessError, match="was killed by SIGKILL in the middle of its answer") as caught:
        await anext(answer.chunks)
    assert caught.value.log_tail[-1] == "struck down"


CUSTOM_PROTOCOL = """
    import asyncio, uvicorn

    class Odd(asyncio.Protocol):
        def __init__(self, config, server_state, app_state, _loop=None):
            self.seen = b""
        def connection_made(self, transport):
            self.transport = transport
        def data_received(self, data):
            if b"/ping" in data:
                self.transport.write(b'HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\n\\r\\nok')
                return
            {answer}
        def shutdown(self):
            self.transport.close()

    async def app(scope, receive, send): ...

    uvicorn.run(app, http=Odd, lifespan="off", log_level="warning")
"""


@pytest.mark.parametrize(
    ("answer", "timeout_s", "reason"),
    [
        ("self.transport.close()", 60, "closed the connection without an answer"),
        ("self.transport.write(b'I am no web server, sorry')", 60, "response is not HTTP"),
        ("pass", 0.5, "sent no answer within 0.5 s"),
    ],
)
async def test_an_answer_that_is_none_is_distinguished_and_the_session_lives_on(lab, call, answer, timeout_s, reason):
    pool = lab.pool(answer_timeout_s=timeout_s)
    runtime = lab.runtime(CUSTOM_PROTOCOL.format(answer=answer))
    with pytest.raises(AgentProcessError, match=reason):
        await pool.invoke(call(runtime))
    [session] = pool.sessions()
    with pytest.raises(AgentProcessError, match=reason):
        await pool.invoke(call(runtime))
    assert [live_session.pid for live_session in pool.sessions()] == [session.pid]


@pytest.mark.parametrize(
    ("answer", "timeout_s", "reason"),
    [
        (
            r"b'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nfour'); self.transport.close(",
            60,
            "closed the connection in the",
        ),
        (
            r"b'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nfour\r\nzzz\r\n'",
            60,
            "response is not HTTP",
        ),
        # Time enough for a warm server to answer on a busy machine, and short enough to wait for.
        (r"b'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nfour'", 10, "no further byte within 10 s"),
    ],
)
async def test_an_answer_that_breaks_off_gives_what_came_and_then_the_reason(lab, call, answer, timeout_s, reason):
    pool = lab.pool(answer_timeout_s=timeout_s)
    runtime = lab.runtime(CUSTOM_PROTOCOL.format(answer=f"self.transport.write({answer})"))
    chunks = (await pool.invoke(call(runtime))).chunks
    assert await anext(chunks) == b"four"
    with pytest.raises(AgentProcessError, match=reason):
        await anext(chunks)


async def test_an_answer_that_ends_with_its_connection_is_whole(lab, call, read):
    pool = lab.pool()
    answer = r"self.transport.write(b'HTTP/1.1 200 OK\r\n\r\nall of it'); self.transport.close()"
    assert await read(await pool.invoke(call(lab.runtime(CUSTOM_PROTOCOL.format(answer=answer))))) == b"all of it"


async def test_a_header_with_a_line_break_is_refused_and_not_sent(lab, call, read):
    pool = lab.pool()
    runtime = lab.asgi(HEALTHY)
    with pytest.raises(ValueError, match="line break"):
        await pool.invoke(call(runtime, headers={"x-evil": "a\r\nx-more: b"}))
    assert await read(await pool.invoke(call(runtime)))


async def test_a_closed_pool_takes_no_call(lab, call):
    pool = lab.pool()
    await pool.close()
    with pytest.raises(SessionEndedError):
        await pool.invoke(call(lab.asgi(HEALTHY)))
