"""Agents that print or send without end: the service keeps its memory, its disk and its answers."""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Callable
from typing import Any

import psutil
import pytest
from waiting import PATIENCE_S, eventually, wait_until

from loomlib.local.contract import AgentProcessError
from loomlib.local.logs.rotation import STREAM_BYTES, TOTAL_BYTES, Rotation
from loomlib.local.sandbox.limits import Limits
from loomlib.local.sessions.intake_limit import BURST_BYTES, BYTES_PER_S

FLOOD = """
import os
from bedrock_agentcore.runtime import BedrockAgentCoreApp

app = BedrockAgentCoreApp()


@app.entrypoint
def answer(payload):
    line, left = payload["line"].encode() + b"\\n" * payload["ended"], payload["bytes"]
    block = line * max(1, 65_536 // len(line))
    while left > 0:
        left -= os.write(1, block[:left])
    os.write(1, b"\\nthe last line\\n")
    return "done"


app.run()
"""


async def test_what_a_session_writes_beyond_its_rate_is_dropped_and_reported(lab, call, read):
    pool = lab.pool()
    source = """
        import os
        block = b"x" * 99 + b"\\n"
        for number in range(800):
            os.write(1, block * 1_000)
        os.write(1, b"the end\\n")
    """
    start_s = time.monotonic()
    with pytest.raises(Exception, match="exit code 0"):
        await pool.invoke(call(lab.runtime(source)))
    allowed = BURST_BYTES + BYTES_PER_S * (time.monotonic() - start_s + 1)
    assert sum(map(len, lab.lines.messages)) < allowed
    notices = [message for message in lab.lines.messages if message.startswith("Loom: ") and "dropped" in message]
    assert notices
    assert "16 MiB at once and 2 MiB a second" in notices[0]
    assert max(map(len, set(lab.lines.messages) - set(notices))) == 99
    assert lab.lines.messages[-1] == "the end"


async def test_a_line_without_an_end_is_cut_and_then_dropped(lab, call):
    pool = lab.pool()
    source = """
        import os
        for number in range(1_000):
            os.write(1, b"y" * 65_536)
        os.write(1, b"\\nafter it\\n")
    """
    with pytest.raises(Exception, match="exit code 0"):
        await pool.invoke(call(lab.runtime(source)))
    assert max(map(len, lab.lines.messages)) <= 262_144 - 26
    assert any("dropped" in message for message in lab.lines.messages)


@pytest.mark.parametrize("line", [b"z" * 99, b"z"])
async def test_dropped_output_is_reported_while_the_session_stays_idle(lab, call, read, line):
    pool, bytes_written = lab.pool(), 64 << 20
    body = f"""
        async def invoke(payload, scope, receive, send):
            line = {line!r} + b"\\n"
            block = line * ({bytes_written >> 6} // len(line))
            for _ in range(64):
                written = 0
                while written < len(block):
                    written += os.write(1, block[written:])
            os.write(1, b"zlast\\n")
            await answer(send, str(64 * len(block) + 6).encode())
    """
    size = int(await read(await pool.invoke(call(lab.asgi(body)))))
    await eventually(lambda: lab.lines.messages[-1] == "zlast", what="the last line of the output")
    reported = [re.match(r"Loom: [\d,]+ lines with ([\d,]+) bytes were dropped", text) for text in lab.lines.messages]
    dropped = sum(int(found[1].replace(",", "")) for found in reported if found)
    shown = [text for text in lab.lines.messages if text.startswith("z")]
    # A line that was cut off has no end of its own.
    assert size - len(shown) <= dropped + sum(map(len, shown)) <= size


async def test_what_a_session_writes_on_its_lifeline_becomes_few_records(lab, call, read):
    pool = lab.pool()
    body = """
        import socket

        def lifeline():
            for name in os.listdir("/proc/self/fd"):
                try:
                    copy = socket.socket(fileno=os.dup(int(name)))
                except OSError:
                    continue
                if copy.family == socket.AF_UNIX and copy.type == socket.SOCK_STREAM:
                    if not copy.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                        return copy

        async def invoke(payload, scope, receive, send):
            lifeline().sendall(b"-+" * 50_000)
            await answer(send, b"sent")
    """
    assert await read(await pool.invoke(call(lab.asgi(body)))) == b"sent"
    await pool.close()
    assert 2 <= sum("spans" in message for message in lab.lines.messages) <= 20


TRAILERS = """
    import asyncio, uvicorn

    class Trailing(asyncio.Protocol):
        def __init__(self, config, server_state, app_state, _loop=None):
            pass
        def connection_made(self, transport):
            self.transport = transport
        def data_received(self, data):
            if b"/ping" in data:
                self.transport.write(b'HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\n\\r\\nok')
                return
            self.transport.write(b'HTTP/1.1 200 OK\\r\\ntransfer-encoding: chunked\\r\\n\\r\\n2\\r\\nok\\r\\n0\\r\\n')
            for number in range({count}):
                self.transport.write(b'x-%d: ' % number + b'a' * {size} + b'\\r\\n')
            self.transport.write(b'\\r\\n')
        def shutdown(self):
            self.transport.close()

    async def app(scope, receive, send): ...

    uvicorn.run(app, http=Trailing, lifespan="off", log_level="warning")
"""


