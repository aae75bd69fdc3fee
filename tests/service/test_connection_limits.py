"""What a connection may cost before its caller is known."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from typing import Any

import psutil
import pytest
from signed_requests import signed_headers
from waiting import wait_until

from loomlib.local.access.bodies import read_whole
from loomlib.local.access.protocol import FIRST_BYTE_WITHIN_S, HEAD_BYTES, HEADER_FIELDS
from loomlib.local.wire import RefusedError


def connect(aws: Any) -> socket.socket:
    return socket.create_connection(("127.0.0.1", aws.state.port), timeout=60)


def answer_to(aws: Any, *pieces: bytes) -> bytes:
    """Everything that the service answers to pieces of a request, sent until it closes the connection."""
    with connect(aws) as connection:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for piece in pieces:
                connection.sendall(piece)
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while part := connection.recv(65_536):
                answer += part
        return answer


@pytest.mark.parametrize(
    "head",
    [
        [b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", *[b"x" * 65_536] * 1_000],
        [b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n", *[b"A: b\r\n" * 10_000] * 500],
        [b"GET /", *[b"x" * 65_536] * 1_000],
        [b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"A: b\r\n" * (HEADER_FIELDS + 1) + b"\r\n"],
        [b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * HEAD_BYTES + b"\r\n\r\n"],
    ],
    ids=["a field without end", "fields without end", "a path without end", "many fields", "a long field"],
)
def test_header_fields_are_limited_in_size_and_number(aws: Any, head: list[bytes]) -> None:
    service = psutil.Process(aws.state.pid)
    before = service.memory_info().rss
    answer = answer_to(aws, *head)
    # A client that goes on sending may find its connection reset before it has read the answer.
    assert not answer or answer.startswith(b"HTTP/1.1 431 ")
    assert service.memory_info().rss - before < 30 << 20
    aws.control.list_agent_runtimes()


def test_sessions_of_both_platforms_are_served_beside_more_than_1024_open_files(aws: Any) -> None:
    agent = """
from bedrock_agentcore import BedrockAgentCoreApp
app = BedrockAgentCoreApp()
app.entrypoint(lambda payload: "served")
app.run()
"""
    with contextlib.ExitStack() as stack:
        for _ in range(1_100):
            stack.enter_context(connect(aws))
        for platform in ("V1", "V2"):
            runtime = aws.deploy(f"open_{platform}", agent, platformVersion=platform)
            for number in range(2):
                answer = aws.invoke(runtime["agentRuntimeArn"], b"{}", runtimeSessionId=f"{platform}-{number}" * 12)
                assert b"served" in answer[1]


def test_what_fits_the_limits_is_answered(aws: Any) -> None:
    path = "/runtimes/"
    more = {f"X-Number-{number}": "x" * 300 for number in range(HEADER_FIELDS - 20)}
    headers = signed_headers(aws.state, "POST", path, headers=more)
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    host = f"Host: 127.0.0.1:{aws.state.port}\r\nContent-Length: 0\r\nConnection: close\r\n"
    assert answer_to(aws, f"POST {path} HTTP/1.1\r\n{host}{lines}\r\n".encode()).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    ("frame", "piece"),
    [
        (b"0\r\n", b"T: e\r\n" * 10_000),
        (b"0\r\nT: ", b"e" * 65_536),
        (b"0\r\n", b"T" * 65_536),
        (b"5;", b"e" * 65_536),
        (b"5;", b"e=1;" * 16_384),
    ],
    ids=["trailers", "a trailer", "a trailer's name", "a chunk extension", "chunk extensions"],
)
def test_trailers_and_chunk_extensions_without_end_are_refused(aws: Any, frame: bytes, piece: bytes) -> None:
    service = psutil.Process(aws.state.pid)
    before, sent_bytes, is_closed = service.memory_info().rss, 0, False
    with connect(aws) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n" + frame)
        try:
            while sent_bytes < 60_000_000:
                connection.sendall(piece)
                sent_bytes += len(piece)
        except (BrokenPipeError, ConnectionResetError):
            is_closed = True
    assert is_closed, f"all of {sent_bytes:,} bytes were taken"
    assert service.memory_info().rss - before < 30 << 20
    aws.control.list_agent_runtimes()


def test_a_body_in_chunks_of_a_byte_with_a_trailer_is_answered(aws: Any) -> None:
    """Its framing is longer than what trailers may be."""
    path, body = "/runtimes/", b" " * 30_000 + b"{}"
    lines = "".join(f"{name}: {value}\r\n" for name, value in signed_headers(aws.state, "POST", path, body).items())
    host = f"Host: 127.0.0.1:{aws.state.port}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n"
    chunks = b"".join(b"1;x=y\r\n%c\r\n" % byte for byte in body)
    head = f"POST {path} HTTP/1.1\r\n{host}{lines}\r\n".encode()
    answer = answer_to(aws, head, chunks, b"0\r\nT: e\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 "), answer[:300]


def test_several_requests_of_one_connection_are_counted_one_by_one(aws: Any) -> None:
    host = f"Host: 127.0.0.1:{aws.state.port}\r\n".encode()
    request = b"GET /_loom/ping HTTP/1.1\r\n" + host + b"X: " + b"x" * 40_000 + b"\r\nAuthorization: Bearer "
    request += aws.state.token.encode() + b"\r\n"
    answer = answer_to(aws, request + b"\r\n", request + b"\r\n", request + b"Connection: close\r\n\r\n")
    assert answer.count(b"HTTP/1.1 200 ") == 3


def test_idle_connections_give_way_to_new_ones(start_service: Any) -> None:
    aws = start_service()
    aws.control.list_agent_runtimes()
    service = psutil.Process(aws.state.pid)
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        try:
            connections = [stack.enter_context(connect(aws)) for _ in range(2_100)]
        except OSError as error:
            pytest.skip(f"this process may not open as many connections: {error}")
        assert len(connections) == 2_100
        # The owner's own connection may have given way as well; its clients connect again.
        aws.client("bedrock-agentcore-control", retries={"total_max_attempts": 3}).list_agent_runtimes()
        wait_until(lambda: len(service.net_connections(kind="tcp")) <= 2_050, pause_s=0.2)
        assert time.monotonic() - began < FIRST_BYTE_WITHIN_S, "it was the time limit that closed them"


def test_a_service_with_many_half_open_requests_goes_on_answering(aws: Any) -> None:
    head = f"POST /runtimes/ HTTP/1.1\r\nHost: 127.0.0.1:{aws.state.port}\r\nContent-Length: 10\r\nX: ".encode()
    with contextlib.ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(connect(aws)).sendall(head)
        aws.control.list_agent_runtimes()


@pytest.mark.parametrize("drips", [True, False])
async def test_a_sender_that_is_silent_or_drips_is_refused(drips: bool) -> None:
    async def receive() -> dict[str, Any]:
        await asyncio.sleep(0.01 if drips else 3_600)
        return {"type": "http.request", "body": b"x", "more_body": True}

    with pytest.raises(RefusedError) as caught:
        await read_whole(receive, 1_000_000, "", "s3", spools=True, pause_s=0.1)
    assert (caught.value.code, caught.value.status) == ("RequestTimeout", 400)
