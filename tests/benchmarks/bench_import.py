"""What `import loomlib` costs, and what opening the store does."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from .table import Row, ms

_CPU = "import time; t = time.process_time(); {}; print(time.process_time() - t)"
HEAVY = ("boto3", "botocore", "pandas", "plotly", "sqlalchemy", "alembic", "pluggy", "aiohttp")


def rows(n: int = 15) -> Iterator[Row]:
    loom_ms: list[float] = []
    boto_ms: list[float] = []
    for _ in range(n):
        loom_ms.append(_cpu_ms("import loomlib"))
        boto_ms.append(_cpu_ms("import boto3"))
    yield Row(
        what="import loomlib, CPU (beside import boto3)",
        ours=ms(loom_ms),
        reference=ms(boto_ms),
        compared=f"× {median(loom_ms) / median(boto_ms):.3f}",
        aim="≤ 150 ms",
        met=median(loom_ms) <= 150,
        n=n,
    )
    code = f"import loomlib, sys; print(','.join(name for name in {HEAVY!r} if name in sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    yield Row(what="heavy modules that import loomlib loads", ours=loaded or "none", aim="none", met=not loaded, n=1)
    yield from _store(n)


def _store(n: int) -> Iterator[Row]:
    from loomlib.store import Store

    first: list[float] = []
    again: list[float] = []
    for _ in range(n):
        with tempfile.TemporaryDirectory() as folder:
            for times in (first, again):
                start = time.process_time()
                Store.open(f"sqlite:///{folder}/loom.db").close()
                times.append((time.process_time() - start) * 1e3)
    yield Row(
        what="opening the store at head, CPU (beside creating it)",
        ours=ms(again),
        reference=ms(first),
        compared=f"× {median(again) / median(first):.3f}",
        n=n,
    )
    with tempfile.TemporaryDirectory() as folder, Store.open(f"sqlite:///{Path(folder)}/loom.db") as store:
        agent = store.agents.upsert(scope="local", arn="a", runtime_id="r", region="us-east-1", account_id="1")
        times_ms: list[float] = []
        for _ in range(300):
            start = time.perf_counter()
            id = store.invocations.begin(agent_id=agent.id, session_id="s" * 36, prompt="2+2?")
            store.invocations.finish(
                id, status="complete", response="4" * 200, client_done_time=1.0, client_duration_ms=1.0
            )
            times_ms.append((time.perf_counter() - start) * 1e3)
    yield Row(
        what="storing an invocation: begin and finish",
        ours=ms(times_ms),
        aim="≤ 2 ms",
        met=median(times_ms) <= 2,
        n=300,
    )


def _cpu_ms(statement: str) -> float:
    process = subprocess.run([sys.executable, "-c", _CPU.format(statement)], capture_output=True, text=True, check=True)
    return float(process.stdout) * 1e3
