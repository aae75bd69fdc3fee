"""A large deploy beside a paced warm call: whether the caller feels it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

from .laboratory import Laboratory, new_session
from .raw import Caller, signed_request
from .table import Row, percentile

_MEGABYTES = 50
_PAUSE_S = 0.02
_QUIET_S = 6.0
_BODY = {"prompt": "hello"}


def deploy(laboratory: Laboratory, rounds: int = 3) -> Iterator[Row]:
    """A warm call every 20 ms, quiet and while 50 MB are uploaded, extracted and compiled."""
    session = new_session()
    caller = Caller(laboratory.state.port)
    caller.ask(signed_request(laboratory.signed("bare", session, _BODY)))
    quiet: list[float] = []
    beside: list[float] = []
    took_s: list[float] = []
    command = [sys.executable, "-m", "tests.benchmarks.deployer", str(laboratory.home), str(_MEGABYTES)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as deployer:
        assert deployer.stdin is not None
        assert deployer.stdout is not None
        assert deployer.stdout.readline() == "ready\n"
        for _ in range(rounds):
            quiet += _paced(laboratory, caller, session, until=time.perf_counter() + _QUIET_S)
            print("go", file=deployer.stdin, flush=True)
            ended: list[str] = []
            waiting = threading.Thread(target=lambda: ended.append(deployer.stdout.readline()))  # noqa: B023
            waiting.start()
            beside += _paced(laboratory, caller, session, ended=ended)
            waiting.join()
            figures = json.loads(ended[0])
            if figures["status"] != "READY":
                raise RuntimeError(f"the package could not be deployed: {figures}")
            took_s.append(figures["took_s"])
        deployer.stdin.close()
    caller.close()
    laboratory.end_session("bare", session)
    added = percentile(beside, 0.99) - percentile(quiet, 0.99)
    yield Row(
        what=f"a paced warm call during a deploy of {_MEGABYTES} MB, and without: 99th percentile",
        ours=f"{percentile(beside, 0.99):.1f} ms",
        reference=f"{percentile(quiet, 0.99):.1f} ms",
        compared=f"{added:+.1f} ms (median {percentile(beside, 0.5):.1f} and {percentile(quiet, 0.5):.1f} ms)",
        aim="≤ + 30 ms",
        met=added <= 30,
        n=len(beside),
    )
    yield Row(
        what=f"a deploy of {_MEGABYTES} MB",
        ours=f"{min(took_s):.1f}–{max(took_s):.1f} s",
        reference=f"slowest call {max(beside):.0f} ms",
        n=rounds,
    )


def _paced(
    laboratory: Laboratory, caller: Caller, session: str, *, until: float = float("inf"), ended: list[str] | None = None
) -> list[float]:
    latencies_ms: list[float] = []
    due = time.perf_counter()
    while not ended and due < until:
        request = signed_request(laboratory.signed("bare", session, _BODY))
        time.sleep(max(0.0, due - time.perf_counter()))
        latencies_ms.append(caller.ask(request).first_ms)
        due = max(due + _PAUSE_S, time.perf_counter())
    return latencies_ms
