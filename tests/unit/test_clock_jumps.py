"""A machine whose time is set forwards or backwards: timers and leases hold."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from waiting import eventually

from loomlib.errors import StoreError
from loomlib.local.sessions.clocks import SessionClocks
from loomlib.local.sessions.health import Health
from loomlib.store import Store, StudyRow


@pytest.mark.parametrize("jump_s", [-86_400.0, 86_400.0])
async def test_a_session_ends_after_its_idle_timeout_wherever_the_time_is_set_to(jump_s: float) -> None:
    unix_time = [time.time()]
    changed_at = unix_time[0]
    ends: list[str] = []

    async def ask() -> Health:
        return Health(status=200, changed_at=changed_at)

    async def end(reason: str) -> None:
        ends.append(reason)

    clocks = SessionClocks(idle_timeout_s=0.2, max_lifetime_s=3_600, ask=ask, end=end, unix_time=lambda: unix_time[0])
    try:
        clocks.resume()
        unix_time[0] += jump_s
        await eventually(lambda: ends, "the end of the idle session")
    finally:
        clocks.stop()
    assert ends == ["The session was idle for 0.2 s"]


@pytest.mark.parametrize("changed_at", [float("inf"), float("nan"), 1e300])
async def test_an_agent_that_reports_an_impossible_time_does_not_keep_its_session(changed_at: float) -> None:
    ends: list[str] = []

    async def ask() -> Health:
        return Health(status=200, changed_at=changed_at)

    async def end(reason: str) -> None:
        ends.append(reason)

    clocks = SessionClocks(idle_timeout_s=0.2, max_lifetime_s=3_600, ask=ask, end=end)
    try:
        clocks.resume()
        await eventually(lambda: ends, "the end of the idle session")
    finally:
        clocks.stop()


async def test_an_invocation_stops_the_idle_timer() -> None:
    ends: list[str] = []

    async def ask() -> None:
        return None

    async def end(reason: str) -> None:
        ends.append(reason)

    clocks = SessionClocks(idle_timeout_s=0.05, max_lifetime_s=3_600, ask=ask, end=end)
    clocks.resume()
    clocks.pause()
    await asyncio.sleep(0.3)
    clocks.stop()
    assert not ends


HOLDER = """
import sys
from loomlib.store import Store
store = Store.open(sys.argv[1])
store.studies.acquire("study-1", lease_s=-3600.0)
print("held", flush=True)
sys.stdin.read()
"""


def test_a_running_process_keeps_its_lease_when_the_time_is_set_forwards(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/loom.db"
    with Store.open(url) as store:
        store.studies.create(
            StudyRow(id="study-1", scope="local", agent_arn="a", design={}, created_at=datetime.now(UTC))
        )
        # A lease that ended an hour ago by the wall clock, of a process that runs: as after a jump of an hour.
        with subprocess.Popen(
            [sys.executable, "-c", HOLDER, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as holder:
            assert holder.stdout is not None
            assert holder.stdin is not None
            assert holder.stdout.readline() == "held\n"
            with pytest.raises(StoreError, match=f"being run by process {holder.pid}"):
                store.studies.acquire("study-1")
            holder.stdin.close()
        assert store.studies.acquire("study-1").id == "study-1"
