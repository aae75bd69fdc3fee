"""The agent's start, found in the logs: late, skewed, several in a session, or never."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from datetime import UTC, datetime

import pytest
from test_client_logs import new_arn, sdk_line

from loomlib.agents import RuntimeArn
from loomlib.aws.connection import Clients
from loomlib.store import Store
from loomlib.telemetry import LogReader, afind_agent_start, find_agent_start

SESSION = "s" * 33


class Scene:
    """An agent whose calls and log lines are written by hand, with its clock `skew_s` ahead of ours."""

    def __init__(self, store: Store, clients: Clients, skew_s: float = 0.0) -> None:
        self.arn: RuntimeArn = new_arn()
        self.store, self.clients, self.skew_s = store, clients, skew_s
        self.reader = LogReader(clients)
        self.zero = time.time() - 30
        row = store.agents.upsert(
            scope="local",
            arn=str(self.arn),
            runtime_id=self.arn.runtime_id,
            region="us-east-1",
            account_id="123456789012",
        )
        self.agent_id = row.id
        self._logs = clients.logs()

    def call(self, sent_s: float, ttft_ms: float, *, failure: str | None = None, session: str = SESSION) -> int:
        """A stored call, sent `sent_s` after the scene began."""
        invocation_id = self.store.invocations.begin(agent_id=self.agent_id, session_id=session)
        self.store.invocations.finish(
            invocation_id,
            status="error" if failure else "complete",
            failure=failure,
            response="",
            client_invoke_time=self.zero + sent_s,
            client_done_time=self.zero + sent_s + ttft_ms / 1000,
            client_duration_ms=ttft_ms,
            ttft_ms=ttft_ms,
        )
        return invocation_id

    def log(self, *lines: tuple[float, str], session: str = SESSION) -> None:
        """Lines of the agent's process (seconds after the scene began by the true clock, text), and one of the SDK."""
        if not self._logs.describe_log_groups(logGroupNamePrefix=self.arn.log_group())["logGroups"]:
            self._logs.create_log_group(logGroupName=self.arn.log_group())
        stream = f"2026/11/21/[runtime-logs]{time.time_ns()}"
        self._logs.create_log_stream(logGroupName=self.arn.log_group(), logStreamName=stream)
        entries = [*lines, (lines[-1][0] + 0.001, sdk_line("Invocation completed successfully (0.1s)", session))]
        events = [
            {"timestamp": int((self.zero + at + self.skew_s) * 1000), "message": text or self.start_line(at)}
            for at, text in entries
        ]
        self._logs.put_log_events(logGroupName=self.arn.log_group(), logStreamName=stream, logEvents=events)

    def start_line(self, at_s: float) -> str:
        at = datetime.fromtimestamp(self.zero + at_s + self.skew_s, UTC).replace(tzinfo=None)
        return f"Agent invoked - Start time: {at.isoformat()}, Session: x"


def test_a_start_is_found_stored_and_not_searched_for_again(store: Store, clients: Clients) -> None:
    scene = Scene(store, clients)
    call = scene.call(0, 500)
    scene.log((0.4, ""))
    start = find_agent_start(store, scene.reader, scene.arn, call, attempts=1, interval_s=0.01)
    assert start.state == "found"
    assert start.cold_start_latency_ms == pytest.approx(400, abs=0.1)
    assert start.log_events_found == 2
    assert (start.low_ms, start.high_ms) == (pytest.approx(0, abs=0.1), pytest.approx(500, abs=0.1))
    row = store.invocations.get(call)
    assert row is not None
    assert (row.start_state, row.cold_start_latency_ms) == ("found", start.cold_start_latency_ms)
    clients.logs().delete_log_group(logGroupName=scene.arn.log_group())
    again = find_agent_start(store, scene.reader, scene.arn, call, attempts=1, interval_s=0.01)
    assert (again.state, again.start_time, again.log_events_found) == ("found", start.start_time, 0)


@pytest.mark.parametrize("skew_s", [5.0, -5.0])
def test_a_skew_of_five_seconds_between_the_clocks_is_reported_and_the_latency_is_bounded(
    store: Store, clients: Clients, skew_s: float
) -> None:
    scene = Scene(store, clients, skew_s)
    cold, warm = scene.call(0, 500), scene.call(1, 10)
    scene.log((0.4, ""), (1.004, ""))
    start = find_agent_start(store, scene.reader, scene.arn, cold, attempts=1, interval_s=0.01)
    assert start.cold_start_latency_ms == pytest.approx(400 + skew_s * 1000, abs=0.5)
    assert start.clocks_disagree
    assert (start.low_ms, start.high_ms) == (pytest.approx(396, abs=0.5), pytest.approx(406, abs=0.5))
    assert start.skew is not None
    assert start.skew.calls == 2
    row = store.invocations.get(warm)
    assert row is not None
    assert row.agent_start_time == pytest.approx(scene.zero + 1.004 + skew_s, abs=0.001)


