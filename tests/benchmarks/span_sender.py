"""`python -m tests.benchmarks.span_sender PORT KEY SPANS_PER_S`: a process that exports spans while it is told to.

A line `go SECONDS` on standard input makes it send for that long; it answers with a JSON line of what it did.
"""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

from .spans import export_request

_BATCH = 500
_PREPARED = 60


def main(port: int, key: str, spans_per_s: int) -> None:
    """Send batches of 500 at an even pace over two connections, as two agents would."""
    bodies = [export_request(_BATCH, group="/aws/bedrock-agentcore/runtimes/bench-DEFAULT") for _ in range(_PREPARED)]
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
    own = threading.local()

    def send(body: bytes) -> tuple[int, float]:
        if not hasattr(own, "connection"):
            own.connection = http.client.HTTPConnection("127.0.0.1", port)
        start = time.perf_counter()
        own.connection.request("POST", "/otlp/v1/traces", body, headers)
        answer = own.connection.getresponse()
        answer.read()
        return answer.status, (time.perf_counter() - start) * 1e3

    pause_s = _BATCH / spans_per_s
    print("ready", flush=True)
    with ThreadPoolExecutor(2) as pool:
        for line in sys.stdin:
            begin = time.perf_counter()
            futures: list[Future[tuple[int, float]]] = []
            for number in range(int(float(line.split()[1]) / pause_s)):
                time.sleep(max(0.0, begin + number * pause_s - time.perf_counter()))
                futures.append(pool.submit(send, bodies[number % _PREPARED]))
            answers = [future.result() for future in futures]
            took_s = time.perf_counter() - begin
            stored = _BATCH * sum(status == 200 for status, _ in answers)
            took_ms = [answer_ms for _, answer_ms in answers]
            print(json.dumps({"stored": stored, "took_s": took_s, "took_ms": took_ms}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
