"""The load engine beside a raw asyncio reader, boto3's threads, and itself with ten times as many calls.

The memory is measured over 100,000 calls (a minute), or over as many as LOOM_BENCH_LOAD_CALLS says.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from loomlib.aws import Clients, Connection
from loomlib.latency.load.calls import LoadCall, OfferedCall
from loomlib.latency.load.engine import LoadEngine, LoadTarget

from .table import Row, percentile

_SERVER = Path(__file__).parents[1] / "load_server.py"
_STREAMS = 128
_PACED = "/paced?n=25&s=0.05"
_ARN = "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/bench-AbC123dEf4"
_BODY = b'{"prompt": "x"}'
_SESSION = "X-Amzn-Bedrock-AgentCore-Runtime-Session-Id"


def rows() -> Iterator[Row]:
    """Streams, bursts and memory."""
    with load_server() as port, tempfile.TemporaryDirectory(prefix="loom-bench-") as name:
        yield from streams(port, Path(name))
        yield from burst(port, Path(name))
        yield from memory(port, Path(name))


def streams(port: int, folder: Path, rounds: int = 3) -> Iterator[Row]:
    """128 calls in a second, each a stream of 25 chunks 50 ms apart, by the engine and by raw asyncio, in turns.

    Times count from the intended start. A chunk's delay runs from its making in the server to the reader's stamp.
    """
    engine_calls: list[LoadCall] = []
    our_delays: list[float] = []
    raw_ttft: list[float] = []
    raw_delays: list[float] = []
    engine = LoadEngine(
        LoadTarget.http(f"http://127.0.0.1:{port}{_PACED}"), folder=folder, timeout_s=60, keep_arrivals=True
    )
    for turn in range(rounds):
        calls = [
            OfferedCall(index=n, session_id=f"engine-{turn}-{n}", body=_BODY, at_s=n / _STREAMS)
            for n in range(_STREAMS)
        ]
        step = engine.run(calls, step=f"streams{turn}")
        engine_calls += step.calls
        raw = asyncio.run(_raw_streams(port, f"raw-{turn}"))
        written_ns = _made(port)
        for call in step.calls:
            our_delays += _aligned(written_ns[call.session_id], call.arrivals_s)
        for session, (intended_ns, arrivals) in raw.items():
            raw_ttft.append((arrivals[0] - intended_ns) / 1e6)
            raw_delays += _aligned(written_ns[session], [at / 1e9 for at in arrivals])
    ttft = [call.ttft_ms for call in engine_calls if call.ttft_ms is not None]
    lag = [call.lag_ms for call in engine_calls if call.lag_ms is not None]
    made_calls = sum(call.is_complete for call in engine_calls)
    difference_ms = median(ttft) - median(raw_ttft)
    yield Row(
        what=f"{_STREAMS} paced streams: TTFT p50 by the load engine, beside raw asyncio",
        ours=f"{median(ttft):.2f} ms (schedule lag p50 {median(lag):.2f}, p99 {percentile(lag, 0.99):.2f})",
        reference=f"{median(raw_ttft):.2f} ms",
        compared=f"{difference_ms:+.2f} ms",
        aim="≤ + 1.5 ms",
        met=difference_ms <= 1.5,
        n=len(ttft),
    )
    late, raw_late = percentile(our_delays, 0.99), percentile(raw_delays, 0.99)
    yield Row(
        what="the same: p99 delay of a chunk beside the stream's fastest one",
        ours=f"{late:.2f} ms",
        reference=f"{raw_late:.2f} ms",
        compared=f"{late / raw_late:.2f} x",
        aim="≤ 5 x",
        met=late <= 5 * raw_late,
        n=len(our_delays),
    )
    within = sum(call.sent_s is not None and call.sent_s <= 1.05 for call in engine_calls)
    yield Row(
        what="the same: offered calls that were made, in their second",
        ours=f"{within / rounds:.1f} of {_STREAMS} a second; {made_calls / rounds:.1f} complete",
        aim="all",
        met=within == made_calls == rounds * _STREAMS,
        n=len(engine_calls),
    )


def burst(port: int, folder: Path, calls: int = 6_000, rounds: int = 3) -> Iterator[Row]:
    """Signed calls of 128 sessions, each as fast as it is answered, by the engine and by boto3's threads, in turns."""
    environment = {
        "AWS_ENDPOINT_URL_BEDROCK_AGENTCORE": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "BENCH",
        "AWS_SECRET_ACCESS_KEY": "bench",
    }
    connection = Connection(region="us-east-1", environment=environment)
    engine = LoadEngine(LoadTarget.runtime(_ARN, connection), folder=folder, timeout_s=60)
    rates: list[float] = []
    cpu_ms: list[float] = []
    boto_rates: list[float] = []
    boto_cpu_ms: list[float] = []
    offered = [OfferedCall(index=n, session_id=_session(n), body=_BODY, user=n % _STREAMS) for n in range(calls)]
    for turn in range(rounds):
        step = engine.run(offered, step=f"burst{turn}")
        if not all(call.is_complete for call in step.calls):
            raise RuntimeError(f"calls failed: {next(call for call in step.calls if not call.is_complete)}")
        rates.append(calls / max(call.done_s or 0 for call in step.calls))
        cpu_ms.append(step.cpu_s / calls * 1e3)
        rate, cpu = _boto(Clients(connection), calls // 6)
        boto_rates.append(rate)
        boto_cpu_ms.append(cpu)
    yield Row(
        what=f"burst of {_STREAMS} sessions, signed: calls a second, beside boto3's threads",
        ours=f"{median(rates):,.0f}",
        reference=f"{median(boto_rates):,.0f}",
        compared=f"{median(rates) / median(boto_rates):.1f} x",
        aim="≥ 3.5 x",
        met=median(rates) >= 3.5 * median(boto_rates),
        n=calls * rounds,
    )
    yield Row(
        what="the same: CPU a call",
        ours=f"{median(cpu_ms):.3f} ms",
        reference=f"{median(boto_cpu_ms):.3f} ms",
        compared=f"{median(cpu_ms) / median(boto_cpu_ms):.2f} x",
        aim="≤ 0.5 x",
        met=median(cpu_ms) <= 0.5 * median(boto_cpu_ms),
        n=calls * rounds,
    )


def memory(port: int, folder: Path) -> Iterator[Row]:
    """The largest resident set of a process of the engine over many calls, beside a tenth of them."""
    most = int(os.environ.get("LOOM_BENCH_LOAD_CALLS", "100000"))
    engine = LoadEngine(LoadTarget.http(f"http://127.0.0.1:{port}/echo"), folder=folder, timeout_s=60)
    used: list[float] = []
    for count in (most // 10, most):
        offered = [OfferedCall(index=n, session_id=_session(n), body=_BODY, user=n % _STREAMS) for n in range(count)]
        used.append(engine.run(offered, step=f"memory{count}").rss_mb)
    yield Row(
        what=f"memory of a process over {most:,} calls, beside {most // 10:,}",
        ours=f"{used[1]:.1f} MB",
        reference=f"{used[0]:.1f} MB",
        compared=f"{used[1] - used[0]:+.1f} MB",
        aim="≤ + 10 MB",
        met=used[1] - used[0] <= 10,
        n=most,
    )


@contextmanager
def load_server() -> Iterator[int]:
    """Run the server of known answers in a process of its own; yield its port."""
    server = subprocess.Popen([sys.executable, str(_SERVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdin is not None
    assert server.stdout is not None
    yield int(server.stdout.readline())
    server.stdin.close()
    server.wait()
    server.stdout.close()


def _session(number: int) -> str:
    return f"benchmark-session-of-the-load-engine-{number % _STREAMS}"


def _made(port: int) -> dict[str, list[int]]:
    """When the server wrote each chunk (`time.perf_counter_ns`), by session."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/made") as answer:
        return json.load(answer)


def _aligned(written_ns: Sequence[int], arrivals: Sequence[float]) -> list[float]:
    """Each chunk's delay in ms beyond the fastest of its stream; chunks that came together count as the last one."""
    delays = [at * 1e3 - chunk_ns / 1e6 for at, chunk_ns in zip(arrivals, written_ns[-len(arrivals) :], strict=True)]
    return [delay - min(delays) for delay in delays]


async def _raw_streams(port: int, name: str) -> dict[str, tuple[int, list[int]]]:
    """The same streams by asyncio's protocols and nothing else: session, intended start, time of each read."""
    loop = asyncio.get_running_loop()
    begun_ns = time.perf_counter_ns() + 20_000_000
    streams: dict[str, tuple[int, list[int]]] = {}

    async def one(number: int) -> None:
        intended_ns = begun_ns + number * 1_000_000_000 // _STREAMS
        session = f"{name}-{number}"
        request = f"POST {_PACED} HTTP/1.1\r\nHost: x\r\n{_SESSION}: {session}\r\nContent-Length: 0\r\n\r\n".encode()
        await asyncio.sleep((intended_ns - time.perf_counter_ns()) / 1e9)
        closed = loop.create_future()
        streams[session] = (intended_ns, arrivals := [])
        transport, _ = await loop.create_connection(lambda: _Raw(arrivals, closed), "127.0.0.1", port)
        transport.write(request)
        await closed
        transport.close()

    await asyncio.gather(*(one(number) for number in range(_STREAMS)))
    return streams


class _Raw(asyncio.Protocol):
    def __init__(self, arrivals: list[int], done: asyncio.Future[None]) -> None:
        self._arrivals, self._done = arrivals, done

    def data_received(self, data: bytes) -> None:
        self._arrivals.append(time.perf_counter_ns())
        if data.endswith(b"0\r\n\r\n"):
            self._done.set_result(None)


def _boto(clients: Clients, calls: int) -> tuple[float, float]:
    """Calls a second and CPU ms a call of boto3 with one thread for each session."""
    client = clients.data()

    def call(number: int) -> None:
        answer = client.invoke_agent_runtime(agentRuntimeArn=_ARN, runtimeSessionId=_session(number), payload=_BODY)
        answer["response"].read()

    with ThreadPoolExecutor(_STREAMS) as pool:
        list(pool.map(call, range(_STREAMS)))
        cpu_s, begun_s = time.process_time(), time.perf_counter()
        list(pool.map(call, range(calls)))
        figures = calls / (time.perf_counter() - begun_s), (time.process_time() - cpu_s) / calls * 1e3
    clients.close()
    return figures
