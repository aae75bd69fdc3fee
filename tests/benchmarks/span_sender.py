"""`python -m tests.benchmarks.span_sender PORT KEY SPANS_PER_S`: a process that exports spans while it is told to.

A line `go SECONDS` on standard input makes it send for that long; it answers with a JSON line of what it did.
"""

from __future__ import annotations

import http.client
import json
import sys
import time

from .spans import export_request

_BATCH = 500
_PREPARED = 60


def main(port: int, key: str, spans_per_s: int) -> None:
    """Send batches of 500 at an even pace, whatever the answers take, one after the other."""
    bodies = [export_request(_BATCH, group="/aws/bedrock-agentcore/runtimes/bench-DEFAULT") for _ in range(_PREPARED)]
    connection = http.client.HTTPConnection("127.0.0.1", port)
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
    pause_s = _BATCH / spans_per_s
    print("ready", flush=True)
    number = 0
    for line in sys.stdin:
        begin = time.perf_counter()
        end = begin + float(line.split()[1])
        stored = refused = 0
        took_ms: list[float] = []
        due = begin
        while due < end:
            time.sleep(max(0.0, due - time.perf_counter()))
            asked = time.perf_counter()
            connection.request("POST", "/otlp/v1/traces", bodies[number % _PREPARED], headers)
            answer = connection.getresponse()
            answer.read()
            took_ms.append((time.perf_counter() - asked) * 1e3)
            stored += _BATCH * (answer.status == 200)
            refused += answer.status != 200
            number += 1
            due += pause_s
        took_s = max(time.perf_counter() - begin, end - begin)
        print(json.dumps({"stored": stored, "refused": refused, "took_s": took_s, "took_ms": took_ms}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
