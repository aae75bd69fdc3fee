"""A machine whose time is set forwards or backwards: timers and leases hold."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from waiting import eventually

from loomlib.errors import StoreError
from loomlib.local.contract import AgentCall, RuntimeVersion
from loomlib.local.expiry import ExpiryClock
from loomlib.local.sessions.clocks import SessionClocks
from loomlib.local.sessions.health import Health
from loomlib.local.sessions.usage import UsageMeter
from loomlib.store import Store, StudyRow
from loomlib.wall_clock import WallClock


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


class Times:
    """The machine's time and a clock that nothing sets, both as a test wants them."""

    def __init__(self) -> None:
        self.unix_s, self.steady_s = 1_790_000_000.0, 500.0

    def pass_(self, seconds: float, *, set_by_s: float = 0.0) -> None:
        self.unix_s += seconds + set_by_s
        self.steady_s += seconds


@pytest.mark.parametrize("set_by_s", [86_400.0, -86_400.0])
def test_the_age_of_a_call_is_known_whatever_the_time_was_set_to_since(set_by_s: float) -> None:
    times = Times()
    clock = WallClock(lambda: times.unix_s, lambda: times.steady_s)
    before_s = times.unix_s
    assert not clock.was_set
    times.pass_(2, set_by_s=set_by_s)
    assert clock.was_set
    after_s = times.unix_s
    times.pass_(3)
    assert clock.age_s(before_s) == pytest.approx(5)
    assert clock.age_s(after_s) == pytest.approx(3)
    assert clock.age_s(max(before_s, after_s) + 10) < 0


def test_small_corrections_of_the_time_do_not_add_up_to_a_setting() -> None:
    times = Times()
    clock = WallClock(lambda: times.unix_s, lambda: times.steady_s)
    for _ in range(100):
        times.pass_(60, set_by_s=2)
        assert clock.observe() == 0
    assert not clock.was_set


@pytest.mark.parametrize("set_by_s", [20 * 86_400.0, -20 * 86_400.0])
def test_nothing_expires_until_the_time_has_been_stable_for_an_hour(
    set_by_s: float, caplog: pytest.LogCaptureFixture
) -> None:
    times = Times()
    clock = ExpiryClock("telemetry", lambda: times.unix_s, lambda: times.steady_s)
    assert clock() == 0, "the process has just started"
    times.pass_(3_600)
    assert clock() == times.unix_s
    times.pass_(60, set_by_s=set_by_s)
    assert [clock() for _ in range(3)] == [0, 0, 0]
    (message,) = caplog.messages
    assert message.startswith(f"The machine's time was set by {set_by_s:+.0f} s: no telemetry is deleted by age until")
    times.pass_(3_000)
    assert clock() == 0
    times.pass_(600)
    assert clock() == times.unix_s


@pytest.mark.parametrize("jump_s", [-3_600.0, 3_600.0])
async def test_usage_counts_no_time_that_the_machine_was_set_by(jump_s: float) -> None:
    unix_time, records = [time.time()], list[dict[str, Any]]()

    class Sink:
        def write(self, *, group: str, stream: str, timestamp_ms: int, message: str) -> None:
            records.append(json.loads(message))

    arn = "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/r-abcdefghij"
    fields = {name: None for name in RuntimeVersion.__dataclass_fields__} | {"arn": arn, "runtime_id": "r-abcdefghij"}
    call = AgentCall(runtime=RuntimeVersion(**fields), qualifier="DEFAULT", session_id="s", body=b"")
    meter = UsageMeter(Sink(), unix_time=lambda: unix_time[0])
    began_s = time.monotonic()
    meter.began("m", call, os.getpid())
    unix_time[0] += jump_s
    meter.ended("m", os.getpid())
    await eventually(lambda: records, "the record")
    assert 0 <= records[0]["attributes"]["time_elapsed_seconds"] <= time.monotonic() - began_s + 1e-6
    assert records[0]["event_timestamp"] == int(unix_time[0] * 1000)