@pytest.mark.parametrize(("count", "size"), [(20, 100_000), (1, 2_000_000)], ids=["many", "one-of-2-MB"])
async def test_trailers_without_end_break_an_answer_off(lab, call, count, size):
    chunks = (await lab.pool().invoke(call(lab.runtime(TRAILERS.format(count=count, size=size))))).chunks
    assert await anext(chunks) == b"ok"
    with pytest.raises(AgentProcessError, match="response is not HTTP: headers or trailers of more than 524,288 bytes"):
        await anext(chunks)


async def test_files_below_a_path_that_is_too_long_for_the_system_count_as_storage(lab, call, read):
    pool = lab.pool(limits=Limits.of("storage=20m"))
    body = """
        async def invoke(payload, scope, receive, send):
            here = os.open(".", os.O_RDONLY)
            for _ in range(20):
                os.mkdir("d" * 250)
                os.chdir("d" * 250)
            for number in range(3):
                with open(f"file{number}", "wb") as file:
                    file.write(b"x" * 10_000_000)
            os.fchdir(here)
            await asyncio.sleep(600)
    """
    with pytest.raises(AgentProcessError, match="Resource limit reached: storage"):
        await read(await pool.invoke(call(lab.asgi(body))))


def test_rotation_keeps_the_newest_lines_of_a_stream_and_of_all() -> None:
    rotation, place = Rotation(), ("g", "s")
    lines = ["x" * 1_000_000] * 40
    rotation.count(place, lines)
    assert rotation.overfull() == place
    dropped = rotation.surplus(place, lines)
    assert STREAM_BYTES / 2 < sum(map(len, lines[dropped:])) < STREAM_BYTES
    assert rotation.overfull() is None
    rotation.forget(place)
    streams = {("g", str(number)): ["x" * 1_000_000] * 20 for number in range(20)}
    for place, lines in streams.items():
        rotation.count(place, lines)
    while full := rotation.overfull():
        del streams[full][: rotation.surplus(full, streams[full])]
    assert TOTAL_BYTES / 2 < sum(map(len, itertools.chain(*streams.values()))) < TOTAL_BYTES


@pytest.mark.parametrize(("line", "ended"), [("x" * 120, True), ("x", True), ("x" * 500, False)])
def test_an_agent_that_prints_a_gibibyte_leaves_the_service_small_and_answering(
    start_service: Callable[..., Any], line: str, ended: bool
) -> None:
    aws = start_service()
    flooding = aws.deploy("flooding", FLOOD)
    arn, session = flooding["agentRuntimeArn"], "f" * 40
    service = psutil.Process(aws.state.pid)
    aws.invoke(arn, json.dumps({"line": "a", "ended": True, "bytes": 10}).encode(), runtimeSessionId=session)
    before = service.memory_info().rss
    size = 1 << (30 if len(line) > 1 else 28)
    patient = aws.client("bedrock-agentcore", read_timeout=PATIENCE_S)
    payload = json.dumps({"line": line, "ended": ended, "bytes": size}).encode()
    answer = patient.invoke_agent_runtime(agentRuntimeArn=arn, payload=payload, runtimeSessionId=session)
    with answer["response"] as body:
        assert body.read() == b'"done"'
    group = f"/aws/bedrock-agentcore/runtimes/{flooding['agentRuntimeId']}-DEFAULT"
    logs = aws.client("logs")

    def dropped() -> list[dict[str, Any]]:
        return logs.filter_log_events(logGroupName=group, filterPattern="dropped")["events"]

    # Each look reads all that was kept: looks without a pause would delay what they wait for.
    notices = wait_until(dropped, what="the notice of dropped output", pause_s=1.0)
    # By the session, which writes so much at most, or by the stream, which keeps so much at most.
    assert any(
        reason in notices[0]["message"] for reason in ("bytes were dropped here", "were dropped: it was too large")
    )
    assert service.memory_info().rss - before < 400 << 20
    assert sum(file.stat().st_size for file in aws.state.home.glob("logs.db*")) < 200 << 20
    start_s = _processor_s(service)
    pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group)
    stored_chars = sum(len(event["message"]) for page in pages for event in page["events"])
    assert stored_chars <= STREAM_BYTES + (1 << 20)
    assert _processor_s(service) - start_s < 60  # 122 s for what one such agent had printed


def _processor_s(service: psutil.Process) -> float:
    """The processor time of this process and of the service, which does not depend on what else runs."""
    times = service.cpu_times()
    return time.process_time() + times.user + times.system
