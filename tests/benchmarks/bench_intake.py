"""The intake of telemetry: whether an agent's caller feels it, and how fast a trace is found among a million spans."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from loomlib import local
from loomlib.aws import Clients, Connection
from loomlib.local.otlp.records import SPANS_GROUP, SPANS_STREAM, Record
from loomlib.local.otlp.store import TelemetryWriter

from .laboratory import Laboratory, new_session
from .raw import Caller, signed_request
from .table import Row, ms, percentile

_SPANS_PER_S, _SENT_PER_S = 5_000, 5_200
_BLOCK_S, _PAUSE_S = 5.0, 0.05
_BODY = {"prompt": "hello"}
_STORED, _BATCH = 1_000_000, 7_000


def intake(laboratory: Laboratory, blocks: int = 4) -> Iterator[Row]:
    """A warm call every 50 ms, in blocks of five seconds with and without 5,000 spans a second beside it."""
    session = new_session()
    caller = Caller(laboratory.state.port)
    caller.ask(signed_request(laboratory.signed("bare", session, _BODY)))
    command = [sys.executable, "-m", "tests.benchmarks.span_sender"]
    arguments = [str(laboratory.state.port), laboratory.state.token, str(_SENT_PER_S)]
    quiet: list[float] = []
    beside: list[float] = []
    stored, took_s, answers_ms = 0, 0.0, list[float]()
    with subprocess.Popen([*command, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as sender:
        assert sender.stdin is not None
        assert sender.stdout is not None
        assert sender.stdout.readline() == "ready\n"
        for _ in range(blocks):
            quiet += _paced(laboratory, caller, session)
            print(f"go {_BLOCK_S}", file=sender.stdin, flush=True)
            beside += _paced(laboratory, caller, session)
            figures = json.loads(sender.stdout.readline())
            stored, took_s = stored + figures["stored"], took_s + figures["took_s"]
            answers_ms += figures["took_ms"]
        sender.stdin.close()
    caller.close()
    laboratory.end_session("bare", session)
    added = median(beside) - median(quiet)
    rate = stored / took_s
    yield Row(
        what="spans stored a second, 500 a request",
        ours=f"{rate:,.0f}",
        reference=f"answer {ms(answers_ms)}",
        aim="≥ 5,000",
        met=rate >= _SPANS_PER_S,
        n=stored,
    )
    yield Row(
        what="a paced warm call beside that, and without",
        ours=ms(beside),
        reference=ms(quiet),
        compared=f"{added:+.2f} ms",
        aim="≤ + 2 ms",
        met=added <= 2,
        n=len(beside),
    )
    yield Row(
        what="the same, 95th percentile",
        ours=f"{percentile(beside, 0.95):.2f} ms",
        reference=f"{percentile(quiet, 0.95):.2f} ms",
        n=len(beside),
    )


def lookup(n: int = 60) -> Iterator[Row]:
    """One trace of seven spans among a million stored ones, by FilterLogEvents through boto3."""
    with tempfile.TemporaryDirectory(prefix="loom-bench-") as folder:
        home = Path(folder) / "home"
        home.mkdir()
        traces = _fill(home)
        state, _ = local.start(home, persistent=True)
        try:
            logs = Clients(Connection(region=state.region, environment=state.environment())).logs()
            lookups_ms: list[float] = []
            baseline_ms: list[float] = []
            for trace in traces[:: max(1, len(traces) // n)]:
                begun = time.perf_counter()
                events = logs.filter_log_events(logGroupName=SPANS_GROUP, filterPattern=f'"{trace}"')["events"]
                lookups_ms.append((time.perf_counter() - begun) * 1e3)
                if len(events) != 7:
                    raise RuntimeError(f"{len(events)} spans of {trace} were found")
                begun = time.perf_counter()
                logs.describe_log_groups(limit=1)
                baseline_ms.append((time.perf_counter() - begun) * 1e3)
            yield Row(
                what=f"a trace among {_STORED:,} stored spans, beside DescribeLogGroups",
                ours=ms(lookups_ms),
                reference=ms(baseline_ms),
                compared=f"p95 {percentile(lookups_ms, 0.95):.1f} ms",
                aim="≤ 30 ms",
                met=median(lookups_ms) <= 30,
                n=len(lookups_ms),
            )
        finally:
            local.stop(home)


def _paced(laboratory: Laboratory, caller: Caller, session: str) -> list[float]:
    latencies_ms: list[float] = []
    end = time.perf_counter() + _BLOCK_S
    due = time.perf_counter()
    while due < end:
        request = signed_request(laboratory.signed("bare", session, _BODY))
        time.sleep(max(0.0, due - time.perf_counter()))
        latencies_ms.append(caller.ask(request).first_ms)
        due += _PAUSE_S
    return latencies_ms


def _fill(home: Path) -> list[str]:
    """A million spans of some 800 bytes; the ids of their traces."""
    writer = TelemetryWriter(home)
    traces: list[str] = []
    now_ms = int(time.time() * 1000)
    filling = "x" * 600
    for begin in range(0, _STORED, _BATCH):
        records: list[Record] = []
        for number in range(begin, min(begin + _BATCH, _STORED)):
            if number % 7 == 0:
                traces.append(secrets.token_hex(16))
            message = json.dumps({"traceId": traces[-1], "spanId": f"{number:016x}", "attributes": {"a": filling}})
            place = (SPANS_GROUP, SPANS_STREAM, now_ms - (_STORED - number))
            records.append(Record(*place, traces[-1], f"session-of-{traces[-1]}", (), message, None))
        writer.write(records, now_ms)
    writer.close()
    return traces
