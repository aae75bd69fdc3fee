"""Spans parsed, placed and broken down, beside `json.loads` of the same bytes; alone, without the service."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from loomlib.telemetry.traces import Trace, read_spans

from .table import Row

_SAMPLE = Path(__file__).resolve().parents[1] / "data" / "otel" / "adot_otlp_traces.json"
_ID = "CvdlGRbNQ92ESOshHIAxnA=="
_IN_A_TRACE = 7
_LONG = """
import json, resource, sys, time
from loomlib.telemetry.traces import Trace, read_spans
start = time.process_time()
with open(sys.argv[1], "rb") as lines:
    batch = read_spans(lines)
spent = sum(trace.breakdown().total_ns for trace in Trace.each(batch.spans))
taken = time.process_time() - start
try:  # of this program only; ru_maxrss may count what the process was before it
    peak_gb = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1e6
except OSError:
    peak_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e9
start = time.process_time()
with open(sys.argv[1], "rb") as lines:
    for line in lines:
        json.loads(line)
print(json.dumps([len(batch.spans), taken, time.process_time() - start, peak_gb]))
"""


def rows(n: int = 100_000, repeats: int = 3) -> Iterator[Row]:
    for data_format, make in (("OTLP JSON with messages", otlp), ("aws/spans lines", stored), ("bare OTLP JSON", bare)):
        data = make(n)
        loom_s: list[float] = []
        json_s: list[float] = []
        for _ in range(repeats):
            json_s.append(_timed(lambda data=data: _load(data)))
            loom_s.append(_timed(lambda data=data: _break_down(data)))
        ratio = median(loom_s) / median(json_s)
        yield Row(
            what=f"{n:,} spans, {data_format} ({len(data) / n:.0f} bytes each): parsed and broken down, CPU",
            ours=f"{median(loom_s):.2f} s",
            reference=f"json.loads {median(json_s):.2f} s",
            compared=f"× {ratio:.2f}",
            aim="≤ × 4",
            met=ratio <= 4,
            n=repeats,
        )
    yield from _long(n)


def _long(n: int) -> Iterator[Row]:
    """Ten times as many, line by line from a file, each run a process of its own so that its memory is known."""
    loom_s: dict[int, float] = {}
    json_s: dict[int, float] = {}
    for count in (n, 10 * n):
        with tempfile.TemporaryDirectory(prefix="loom-bench-") as folder:
            path = Path(folder, "spans.jsonl")
            path.write_bytes(stored(count))
            process = subprocess.run([sys.executable, "-c", _LONG, path], capture_output=True, text=True, check=True)
        spans, loom_s[count], json_s[count], peak_gb = json.loads(process.stdout)
        growth, json_growth = (seconds[count] / seconds[n] / (count / n) for seconds in (loom_s, json_s))
        yield Row(
            what=f"{spans:,} spans line by line from a file: CPU, peak memory {peak_gb:.2f} GB",
            ours=f"{loom_s[count]:.1f} s",
            reference=f"json.loads {json_s[count]:.1f} s, {json_growth:.2f} of linear",
            compared=f"× {loom_s[count] / json_s[count]:.2f}, {growth:.2f} of linear",
            aim="linear, ≤ 1 GB",
            met=growth <= 1.2 and peak_gb <= 1,
            n=1,
        )


def _timed(run: Any) -> float:
    gc.collect()
    start = time.process_time()
    result = run()
    elapsed_s = time.process_time() - start
    del result
    return elapsed_s


def _load(data: bytes) -> list[Any]:
    lines = data.split(b"\n")
    return [json.loads(line) for line in lines]


def _break_down(data: bytes) -> list[Any]:
    batch = read_spans(data)
    return [trace.breakdown() for trace in Trace.of(batch.spans, batch.log_records)]


def otlp(n: int) -> bytes:
    """Exports as a Strands agent under ADOT sent them, again and again under other trace ids."""
    exports = [{"resourceSpans": export["resourceSpans"]} for export in json.loads(_SAMPLE.read_bytes())]
    texts = [json.dumps(export, separators=(",", ":")) for export in exports]
    documents = (text.replace(_ID, f"{place + 1:032x}") for place in range(n // _IN_A_TRACE) for text in texts)
    return ("[" + ",".join(documents) + "]").encode()


def stored(n: int) -> bytes:
    """The same spans as records of `aws/spans`, which carry no messages."""
    rows = [
        json.dumps(
            {
                "resource": {"attributes": dict(span.resource)},
                "scope": {"name": span.scope},
                "traceId": "TRACE",
                "spanId": span.span_id,
                "parentSpanId": span.parent_id,
                "name": span.name,
                "kind": span.kind.upper(),
                "startTimeUnixNano": span.start_ns,
                "endTimeUnixNano": span.end_ns,
                "durationNano": span.duration_ns,
                "attributes": dict(span.attributes),
                "status": {"code": span.status.upper()},
            }
        )
        for span in read_spans(_SAMPLE.read_bytes()).spans
    ]
    text = "\n".join(rows)
    return "\n".join(text.replace("TRACE", f"{place + 1:032x}") for place in range(n // _IN_A_TRACE)).encode()


def bare(n: int) -> bytes:
    """The least that a span can say: ids, times, its operation and session."""
    operations = [
        "",
        "invoke_agent",
        "execute_event_loop_cycle",
        "chat",
        "execute_tool",
        "execute_event_loop_cycle",
        "chat",
    ]
    parents, starts, ends = [0, 1, 2, 3, 3, 2, 6], [0, 1, 2, 3, 5, 7, 8], [12, 11, 6, 5, 6, 10, 9]
    spans = [
        {
            "traceId": f"{trace + 1:032x}",
            "spanId": f"{place + 1:016x}",
            "parentSpanId": f"{parents[place]:016x}" if place else "",
            "name": operation or "POST /invocations",
            "kind": 1 if operation else 2,
            "startTimeUnixNano": str(10**18 + starts[place] * 10**6),
            "endTimeUnixNano": str(10**18 + ends[place] * 10**6),
            "attributes": [
                {"key": "gen_ai.operation.name", "value": {"stringValue": operation}},
                {"key": "session.id", "value": {"stringValue": "s" * 33}},
            ][0 if operation else 1 :],
            "status": {"code": 1},
        }
        for trace in range(n // _IN_A_TRACE)
        for place, operation in enumerate(operations)
    ]
    export = {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "x"}, "spans": spans}]}]}
    return json.dumps(export, separators=(",", ":")).encode()