def test_each_call_of_a_session_gets_its_own_start(store: Store, clients: Clients) -> None:
    scene = Scene(store, clients)
    refused = scene.call(-1, 5, failure="throttle")
    calls = [scene.call(number * 0.1, 20) for number in range(5)]
    scene.log(*((number * 0.1 + 0.005, "") for number in range(5)))
    starts = [find_agent_start(store, scene.reader, scene.arn, call, attempts=1, interval_s=0.01) for call in calls]
    assert [start.cold_start_latency_ms for start in starts] == [pytest.approx(5, abs=0.1)] * 5
    assert find_agent_start(store, scene.reader, scene.arn, refused, interval_s=60).state == "no_start_line"


@pytest.mark.parametrize("late", [0, 1])
def test_a_line_that_has_not_arrived_yet_is_not_replaced_by_another(store: Store, clients: Clients, late: int) -> None:
    scene = Scene(store, clients)
    calls, starts = (scene.call(0, 5000), scene.call(5.1, 20)), (4.9, 5.105)
    scene.log((starts[1 - late], ""))
    missing = find_agent_start(store, scene.reader, scene.arn, calls[late], attempts=1, interval_s=0.01)
    assert missing.state == "not_found_yet"
    assert find_agent_start(store, scene.reader, scene.arn, calls[1 - late], interval_s=60).state == "found"
    scene.log((starts[late], ""))
    arrived = find_agent_start(store, scene.reader, scene.arn, calls[late], interval_s=60)
    assert arrived.cold_start_latency_ms == pytest.approx((4900, 5)[late], abs=0.1)


async def test_logs_that_come_late_are_waited_for_without_blocking_the_loop(store: Store, clients: Clients) -> None:
    scene = Scene(store, clients)
    call = scene.call(0, 500)
    looks: list[tuple[int, int, int]] = []
    logging = threading.Thread(target=lambda: scene.log((0.4, "")))

    def looked(*look: int) -> None:
        looks.append((look[0], look[1], look[2]))
        if len(looks) == 1:  # the first look has found nothing
            logging.start()

    waiting = asyncio.create_task(
        afind_agent_start(
            store,
            scene.reader,
            scene.arn,
            call,
            attempts=600,
            interval_s=0.1,
            progress=looked,
        )
    )
    start = await waiting
    logging.join()
    assert start.state == "found"
    assert len(looks) > 1
    assert looks[0][1:] == (601, 0)
    assert looks[-1][2] == 2


def test_logs_that_never_come_are_a_state_and_no_number(store: Store, clients: Clients) -> None:
    scene = Scene(store, clients)
    call = scene.call(0, 500)
    looks: list[tuple[int, int, int]] = []
    never = find_agent_start(
        store, scene.reader, scene.arn, call, attempts=3, interval_s=0.01, progress=lambda *look: looks.append(look)
    )
    assert (never.state, never.cold_start_latency_ms, never.low_ms) == ("no_logs", None, None)
    assert looks == [(1, 4, 0), (2, 4, 0), (3, 4, 0), (4, 4, 0)]
    scene.log((0.4, ""), session="o" * 33)
    assert find_agent_start(store, scene.reader, scene.arn, call, attempts=1, interval_s=0.01).state == "not_found_yet"
    row = store.invocations.get(call)
    assert row is not None
    assert (row.start_state, row.cold_start_latency_ms) == ("not_found_yet", None)


def test_an_agent_without_a_start_line_is_recognized_without_waiting_for_ever(store: Store, clients: Clients) -> None:
    scene = Scene(store, clients)
    call = scene.call(0, 500)
    scene.log((0.4, "a line of another kind"))
    looks: list[int] = []
    start = find_agent_start(
        store,
        scene.reader,
        scene.arn,
        call,
        attempts=1000,
        interval_s=0.01,
        progress=lambda look, _of, _found: looks.append(look),
    )
    assert (start.state, start.log_events_found) == ("no_start_line", 2)
    assert looks == [1, 2]


def test_a_start_inside_the_sdks_json_line_is_found(store: Store, clients: Clients) -> None:
    scene = Scene(store, clients)
    call = scene.call(0, 500)
    scene.log((0.4, json.dumps({"message": scene.start_line(0.4), "sessionId": SESSION, "level": "INFO"})))
    assert find_agent_start(store, scene.reader, scene.arn, call, interval_s=60).state == "found"


def test_an_unknown_invocation_is_a_lookup_error(store: Store, clients: Clients) -> None:
    with pytest.raises(LookupError, match="no invocation with id 12345"):
        find_agent_start(store, LogReader(clients), new_arn(), 12345)
