"""What Operate and the traces search cost over a million stored invocations, and what their export needs.

Measured on SQLite and, where its server is installed, on PostgreSQL. The filled SQLite file is kept in the temporary
folder between runs: filling takes minutes. `LOOM_BENCH_HISTORY_ROWS` chooses another size.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

import psycopg
from sqlalchemy import column, create_engine, func, insert, select, table

from loomlib.metrics import Window, latency_bins, read_figures
from loomlib.store import Store
from loomlib.store.call_search import CallFilter, SearchOrder
from loomlib.store.tables import invocations

from .table import Row, ms

sys.path.append(str(Path(__file__).resolve().parent.parent))

from postgresql_server import MISSING, PostgresqlServer, find_programs

DAYS: Final = 90
AGENTS: Final = 20
CALLS_A_SESSION: Final = 5
_DAY_S: Final = 86_400
_BATCH: Final = 20_000
_FAILURES: Final = (("agent_error", 0.6), ("timeout", 0.2), ("throttle", 0.15), ("interrupted", 0.05))


def row_count() -> int:
    """How many invocations the store has."""
    return int(os.environ.get("LOOM_BENCH_HISTORY_ROWS", "1000000"))


def filled_store() -> str:
    """Fill the SQLite store if it is not full yet, and return its address."""
    folder = Path(tempfile.gettempdir()) / f"loom-bench-history-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    url = f"sqlite:///{folder / f'{row_count()}.db'}"
    ids, engine = _agents(url), create_engine(url)
    with engine.connect() as connection:
        count = connection.execute(select(func.count()).select_from(invocations)).scalar_one()
    if count < row_count():
        began = time.monotonic()
        for batch in _batches(ids, count):
            with engine.begin() as connection:
                for name, records in batch.items():
                    # Light tables, without the column types' processing: what they write is prepared here once.
                    connection.execute(insert(table(name, *map(column, records[0]))), records)
        _say_filled(row_count() - count, began)
    engine.dispose()
    return url


@contextmanager
def filled_postgresql(programs: Path) -> Iterator[str]:
    """Start a PostgreSQL server with 256 MB of shared buffers, fill a store in it, and yield the store's address."""
    server = PostgresqlServer(programs, shared_buffers="256MB")
    try:
        name = server.create_migrated()
        ids, began = _agents(server.url(name)), time.monotonic()
        # COPY is refused where rows are isolated by policies, so a superuser fills the tables.
        with psycopg.connect(server.url(name, user="postgres").replace("+psycopg", ""), autocommit=True) as connection:
            for batch in _batches(ids, 0):
                for table_name, records in batch.items():
                    with connection.cursor().copy(f"COPY {table_name} ({', '.join(records[0])}) FROM STDIN") as copy:
                        for row in records:
                            copy.write_row(tuple(row.values()))
            connection.execute("SELECT setval(pg_get_serial_sequence('invocations', 'id'), max(id)) FROM invocations")
            # A server does this by itself, a moment later; SQLite's planner works without statistics.
            connection.execute("VACUUM ANALYZE")
        _say_filled(row_count(), began)
        yield server.url(name)
    finally:
        server.close()


def _say_filled(count: int, began: float) -> None:
    print(f"filled {count} invocations in {time.monotonic() - began:.0f} s", file=sys.stderr)


def _agents(url: str) -> list[int]:
    with Store.open(url) as store:
        return [_agent(store, number) for number in range(AGENTS)]


def _agent(store: Store, number: int) -> int:
    arn = "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime"
    return store.agents.upsert(
        scope="local",
        arn=f"{arn}/agent{number}-AbCdEf1234",
        runtime_id=f"agent{number}-AbCdEf1234",
        region="us-east-1",
        account_id="123456789012",
        name=f"agent{number}",
    ).id


