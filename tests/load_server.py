"""A small HTTP server, run as a script in a process of its own, whose answers are known: the path says which.

It prints its port. `/seen` answers how often each session has called. It ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from urllib.parse import parse_qsl, urlsplit

SESSION = b"x-amzn-bedrock-agentcore-runtime-session-id: "
SEEN: Counter[str] = Counter()
MADE: defaultdict[str, list[int]] = defaultdict(list)
ANSWERS = {
    "/echo": (200, "application/json", b'{"result": "hello"}'),
    "/error": (200, "application/json", b'{"error": "the tool broke", "error_type": "ToolError"}'),
    "/no-json": (200, "application/json", b"<html>"),
    "/error-event": (200, "text/event-stream", b'data: "hel"\n\ndata: {"error": "half-way"}\n\n'),
    "/throttled": (429, "application/json", b'{"message": "Rate exceeded"}'),
    "/broken": (500, "application/json", b'{"message": "sorry"}'),
    "/refused": (400, "application/json", b'{"message": "no such field"}'),
    "/agent": (424, "application/json", b'{"message": "the agent ended"}'),
}
CHUNK = b'data: "a chunk of a stream, some 60 bytes long, as models make"\n\n'
STREAM = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    + b"%x\r\n%b\r\n" % (len(CHUNK), CHUNK) * 100
    + b"0\r\n\r\n"
)
"""How a runtime answers: 100 chunks at once."""


class Server(asyncio.Protocol):
    """One connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport, self.data = transport, b""

    def data_received(self, data: bytes) -> None:
        self.data += data
        head, end, rest = self.data.partition(b"\r\n\r\n")
        if not end:
            return
        lower = head.lower()
        size = int(lower.partition(b"content-length:")[2].split(b"\r\n")[0]) if b"content-length:" in lower else 0
        if len(rest) < size:
            return
        self.data = rest[size:]
        url = urlsplit(head.split(b" ")[1].decode())
        session = lower.partition(SESSION)[2].split(b"\r\n")[0].decode()
        self.answer(url.path, dict(parse_qsl(url.query)), session)

    def answer(self, path: str, numbers: dict[str, str], session: str) -> None:
        if path in ("/seen", "/made"):
            self.whole(200, "application/json", json.dumps(SEEN if path == "/seen" else MADE).encode())
            return
        SEEN[session] += 1
        if path == "/closed":
            self.transport.close()
        elif path == "/cut":
            self.transport.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 10\r\n\r\nhalf")
            self.transport.close()
        elif path in ("/paced", "/chat"):
            self.paced(numbers, session, chunk=_chat_chunk if path == "/chat" else _paced_chunk)
        elif path == "/wait":
            loop = asyncio.get_running_loop()
            loop.call_later(float(numbers["s"]), self.whole, 200, "application/json", b'{"result": "late"}')
        elif path.startswith("/runtimes/"):
            self.transport.write(STREAM)
        elif path in ANSWERS:
            self.whole(*ANSWERS[path])

    def whole(self, status: int, content_type: str, body: bytes) -> None:
        head = f"HTTP/1.1 {status} X\r\ncontent-type: {content_type}\r\ncontent-length: {len(body)}\r\n\r\n"
        self.transport.write(head.encode() + body)

    def paced(self, numbers: dict[str, str], session: str, *, chunk: Callable[[int, bool], bytes]) -> None:
        """Chunks at an even pace, the first after one pause; `/made` has when each was written."""
        loop, count, pause_s, begun_s = (
            asyncio.get_running_loop(),
            int(numbers["n"]),
            float(numbers["s"]),
            time.perf_counter(),
        )
        written_ns = MADE[session]

        def write(number: int) -> None:
            head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            written_ns.append(time.perf_counter_ns())
            data = chunk(written_ns[-1], number == count - 1)
            end = b"0\r\n\r\n" if number == count - 1 else b""
            self.transport.write((b"" if number else head) + b"%x\r\n%b\r\n" % (len(data), data) + end)
            if number < count - 1:
                loop.call_later(begun_s + (number + 2) * pause_s - time.perf_counter(), write, number + 1)

        loop.call_later(pause_s, write, 0)


def _paced_chunk(made_ns: int, last: bool) -> bytes:
    return b'data: "%020d chunk of a stream, 60 bytes"\n\n' % made_ns


def _chat_chunk(made_ns: int, last: bool) -> bytes:
    """A chunk of OpenAI's chat completions, one word long."""
    choice = {"index": 0, "delta": {"content": "chunk "}, "finish_reason": "stop" if last else None}
    chunk = {"id": str(made_ns), "object": "chat.completion.chunk", "created": 0, "model": "paced", "choices": [choice]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n" + (b"data: [DONE]\n\n" if last else b"")


async def main() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Server, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
