"""Streams: whether chunks arrive one by one and on time, and what each reader takes for the first byte's time."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Iterator, Sequence
from statistics import median

from loomlib.agents import Invoker
from loomlib.aws import shared_engine
from loomlib.aws.transport import stream_invocation
from loomlib.store import Store

from .laboratory import Laboratory, new_session
from .raw import Caller, ask_async, plain_request, signed_request
from .table import Row, ms, percentile

_CHUNKS = 60
_PACED = {"chunks": _CHUNKS, "pause_s": 0.010}
_MADE = re.compile(rb"at (\d{20}) ns")
Arrivals = Sequence[tuple[int, bytes]]


def arrivals(laboratory: Laboratory, n: int = 15) -> Iterator[Row]:
    """Loom's transport through the service beside a bare socket on the agent's process, in turns.

    A chunk's delay runs from its making in the agent to the reader's stamp; both read the same monotonic clock.
    """
    session = new_session()
    opening = Caller(laboratory.state.port)
    opening.ask(signed_request(laboratory.signed("paced", session, {"chunks": 1, "pause_s": 0})))
    port = laboratory.session_port(session)
    direct = Caller(port)
    plain = plain_request(port, session, json.dumps(_PACED).encode())
    loom: list[Arrivals] = []
    bare: list[Arrivals] = []
    served: list[Arrivals] = []
    for _ in range(n):
        loom.append(_by_loom(laboratory, session))
        bare.append(direct.ask(plain).arrivals)
        served.append(opening.ask(signed_request(laboratory.signed("paced", session, _PACED))).arrivals)
    direct.close()
    opening.close()
    laboratory.end_session("paced", session)
    alone, alone_bare = _singly(loom), _singly(bare)
    yield Row(
        what=f"{_CHUNKS} chunks 10 ms apart: share arriving singly, beside a bare socket",
        ours=f"{alone:.1%}",
        reference=f"{alone_bare:.1%}",
        compared=f"{(alone - alone_bare) * 100:+.1f} points",
        aim="≥ 98 %",
        met=alone >= 0.98,
        n=n * _CHUNKS,
    )
    loom_ms, bare_ms = _delays_ms(loom), _delays_ms(bare)
    added = percentile(loom_ms, 0.99) - percentile(bare_ms, 0.99)
    yield Row(
        what="the same: p99 delay by Loom, beside a bare socket on the agent",
        ours=f"{percentile(loom_ms, 0.99):.2f} ms (p50 {median(loom_ms):.2f})",
        reference=f"{percentile(bare_ms, 0.99):.2f} ms (p50 {median(bare_ms):.2f})",
        compared=f"{added:+.2f} ms",
        aim="≤ + 3 ms",
        met=added <= 3,
        n=n * _CHUNKS,
    )
    service_ms = _delays_ms(served)
    yield Row(
        what="the same: p99 delay of a bare socket on the service",
        ours=f"{percentile(service_ms, 0.99):.2f} ms (p50 {median(service_ms):.2f})",
        reference=f"{percentile(bare_ms, 0.99):.2f} ms (p50 {median(bare_ms):.2f})",
        compared=f"+ {percentile(service_ms, 0.99) - percentile(bare_ms, 0.99):.2f} ms",
        n=n * _CHUNKS,
    )


def first_bytes(laboratory: Laboratory, n: int = 20) -> Iterator[Row]:
    """TTFT of one paced stream by an `Invoker` with its store, a raw asyncio reader and boto3's own, in turns."""
    session = new_session()
    with Store.open(f"sqlite:///{laboratory.folder}/bench.db") as store:
        arn = laboratory.arns["paced"]
        row = store.agents.upsert(
            scope="local", arn=arn, runtime_id="paced", region=laboratory.state.region, account_id="1", name="paced"
        )
        agent = laboratory.entry("paced", row.id)
        invoker = Invoker(store, laboratory.clients)
        loom: list[float] = []
        raw: list[float] = []
        boto: list[float] = []
        for turn in range(n + 1):
            record = invoker.invoke(agent, payload=_PACED, session_id=session)
            request = signed_request(laboratory.signed("paced", session, _PACED))
            response = asyncio.run(ask_async(laboratory.state.port, request))
            by_boto = _by_boto(laboratory, session)
            if not record.ok or record.ttft_ms is None:
                raise RuntimeError(f"the invocation failed: {record.error_message}")
            if turn:  # the first opened the session
                loom.append(record.ttft_ms)
                raw.append(response.first_ms)
                boto.append(by_boto)
        invoker.close()
    laboratory.end_session("paced", session)
    apart = median(loom) - median(raw)
    yield Row(
        what="TTFT by Loom, beside a raw asyncio reader",
        ours=ms(loom),
        reference=ms(raw),
        compared=f"{apart:+.2f} ms",
        aim="± 2 ms",
        met=abs(apart) <= 2,
        n=n,
    )
    yield Row(
        what="TTFT by boto3's iter_lines(), beside a raw asyncio reader",
        ours=ms(boto),
        reference=ms(raw),
        compared=f"{median(boto) - median(raw):+.2f} ms",
        n=n,
    )


def _by_loom(laboratory: Laboratory, session: str) -> Arrivals:
    async def listen() -> Arrivals:
        request = laboratory.signed("paced", session, _PACED)
        async with stream_invocation(shared_engine(), request, read_timeout_s=30) as answer:
            return [(arrival.at_ns, arrival.data) async for arrival in answer.arrivals()]

    return shared_engine().submit(listen()).result(60)


def _by_boto(laboratory: Laboratory, session: str) -> float:
    client = laboratory.clients.data()
    start = time.perf_counter()
    answer = client.invoke_agent_runtime(
        agentRuntimeArn=laboratory.arns["paced"], runtimeSessionId=session, payload=json.dumps(_PACED).encode()
    )
    lines = answer["response"].iter_lines()
    next(lines)
    elapsed_ms = (time.perf_counter() - start) * 1e3
    for _ in lines:
        continue
    return elapsed_ms


def _singly(streams: Sequence[Arrivals]) -> float:
    chunk_counts = [len(_MADE.findall(data)) for stream in streams for _, data in stream]
    return sum(count == 1 for count in chunk_counts) / (len(streams) * _CHUNKS)


def _delays_ms(streams: Sequence[Arrivals]) -> list[float]:
    return [
        (at - int(written_ns)) / 1e6 for stream in streams for at, data in stream for written_ns in _MADE.findall(data)
    ]
