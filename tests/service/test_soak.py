"""Many sessions one after another: no process, descriptor or folder is left; threads, memory and disk stay bounded."""

from __future__ import annotations

import contextlib
import itertools
import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from waiting import wait_until

from loomlib import local

Start = Callable[..., Any]
AT_ONCE = 4
POOL_THREADS = min(32, (os.cpu_count() or 1) + 4)
"""Threads of the event loop's executor (asyncio's default), which starts each when it is first needed."""
GROWTH = 1.10
"""Memory and disk of the service after all sessions, divided by those after half, each time without log lines."""


def descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def children(pid: int) -> list[int]:
    pids: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        pids += [int(child) for child in (task / "children").read_text().split()]
    return pids


def threads(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def rows(database: Path, query: str) -> tuple[int, ...]:
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        return connection.execute(query).fetchone()


def stored_bytes(file: Path) -> int:
    """Return a file's size; of a database, the pages in use: it keeps free pages and its write-ahead log for later."""
    if file.suffix in (".db", ".sqlite"):
        return rows(
            file,
            "SELECT (page_count - freelist_count) * page_size "
            "FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
        )[0]
    return 0 if file.name.endswith(("-wal", "-shm")) else file.stat().st_size


def disk(home: Path, size: Callable[[Path], int]) -> dict[str, int]:
    """Return the bytes of each file and folder of a home folder, but for the service's own log."""
    return {
        entry.name: sum(size(file) for file in (entry, *entry.rglob("*")) if file.is_file())
        for entry in home.iterdir()
        if entry.name != "service.log"
    }


@pytest.mark.parametrize("sessions", [pytest.param(count, marks=pytest.mark.long) for count in (300, 10_000)])
@pytest.mark.timeout(14_400)
def test_after_many_sessions_nothing_is_left(start_service: Start, sessions: int) -> None:
    aws = start_service()
    home, pid = aws.state.home, aws.state.pid
    arn = aws.deploy("soak")["agentRuntimeArn"]
    numbers = itertools.count()

    def one(number: int) -> None:
        session = f"soak-{number:06}-".ljust(40, "x")
        _, body = aws.invoke(arn, runtimeSessionId=session)
        assert b'"prompt": "hi"' in body
        aws.data.stop_runtime_session(agentRuntimeArn=arn, runtimeSessionId=session)

    def lines_left() -> int:
        """Delete every log group: up to 256 MiB of lines are kept on purpose, and the last ones come a moment late."""
        logs = aws.client("logs")
        for page in logs.get_paginator("describe_log_groups").paginate():
            for group in page["logGroups"]:
                logs.delete_log_group(logGroupName=group["logGroupName"])
        return rows(home / "logs.db", "SELECT count(*) FROM lines")[0]

    def run(count: int) -> dict[str, float]:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(one, itertools.islice(numbers, count)))
        wait_until(lambda: not local.status(home).sessions, "the end of every session")
        wait_until(lambda: not lines_left(), "the removal of every log line", pause_s=0.5)
        return {
            "descriptors": descriptors(pid),
            "processes": len(children(pid)),
            "threads": threads(pid),
            "folders": len(list((home / "sessions").iterdir())) if (home / "sessions").exists() else 0,
            "rss_mb": local.status(home).rss_bytes / 2**20,
            "disk_mb": sum(disk(home, stored_bytes).values()) / 2**20,
        }

    first = run(sessions // 2)
    second = run(sessions - sessions // 2)
    print(f"{sessions} sessions: after half {first}, after all {second}")
    print(f"in use {disk(home, stored_bytes)}, of files {disk(home, lambda file: file.stat().st_size)}")
    assert second["processes"] <= first["processes"]
    assert second["descriptors"] <= first["descriptors"]
    assert second["threads"] <= first["threads"] + POOL_THREADS
    assert second["folders"] <= first["folders"]
    assert second["rss_mb"] <= first["rss_mb"] * GROWTH
    assert second["disk_mb"] <= first["disk_mb"] * GROWTH
    local.stop(home)
    assert local.find(home) is None
