"""What the store's small transactions cost on PostgreSQL, beside the same ones on SQLite.

The server is Debian's, on loopback, with the settings of the tests: no write waits for a disk, so what is compared is
the way to the server. Most of it is round trips: a transaction begins, names its tenant, and ends.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Final

from loomlib.store import Store

from .table import Row, ms

_TESTS: Final = str(Path(__file__).parents[1])
_REPEATS: Final = 60


def rows() -> Iterator[Row]:
    """Small writes and reads, alternately on both databases."""
    sys.path.insert(0, _TESTS)
    from postgresql_server import MISSING, PostgresqlServer, find_programs  # the tests' own

    if (programs := find_programs()) is None:
        yield Row(what="the store on PostgreSQL", ours=MISSING)
        return
    with (
        tempfile.TemporaryDirectory(prefix="loom-bench-") as folder,
        closing(PostgresqlServer(programs)) as server,
        Store.open(server.url(server.create())) as postgresql,
        Store.open(f"sqlite:///{folder}/loom.db") as sqlite,
    ):
        works = [_works(store) for store in (postgresql, sqlite)]
        for name in works[0]:
            yield _compared(name, works[0][name], works[1][name])


def _works(store: Store) -> dict[str, Callable[[], object]]:
    agent = store.agents.upsert(scope="local", arn="a", runtime_id="r", region="us-east-1", account_id="1")
    ids: list[int] = []

    def begin() -> None:
        ids.append(store.invocations.begin(agent_id=agent.id, session_id="s", prompt="What is 2 + 2?"))

    def finish() -> None:
        store.invocations.finish(
            ids[-1], status="complete", response="4" * 500, client_done_time=1.0, client_duration_ms=1.0
        )

    return {
        "store an invocation before it is sent": begin,
        "store its answer": finish,
        "read it": lambda: store.invocations.get(ids[-1]),
        "list 20": lambda: store.invocations.list(limit=20),
    }


def _compared(operation: str, postgresql: Callable[[], object], sqlite: Callable[[], object]) -> Row:
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(_REPEATS + 3):
        for work, measured in zip((postgresql, sqlite), times, strict=True):
            began = time.perf_counter()
            work()
            if number >= 3:  # the first ones prepare their statements
                measured.append((time.perf_counter() - began) * 1e3)
    ratio = median(times[0]) / median(times[1])
    return Row(
        what=f"PostgreSQL: {operation}", ours=ms(times[0]), reference=f"SQLite {ms(times[1])}",
        compared=f"{ratio:.1f} ×", n=_REPEATS,
    )  # fmt: skip
