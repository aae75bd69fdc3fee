"""What an overview costs over 10,000 sessions with 100,000 invocations in the store."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from sqlalchemy import insert

from loomlib.metrics import Window, latency_bins, read_figures
from loomlib.store import Store
from loomlib.store.database import Database
from loomlib.store.tables import invocations

from .table import Row, ms

AGENTS: Final = 10
SESSIONS: Final = 10_000
CALLS: Final = 10
AIM_MS: Final = 500.0
_WEEK_S: Final = 7 * 86_400
_REPEATS: Final = 5


def rows() -> Iterator[Row]:
    """All time, three days, three hours; and one agent's latency over time."""
    with tempfile.TemporaryDirectory(prefix="loom-bench-") as folder:
        url = f"sqlite:///{Path(folder) / 'loom.db'}"
        with Store.open(url) as store:
            ids = _fill(store, url)
            windows = {"all time": Window()} | {
                name: Window.of(span) for name, span in (("3 days", timedelta(days=3)), ("3 hours", timedelta(hours=3)))
            }
            for name, window in windows.items():
                yield _row(f"overview, {name}", lambda window=window: read_figures(store, ids, window))
            yield _row(
                "an agent's latency over time, 10,000 calls",
                lambda: latency_bins(store.figures.calls(ids[0], None, None), Window()),
            )


def _row(name: str, measure: Callable[[], object]) -> Row:
    times_ms: list[float] = []
    for _ in range(_REPEATS):
        began = time.perf_counter()
        measure()
        times_ms.append((time.perf_counter() - began) * 1000)
    return Row(
        what=name,
        ours=ms(times_ms),
        aim=f"≤ {AIM_MS:.0f} ms",
        met=sorted(times_ms)[_REPEATS // 2] <= AIM_MS,
        n=_REPEATS,
    )


def _fill(store: Store, url: str) -> list[int]:
    arn = "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime"
    ids = [
        store.agents.upsert(
            scope="local",
            arn=f"{arn}/agent{number}-AbCdEf1234",
            runtime_id=f"agent{number}-AbCdEf1234",
            region="us-east-1",
            account_id="123456789012",
            name=f"agent{number}",
        ).id
        for number in range(AGENTS)
    ]
    chance, began = random.Random(1), time.time() - _WEEK_S
    rows = [
        _call(chance, ids[session % AGENTS], session, began + session * _WEEK_S / SESSIONS + 3 * call, first=call == 0)
        for session in range(SESSIONS)
        for call in range(CALLS)
    ]
    database = Database(url, lock_timeout_s=30.0)
    try:
        with database.write() as connection:
            connection.execute(insert(invocations), rows)
    finally:
        database.close()
    return ids


def _call(chance: random.Random, agent_id: int, session: int, at: float, *, first: bool) -> dict[str, Any]:
    duration, failed = chance.lognormvariate(5, 1), chance.random() < 0.03
    return {
        "agent_id": agent_id,
        "session_id": f"loom-{session:032d}",
        "qualifier": "DEFAULT",
        "client_invoke_time": at,
        "client_done_time": at + duration / 1000,
        "client_duration_ms": duration,
        "cold_start_latency_ms": chance.lognormvariate(5.7, 0.3) if first and not failed else None,
        "status": "error" if failed else "complete",
        "failure": "agent_error" if failed else None,
        "created_at": datetime.fromtimestamp(at, UTC),
        "bytes_received": 500,
        "labels": ["local AgentCore"],
        "chunk_offsets_ms": [1.0, 2.0, 3.0],
        "prompt": "What is " * 20,
        "response": "The answer is " * 50,
        "writer_host": "bench",
        "writer_pid": 1,
        "writer_born": "",
    }
