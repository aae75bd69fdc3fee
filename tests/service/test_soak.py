"""Many sessions one after another: no process, no descriptor and no folder is left, and memory stays bounded."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from waiting import wait_until

from loomlib import local

Start = Callable[..., Any]
AT_ONCE = 4
GROWTH = 1.10
"""Memory of the service after all sessions, divided by that after half of them, each time without log lines."""


def descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(child) for child in (task / "children").read_text().split()]
    return found


def threads(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


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

    def run(count: int) -> dict[str, float]:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(one, itertools.islice(numbers, count)))
        wait_until(lambda: not local.status(home).sessions, "the end of every session")
        for page in aws.client("logs").get_paginator("describe_log_groups").paginate():
            for group in page["logGroups"]:  # up to 256 MiB of lines are kept on purpose
                aws.client("logs").delete_log_group(logGroupName=group["logGroupName"])
        return {
            "descriptors": descriptors(pid),
            "processes": len(children(pid)),
            "threads": threads(pid),
            "folders": len(list((home / "sessions").iterdir())) if (home / "sessions").exists() else 0,
            "rss_mb": local.status(home).rss_bytes / 2**20,
        }

    first = run(sessions // 2)
    second = run(sessions - sessions // 2)
    print(f"{sessions} sessions: after half {first}, after all {second}")
    assert second["processes"] <= first["processes"]
    assert second["descriptors"] <= first["descriptors"]
    assert second["threads"] <= first["threads"]
    assert second["folders"] <= first["folders"]
    assert second["rss_mb"] <= first["rss_mb"] * GROWTH
    local.stop(home)
    assert local.find(home) is None
