"""A server in a process of its own whose queue is exactly M/D/c or M/M/c: `python -m tests.benchmarks.queueing_server`.

The end of each service follows from the arrivals by the recursion of the queue, not from timers that add up, so
that a busy machine makes single answers late and leaves the queue as it is.
"""

from __future__ import annotations

import asyncio
import heapq
import random
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from loomlib.aws.load_client.exact_timer import exact_timer

_ANSWER = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\n"ok"'
_ROOT = Path(__file__).parents[2]


class _Queue:
    def __init__(self, servers: int, service_s: float, is_constant: bool) -> None:
        self._free_ns = [0] * servers
        self._service_s, self._is_constant = service_s, is_constant
        self._random = random.Random(1)
        self._due: list[tuple[int, int, asyncio.Transport]] = []
        self._number = 0
        self._timer = exact_timer(asyncio.get_running_loop(), self._answer)

    def arrive(self, transport: asyncio.Transport) -> None:
        service_s = self._service_s if self._is_constant else self._random.expovariate(1 / self._service_s)
        done_ns = max(time.perf_counter_ns(), self._free_ns[0]) + round(service_s * 1e9)
        heapq.heapreplace(self._free_ns, done_ns)
        self._number += 1
        heapq.heappush(self._due, (done_ns, self._number, transport))
        self._timer.set(self._due[0][0])

    def _answer(self) -> None:
        while self._due and self._due[0][0] <= time.perf_counter_ns():
            _, _, transport = heapq.heappop(self._due)
            if not transport.is_closing():
                transport.write(_ANSWER)
        if self._due:
            self._timer.set(self._due[0][0])


class _Connection(asyncio.Protocol):
    def __init__(self, queue: _Queue) -> None:
        self._queue, self._data = queue, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        while True:
            head, end, rest = self._data.partition(b"\r\n\r\n")
            if not end:
                return
            fields = dict(line.split(b":", 1) for line in head.lower().split(b"\r\n")[1:])
            length = int(fields.get(b"content-length", b"0"))
            if len(rest) < length:
                return
            self._data = rest[length:]
            self._queue.arrive(self._transport)


async def _serve(servers: int, service_s: float, is_constant: bool) -> None:
    queue = _Queue(servers, service_s, is_constant)
    server = await asyncio.get_running_loop().create_server(lambda: _Connection(queue), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def queueing_server(*, servers: int, service_s: float, is_constant: bool) -> Generator[str]:
    """Run the server and give its address."""
    arguments = [str(servers), str(service_s), "D" if is_constant else "M"]
    with subprocess.Popen(
        [sys.executable, "-m", "tests.benchmarks.queueing_server", *arguments],
        cwd=_ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/invocations"
        finally:
            process.kill()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3] == "D"))