def _batches(ids: list[int], first: int) -> Iterator[dict[str, list[dict[str, Any]]]]:
    """Yield batches of rows by table name, for the invocations from number `first` on."""
    end_s = float(os.environ.get("LOOM_BENCH_HISTORY_END_S", time.time()))
    chance, total = random.Random(first + 1), row_count()
    spans = [zlib.compress(json.dumps(_spans(chance)).encode()) for _ in range(50)]
    for begin in range(first, total, _BATCH):
        calls = [
            _call(chance, ids, number, end_s - DAYS * _DAY_S * (1 - number / total))
            for number in range(begin, min(total, begin + _BATCH))
        ]
        yield {
            "invocations": calls,
            "invocation_costs": [_cost(chance, row) for row in calls if row["failure"] != "throttle"],
            "traces": [_trace(row, spans[row["id"] % 50]) for row in calls if row["id"] % 10],
        }


def _call(chance: random.Random, ids: list[int], number: int, at: float) -> dict[str, Any]:
    session = number // CALLS_A_SESSION
    # A few agents get most of the calls, as they do in practice.
    agent = ids[min(len(ids) - 1, int(random.Random(session).expovariate(4 / len(ids))))]
    duration, failed = chance.lognormvariate(7, 0.9), chance.random() < 0.02
    failure = chance.choices(*zip(*_FAILURES, strict=True))[0] if failed else None
    cold = number % CALLS_A_SESSION == 0 and not failed
    return {
        "id": number + 1,
        "agent_id": agent,
        "session_id": f"loom-{session:032d}",
        "qualifier": "DEFAULT",
        "client_invoke_time": at,
        "client_done_time": at + duration / 1000,
        "client_duration_ms": duration,
        "cold_start_latency_ms": chance.lognormvariate(5.7, 0.3) if cold else None,
        "start_state": "found" if cold else None,
        "ttft_ms": duration * chance.random(),
        "status": "error" if failed else "complete",
        "failure": failure,
        "error_message": f"the agent failed: {failure}" if failed else None,
        "created_at": datetime.fromtimestamp(at, UTC).replace(tzinfo=None),
        "bytes_received": 500,
        "trace_id": f"{number:032x}",
        "labels": '["local AgentCore"]',
        "chunk_offsets_ms": "[1.0,2.0,3.0]",
        "prompt": f"Question {number}: what is " * 8,
        "response": f"Answer {number}: it is " * 20,
        "writer_host": "bench",
        "writer_pid": 1,
        "writer_born": "",
    }


def _cost(chance: random.Random, row: dict[str, Any]) -> dict[str, Any]:
    return {
        "invocation_id": row["id"],
        "known_picos": int(chance.lognormvariate(21, 0.8)),
        "unknown_items": 0,
        "is_estimate": False,
        "is_simulated": False,
        "currency": "USD",
        "priced_at": row["created_at"],
    }


def _trace(row: dict[str, Any], records: bytes) -> dict[str, Any]:
    return {
        "invocation_id": row["id"],
        "session_id": row["session_id"],
        "trace_id": row["trace_id"],
        "state": "found",
        "is_complete": True,
        "fetched_at": row["created_at"],
        "span_count": 6,
        "details": '{"is_cold":false}',
        "records": records,
    }


def _spans(chance: random.Random) -> list[str]:
    return [
        json.dumps(
            {
                "traceId": f"{chance.getrandbits(128):032x}",
                "spanId": f"{chance.getrandbits(64):016x}",
                "name": name,
                "startTimeUnixNano": chance.getrandbits(60),
                "endTimeUnixNano": chance.getrandbits(60),
                "attributes": {
                    "gen_ai.usage.input_tokens": chance.randrange(5000),
                    "gen_ai.usage.output_tokens": chance.randrange(900),
                    "session.id": f"loom-{chance.getrandbits(64)}",
                },
            }
        )
        for name in ("invoke_agent", "cycle 1", "chat", "execute_tool", "cycle 2", "chat")
    ]


