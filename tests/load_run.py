"""Runs the load step of the test that kills it, as a script: `load_run.py PORT FOLDER STEP`."""

from __future__ import annotations

import sys
from pathlib import Path

from loomlib.latency.load.calls import OfferedCall
from loomlib.latency.load.engine import LoadEngine, LoadTarget

CALLS = 2_400


def offered(step: str) -> list[OfferedCall]:
    """Half of the calls at their times, half by users one after another."""
    return [
        OfferedCall(
            index=index,
            session_id=f"{step}-{index:05d}-of-the-load-engines-test",
            body=b'{"prompt": "x"}',
            at_s=index / 1_000 if index % 2 else None,
            user=None if index % 2 else index // 2 % 8,
            think_s=0.0 if index % 2 else 0.012,
        )
        for index in range(CALLS)
    ]


def engine(port: int, folder: Path) -> LoadEngine:
    """The engine, with two processes on any machine."""
    return LoadEngine(LoadTarget.http(f"http://127.0.0.1:{port}/echo"), processes=2, folder=folder, timeout_s=30)


if __name__ == "__main__":
    run = engine(int(sys.argv[1]), Path(sys.argv[2]))
    calls = offered(sys.argv[3])
    print("begins", flush=True)
    run.run(calls, step=sys.argv[3])
