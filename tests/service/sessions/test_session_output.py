"""What a session writes becomes log events: whole lines, in order, none lost."""

from __future__ import annotations

import asyncio
import re
import time

import pytest

from loomlib.local.contract import AgentProcessError

QUIET = "async def invoke(payload, scope, receive, send): await answer(send, b'done')"


async def test_lines_carry_the_runtimes_group_a_stream_of_their_process_and_their_time(lab, call, read):
    pool = lab.pool()
    before_ms = int(time.time() * 1000)
    session_call = call(lab.asgi(f"print('hello')\n{QUIET}"), qualifier="blue")
    await read(await pool.invoke(session_call))
    await pool.close()
    [(group, stream, timestamp_ms, message)] = lab.lines.events
    assert group == "/aws/bedrock-agentcore/runtimes/one-AbC123dEf4-blue"
    day, kind, process = re.fullmatch(r"(.{10})/\[runtime-logs-(.*)\](.*)", stream).groups()
    assert re.fullmatch(r"\d{4}/\d\d/\d\d", day)
    assert kind == session_call.session_id
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", process)
    assert before_ms <= timestamp_ms <= time.time() * 1000
    assert message == "hello"


async def test_stdout_and_stderr_keep_their_common_order(lab, call):
    pool = lab.pool()
    source = """
        import os, subprocess, sys
        for number in range(2000):
            print(number, file=(sys.stdout, sys.stderr)[number % 2])
        os.write(1, b"2000\\n")
        subprocess.run(["echo", "2001"])
        print(2002)
    """
    with pytest.raises(AgentProcessError):
        await pool.invoke(call(lab.runtime(source)))
    assert lab.lines.messages == [str(number) for number in range(2003)]


async def test_an_unfinished_line_is_not_glued_to_the_other_streams_next_line(lab, call):
    pool = lab.pool()
    source = """
        import sys
        for word in ("The", " answer", " is", " 4"):
            print(word, end="", flush=True)
        print('{"level": "INFO"}', file=sys.stderr)
        print(2, end="")
    """
    with pytest.raises(AgentProcessError):
        await pool.invoke(call(lab.runtime(source)))
    assert lab.lines.messages == ["The answer is 4", '{"level": "INFO"}', "2"]


async def test_nothing_written_before_a_kill_is_lost(lab, call):
    pool = lab.pool()
    source = """
        import os, signal
        for number in range(20_000):
            print("line", number)
        print("and an unfinished one", end="")
        os.kill(os.getpid(), signal.SIGKILL)
    """
    with pytest.raises(AgentProcessError, match="SIGKILL") as caught:
        await pool.invoke(call(lab.runtime(source)))
    expected = [*(f"line {number}" for number in range(20_000)), "and an unfinished one"]
    assert lab.lines.messages == expected
    assert list(caught.value.log_tail) == expected[-20:]


async def test_a_line_beyond_cloudwatchs_limit_is_split_and_bad_bytes_are_replaced(lab, call):
    pool = lab.pool()
    source = """
        import os, sys
        print("é" * 300_000)
        sys.stdout.buffer.write(b"caf\\xe9\\r\\n\\n")
        print("x" * 262_118)
        print("last")
    """
    with pytest.raises(AgentProcessError):
        await pool.invoke(call(lab.runtime(source)))
    *parts, cafe, full, last = lab.lines.messages
    assert "".join(parts) == "é" * 300_000
    assert all(len(part.encode()) <= 262_144 - 26 for part in parts)
    assert (cafe, full, last) == ("caf\ufffd", "x" * 262_118, "last")


async def test_a_flood_of_output_leaves_the_loop_free_for_others(lab, call, read):
    pool = lab.pool()
    flooding = lab.asgi("""
        async def invoke(payload, scope, receive, send):
            number = 0
            while number < 20_000 or not os.path.exists(payload):
                print("flood", number)
                number += 1
                if number > 20_000:
                    time.sleep(0.001)  # below the limit of lines, which would drop some
            await answer(send, str(number).encode())
    """)
    quiet = lab.asgi(QUIET, name="two")
    await read(await pool.invoke(call(quiet)))
    flood = asyncio.ensure_future(pool.invoke(call(flooding, str(lab.shared / "enough"))))
    for _ in range(10):
        assert await read(await pool.invoke(call(quiet))) == b"done"
    assert not flood.done(), "it goes on until it is told"
    (lab.shared / "enough").touch()
    count = int(await read(await flood))
    await pool.close()
    assert [line for line in lab.lines.messages if line.startswith("flood")] == [f"flood {n}" for n in range(count)]


async def test_output_of_a_process_that_outlives_the_agent_is_kept_up_to_the_end(lab, call):
    pool = lab.pool()
    source = """
        import os, subprocess, time
        subprocess.Popen("echo child; touch spoken; exec sleep 600", shell=True, start_new_session=True)
        while not os.path.exists("spoken"):
            time.sleep(0.01)
    """
    with pytest.raises(AgentProcessError, match="exit code 0"):
        await pool.invoke(call(lab.runtime(source)))
    assert lab.lines.messages == ["child"]


async def test_an_entry_point_with_instrumentation_is_run_and_noted_once(lab, call, read):
    pool = lab.pool()
    runtime = lab.asgi(QUIET, entry_point=("opentelemetry-instrument", "agent.py"))
    for _ in range(2):
        assert await read(await pool.invoke(call(runtime))) == b"done"
    assert [line for line in lab.lines.messages if "opentelemetry-instrument" in line] == lab.lines.messages[:1]