_OPERATE_MS: Final = 150.0
_SEARCH_MS: Final = 300.0
_EXPORT_MB: Final = 600.0
_REPEATS: Final = 7
_EXPORT: Final = """
import resource, sys
from loomlib.store import Store
with Store.open(sys.argv[1]) as store:
    done = store.history.export(sys.argv[2])
print(done.rows["invocations"], done.elapsed_s, done.bytes_written, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def rows() -> Iterator[Row]:
    """The overview of all agents, one agent in detail, searches, and an export in a process of its own."""
    yield from _rows(filled_store(), "SQLite")
    programs = find_programs()
    if programs is None:
        yield Row(what="the same on PostgreSQL", ours=f"not measured: {MISSING}")
        return
    with filled_postgresql(programs) as url:
        yield from _rows(url, "PostgreSQL")


def _rows(url: str, database: str) -> Iterator[Row]:
    with Store.open(url) as store:
        ids = tuple(agent.id for agent in store.agents.list())
        began = time.perf_counter()
        read_figures(store, ids, Window())
        first = (time.perf_counter() - began) * 1000
        count = row_count()
        yield Row(
            what=f"{database}: first overview of {count:_} calls, which may store the days' arrays",
            ours=ms([first]),
            n=1,
        )
        for name, window in _windows().items():
            yield _timed(
                f"{database}: overview of {count:_} calls, {name}",
                _OPERATE_MS,
                partial(read_figures, store, ids, window),
            )
        yield _timed(f"{database}: the busiest agent in detail", _OPERATE_MS, partial(_detail, store, ids[-1]))
        for name, (criteria, order) in _searches(ids).items():
            yield _timed(
                f"{database}: search for {name}",
                _SEARCH_MS,
                partial(store.call_search.find, criteria, order=order, limit=100),
            )
        failed_ids = [call.invocation_id for call in store.call_search.find(CallFilter(failed=True), limit=100)]
        yield _timed(f"{database}: 100 traces from the store", _SEARCH_MS, partial(store.traces.get_many, failed_ids))
    yield _export(url, database)


def _windows() -> dict[str, Window]:
    now = datetime.now(UTC)
    spans = {"30 days": timedelta(days=30), "1 day": timedelta(days=1)}
    return {"all time": Window()} | {name: Window.of(span, now=now) for name, span in spans.items()}


def _searches(ids: Sequence[int]) -> dict[str, tuple[CallFilter, SearchOrder]]:
    return {
        "the newest of all agents": (CallFilter(), "newest"),
        "the newest failures": (CallFilter(failed=True), "newest"),
        "a failure that no call has": (CallFilter(failure="nothing"), "newest"),
        "the slowest": (CallFilter(), "slowest"),
        "rare slow calls of one agent": (CallFilter(agent_ids=(ids[-1],), min_duration_ms=40_000.0), "newest"),
        "time-outs of five agents": (CallFilter(agent_ids=tuple(ids[:5]), failure="timeout"), "newest"),
        "a session": (CallFilter(session_id=f"loom-{5000:032d}"), "newest"),
        "a trace id": (CallFilter(trace_id=f"{row_count() // 2:032x}"), "newest"),
    }


def _detail(store: Store, agent_id: int) -> None:
    read_figures(store, [agent_id], Window())
    latency_bins(store.call_figures.times(agent_id, None, None), Window())
    store.invocations.sessions(agent_id, limit=1_000)


def _timed(subject: str, aim_ms: float, measure: Callable[[], object]) -> Row:
    durations_ms: list[float] = []
    for _ in range(_REPEATS):
        began = time.perf_counter()
        measure()
        durations_ms.append((time.perf_counter() - began) * 1000)
    met = sorted(durations_ms)[_REPEATS // 2] <= aim_ms
    return Row(what=subject, ours=ms(durations_ms), aim=f"≤ {aim_ms:.0f} ms", met=met, n=_REPEATS)


def _export(url: str, database: str) -> Row:
    with tempfile.TemporaryDirectory(prefix="loom-bench-") as folder:
        process = subprocess.run(
            [sys.executable, "-c", _EXPORT, url, folder], check=True, capture_output=True, text=True, timeout=3600
        )
    count, elapsed_s, size, peak_kib = (float(value) for value in process.stdout.split())
    peak_mb = peak_kib * 1024 / 1e6
    return Row(
        what=f"{database}: peak memory of the export of {count:_.0f} calls with their traces",
        ours=f"{peak_mb:.0f} MB",
        compared=f"{elapsed_s:.0f} s, {size / 1e6:.0f} MB of files",
        aim=f"≤ {_EXPORT_MB:.0f} MB",
        met=peak_mb <= _EXPORT_MB,
        n=1,
    )


if __name__ == "__main__":
    print(filled_store())
