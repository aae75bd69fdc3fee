"""However the bytes are cut on their way, lines and answers come out the same."""

from __future__ import annotations

import asyncio
import os
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loomlib.local.contract import LogSink
from loomlib.local.sessions.output import SessionOutput
from loomlib.local.sessions.wire import AgentConnection, ConnectionClosedError, NotHttpError, encode_request


class Lines(LogSink):
    def __init__(self) -> None:
        self.messages: list[str] = []

    def write(self, *, group: str, stream: str, timestamp_ms: int, message: str) -> None:
        self.messages.append(message)


pieces = st.lists(
    st.binary(max_size=20) | st.sampled_from([b"\n", b"\r\n", "é".encode(), b"\xe9", b"word"]), max_size=20
)


@settings(max_examples=60, deadline=None)
@given(pieces)
def test_the_lines_do_not_depend_on_how_the_writes_are_cut(writes: list[bytes]) -> None:
    async def through_a_pipe() -> list[str]:
        reading, writing = os.pipe()
        lines = Lines()
        output = SessionOutput(reading, lines, group="g", stream="s")
        for piece in writes:
            os.write(writing, piece)
            await asyncio.sleep(0)
        os.close(writing)
        await output.finish(within_s=5)
        assert list(output.tail) == lines.messages[-20:]
        return lines.messages

    whole = b"".join(writes).split(b"\n")
    expected = [line.removesuffix(b"\r").decode("utf-8", "replace") for line in whole if line.removesuffix(b"\r")]
    assert asyncio.run(through_a_pipe()) == expected


def _answer(bodies: list[bytes], chunked: bool) -> bytes:
    if chunked:
        body = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in bodies if part) + b"0\r\n\r\n"
        return b"HTTP/1.1 200 OK\r\nX-Own: yes\r\ntransfer-encoding: chunked\r\n\r\n" + body
    body = b"".join(bodies)
    return b"HTTP/1.1 200 OK\r\nX-Own: yes\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)


class Transport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.aborted = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += bytes(data)

    def abort(self) -> None:
        self.aborted = True

    close = abort


async def _ask(
    data: bytes, cuts: list[int], *, then: Exception | None = None
) -> tuple[int, dict[str, str], bytes, bool]:
    connection = AgentConnection()
    connection.connection_made(Transport())
    asking = asyncio.ensure_future(connection.ask("POST", "/invocations", {}, b"{}"))
    await asyncio.sleep(0)
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    for start, end in pairwise(places):
        connection.data_received(data[start:end])
    if then is not None:
        connection.connection_lost(then)
    head = await asking
    body = b""
    while (chunk := await connection.next_chunk()) is not None:
        body += chunk
    return head.status, dict(head.headers), body, connection.reusable


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.binary(max_size=30), max_size=5),
    st.booleans(),
    st.lists(st.integers(0, 400), max_size=12),
    st.booleans(),
)
def test_an_answer_does_not_depend_on_how_it_is_cut(
    bodies: list[bytes], chunked: bool, cuts: list[int], continued: bool
) -> None:
    data = (b"HTTP/1.1 100 Continue\r\n\r\n" if continued else b"") + _answer(bodies, chunked)
    assert asyncio.run(_ask(data, cuts)) == (200, {"x-own": "yes"}, b"".join(bodies), True)


@settings(max_examples=60, deadline=None)
@given(st.binary(min_size=1, max_size=60), st.lists(st.integers(0, 60), max_size=5))
def test_arbitrary_bytes_are_never_taken_for_an_answer_without_a_status(data: bytes, cuts: list[int]) -> None:
    with pytest.raises((NotHttpError, ConnectionClosedError)):
        asyncio.run(_ask(data, cuts, then=ConnectionResetError()))


@given(st.dictionaries(st.text("abc-", min_size=1), st.text(max_size=20), max_size=3), st.binary(max_size=20))
def test_a_request_is_one_head_and_its_body_whatever_the_headers_hold(headers: dict[str, str], body: bytes) -> None:
    try:
        request = encode_request("POST", "/invocations", headers, body)
    except ValueError:
        assert any(mark in value for value in headers.values() for mark in "\r\n\0")
        return
    head, _, rest = request.partition(b"\r\n\r\n")
    assert rest == body
    assert head.count(b"\r\n") == 2 + len(headers)
