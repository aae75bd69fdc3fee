"""The load engine against a small server in another process, and against the local AgentCore."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import subprocess
import sys
import threading
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import load_run
import load_server
import psutil
import pytest
from load_run import engine as kill_engine
from load_run import offered as kill_calls

import loomlib as loom
from loomlib import local
from loomlib.agents import FAILURES
from loomlib.errors import StudyError, StudyInterruptedError
from loomlib.latency.load.bodies import SameBody
from loomlib.latency.load.calls import LoadCall, OfferedCall
from loomlib.latency.load.engine import LoadEngine, LoadTarget
from loomlib.latency.load.engine_runner import EngineRunner

BODY = b'{"prompt": "x"}'


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The small server."""
    server = subprocess.Popen(
        [sys.executable, load_server.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    assert server.stdin is not None
    yield int(server.stdout.readline())
    server.stdin.close()
    server.wait()
    server.stdout.close()


def load(
    port: int, path: str, folder: Path, *, processes: int = 1, timeout_s: float = 30, **options: bool
) -> LoadEngine:
    """An engine, of one process unless told otherwise."""
    target = LoadTarget.http(f"http://127.0.0.1:{port}{path}")
    return LoadEngine(target, processes=processes, folder=folder, timeout_s=timeout_s, **options)


def at_once(count: int, name: str, every_s: float = 0.0) -> list[OfferedCall]:
    """Calls of an open loop."""
    return [
        OfferedCall(index=index, session_id=f"{name}-{index}", body=BODY, at_s=index * every_s)
        for index in range(count)
    ]


def seen(port: int) -> dict[str, int]:
    """How often each session has reached the server."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/seen") as answer:
        return json.load(answer)


def test_every_offered_call_is_made_once_and_reported_while_the_step_runs(port: int, tmp_path: Path) -> None:
    reported: list[LoadCall] = []
    step = load(port, "/echo", tmp_path).run(at_once(60, "all", 0.004), step="a", on_call=reported.append)
    assert [call.index for call in step.calls] == list(range(60))
    assert sorted(reported, key=lambda call: call.index) == list(step.calls)
    assert {call.state for call in step.calls} == {"complete"}
    assert {seen(port)[call.session_id] for call in step.calls} == {1}
    for call in step.calls:
        assert call.sent_s is not None
        assert call.first_byte_s is not None
        assert call.done_s is not None
        assert call.intended_s == pytest.approx(call.index * 0.004)
        assert call.intended_s <= call.sent_s <= call.first_byte_s <= call.done_s
        assert (call.status, call.bytes_received, call.chunks) == (200, 19, 1)
    assert step.cpu_s > 0
    assert step.started_at.tzinfo is not None


def test_a_step_that_ended_makes_no_call_when_it_is_run_again(port: int, tmp_path: Path) -> None:
    calls = at_once(5, "again")
    first = load(port, "/echo", tmp_path).run(calls, step="a")
    second = load(port, "/echo", tmp_path).run(calls, step="a")
    assert list(second.calls) == list(first.calls)
    assert second.started_at == first.started_at
    assert {seen(port)[call.session_id] for call in first.calls} == {1}
    with pytest.raises(StudyError, match="another step of this name"):
        load(port, "/echo", tmp_path).run(calls[:4], step="a")


def test_the_calls_of_a_user_follow_each_other_with_their_think_time(port: int, tmp_path: Path) -> None:
    calls = [
        OfferedCall(index=index, session_id=f"user-{index}", body=BODY, user=index % 3, think_s=0.01)
        for index in range(15)
    ]
    step = LoadEngine(LoadTarget.http(f"http://127.0.0.1:{port}/echo"), processes=2, folder=tmp_path, timeout_s=30).run(
        calls, step="a"
    )
    assert step.processes == 2
    for user in range(3):
        own = [call for call in step.calls if call.index % 3 == user]
        for previous, call in pairwise(own):
            assert previous.done_s is not None
            assert call.intended_s == pytest.approx(previous.done_s + 0.01, abs=1e-6)


def test_a_call_whose_user_is_still_waiting_counts_the_waiting_and_not_as_schedule_lag(
    port: int, tmp_path: Path
) -> None:
    calls = [OfferedCall(index=n, session_id=f"waits-{n}", body=BODY, user=1, at_s=n * 0.01) for n in range(3)]
    step = load(port, "/wait?s=0.2", tmp_path).run(calls, step="a")
    last = step.calls[2]
    assert last.ttft_ms is not None
    assert last.ttft_ms >= 580, "three answers of 200 ms one after another, from 20 ms on"
    assert last.waited_ms >= 380
    assert step.calls[0].done_s is not None
    assert last.lag_ms is not None
    assert last.lag_ms < last.waited_ms


@pytest.mark.parametrize(
    ("path", "failure", "status"),
    [
        ("/error", "agent_error", 200),
        ("/error-event", "agent_error", 200),
        ("/no-json", "malformed_stream", 200),
        ("/throttled", "throttle", 429),
        ("/broken", "service_error", 500),
        ("/refused", "rejected", 400),
        ("/agent", "agent_error", 424),
        ("/closed", "transport", None),
        ("/cut", "transport", 200),
        ("/silent", "timeout", None),
    ],
)
def test_a_failure_has_its_class_and_its_message(
    port: int, tmp_path: Path, path: str, failure: str, status: int | None
) -> None:
    timeout_s = 2 if failure == "timeout" else 30
    step = load(port, path, tmp_path, timeout_s=timeout_s).run(at_once(1, f"fails{path[1:]}"), step="a")
    (call,) = step.calls
    assert (call.state, call.failure, call.status) == ("failed", failure, status)
    assert call.failure in FAILURES
    assert call.error_message
    assert call.duration_ms is None
    assert seen(port)[call.session_id] == 1, "nothing is sent twice"


def test_an_address_where_nothing_answers_is_a_failure_of_every_call(tmp_path: Path) -> None:
    step = load(1, "/", tmp_path).run(at_once(3, "nobody"), step="a")
    assert {(call.state, call.failure) for call in step.calls} == {("failed", "transport")}
    assert "No connection" in (step.calls[0].error_message or "")


def test_the_reads_of_a_stream_are_counted_and_kept_when_asked_for(port: int, tmp_path: Path) -> None:
    engine = load(port, "/paced?n=5&s=0.05", tmp_path, keep_arrivals=True)
    for attempt in range(20):
        (call,) = engine.run(at_once(1, f"paced{attempt}"), step=f"a{attempt}").calls
        assert call.is_complete
        if call.chunks == 5:
            break  # one read returns several chunks if a process did not run for longer than a pause
    assert call.chunks == len(call.arrivals_s) == 5
    assert call.arrivals_s[0] == call.first_byte_s
    assert call.longest_gap_ms is not None
    assert call.longest_gap_ms >= 40


def test_a_stopped_step_sends_no_more_and_continues_when_it_is_run_again(port: int, tmp_path: Path) -> None:
    for attempt in range(20):
        stop, name = threading.Event(), f"stopped{attempt}"
        calls = at_once(200, name, 0.02)
        step = load(port, "/echo", tmp_path).run(calls, step=name, stop=stop, on_call=lambda _, stop=stop: stop.set())
        states = Counter(call.state for call in step.calls)
        if states["not_sent"] > 100:
            break  # otherwise this process did not run while most calls were made
    assert states["not_sent"] > 100
    assert states["complete"] + states["not_sent"] == 200
    rest = [call for call in calls if step.calls[call.index].state == "not_sent"]
    again = load(port, "/echo", tmp_path).run(calls, step=name)
    assert {call.state for call in again.calls} == {"complete"}
    assert {seen(port)[call.session_id] for call in calls} == {1}
    first = again.calls[rest[0].index]
    assert first.lag_ms is not None
    assert first.intended_s == rest[0].at_s, "the pause between the runs is no part of any time"


def test_impossible_calls_are_refused_before_anything_is_sent(port: int, tmp_path: Path) -> None:
    engine = load(port, "/echo", tmp_path)
    with pytest.raises(ValueError, match="each once"):
        engine.run([OfferedCall(index=1, session_id="x", body=BODY, at_s=0.0)], step="a")
    with pytest.raises(ValueError, match="printable"):
        engine.run([OfferedCall(index=0, session_id="x\r\ny", body=BODY, at_s=0.0)], step="a")
    with pytest.raises(ValueError, match="step must consist of"):
        engine.run(at_once(1, "x"), step="../a")
    with pytest.raises(ValueError, match="needs its user"):
        OfferedCall(index=0, session_id="x", body=BODY)
    assert not list(tmp_path.iterdir())


def kill_at_random(port: int, folder: Path, step: str, *, kills: int, draw: random.Random) -> int:
    """Run a step, kill it at random moments, run it to its end; return how many calls were interrupted."""
    for _ in range(kills):
        run = subprocess.Popen(
            [sys.executable, load_run.__file__, str(port), str(folder), step],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert run.stdout is not None
        assert run.stdout.readline() == b"begins\n"
        try:
            run.wait(draw.uniform(0.1, 0.9))
        except subprocess.TimeoutExpired:
            victims = [psutil.Process(run.pid), *psutil.Process(run.pid).children()]
            with contextlib.suppress(psutil.NoSuchProcess):  # it has ended meanwhile
                draw.choice(victims).send_signal(signal.SIGKILL)
        run.wait()
        run.stdout.close()
    result = kill_engine(port, folder).run(kill_calls(step), step=step)
    _check_all(result.calls, port, step)
    return sum(call.state == "interrupted" for call in result.calls)


def _check_all(calls: Sequence[LoadCall], port: int, step: str) -> None:
    reached = {session: count for session, count in seen(port).items() if session.startswith(f"{step}-")}
    assert [call.index for call in calls] == list(range(load_run.CALLS))
    assert {call.state for call in calls} <= {"complete", "interrupted"}
    assert set(reached.values()) == {1}, "nothing twice"
    complete = {call.session_id for call in calls if call.is_complete}
    assert complete <= set(reached), "what is complete was made"
    interrupted = {call.session_id for call in calls if call.state == "interrupted"}
    assert set(reached) - complete <= interrupted, "nothing is lost"


def test_a_step_that_is_killed_at_random_moments_loses_no_call_and_makes_none_twice(port: int, tmp_path: Path) -> None:
    kill_at_random(port, tmp_path, "few", kills=4, draw=random.Random(7))


@pytest.mark.long
def test_a_hundred_kills_lose_no_call_and_make_none_twice(port: int, tmp_path: Path) -> None:
    draw = random.Random(8)
    for number in range(25):
        kill_at_random(port, tmp_path, f"many{number}", kills=4, draw=draw)


def engine_processes() -> list[psutil.Process]:
    """The processes of engines of this process that have not been killed."""
    processes: list[psutil.Process] = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error):  # it has exited and has not been waited for
            if "loomlib.aws.load_client" in child.cmdline():
                processes.append(child)
    return processes


def test_a_process_that_is_killed_stops_the_step_with_an_error_and_leaves_no_process(port: int, tmp_path: Path) -> None:
    def kill(_: LoadCall) -> None:
        for child in engine_processes():
            child.kill()

    error: StudyInterruptedError | None = None
    for attempt in range(20):
        calls = at_once(100, f"killed{attempt}", 0.02)
        try:
            load(port, "/echo", tmp_path).run(calls, step=f"a{attempt}", on_call=kill)
        except StudyInterruptedError as raised:
            error = raised
            break  # otherwise all calls ended while this process did not run
    assert "ended by signal 9" in str(error)
    assert not engine_processes()
    again = load(port, "/echo", tmp_path).run(calls, step=f"a{attempt}")
    assert len(again.calls) == 100
    assert max(seen(port)[call.session_id] for call in again.calls) == 1


def test_a_process_that_is_killed_lets_the_calls_of_the_others_end(port: int, tmp_path: Path) -> None:
    victims: list[int] = []

    def kill(_: LoadCall) -> None:
        if not victims and (alive := engine_processes()):
            victims.append(alive[0].pid)
            alive[0].kill()

    for attempt in range(20):
        calls, error = at_once(60, f"others{attempt}", 0.02), None
        try:
            load(port, "/wait?s=0.6", tmp_path, processes=2).run(calls, step=f"a{attempt}", on_call=kill)
        except StudyInterruptedError as raised:
            error = raised
        again = load(port, "/echo", tmp_path, processes=2).run(calls, step=f"a{attempt}")
        states = Counter(call.state for call in again.calls)
        if error is not None and states["interrupted"]:
            break  # otherwise the calls of the process had ended when this process ran again
        victims.clear()
    assert "ended by signal 9" in str(error)
    assert set(states) == {"complete", "interrupted"}, "the engine's own end is no failure of the agent"
    assert 0 < states["interrupted"] <= 31, "only calls of the process that was killed"


def test_a_step_continues_where_a_killed_run_left_a_gap_in_its_journals(port: int, tmp_path: Path) -> None:
    stop = threading.Event()
    calls = at_once(60, "gap", 0.02)
    load(port, "/echo", tmp_path, processes=2).run(calls, step="a", stop=stop, on_call=lambda _: stop.set())
    (tmp_path / "a" / "calls-00001.journal").rename(tmp_path / "a" / "calls-00003.journal")
    again = load(port, "/echo", tmp_path, processes=2).run(calls, step="a")
    assert {call.state for call in again.calls} == {"complete"}
    assert {seen(port)[call.session_id] for call in calls} == {1}


def test_a_runtime_of_the_local_agentcore_is_called_with_signatures_that_it_accepts(tmp_path: Path) -> None:
    home = tmp_path / ".loom"
    with loom.connect(home=home) as bench:
        agent = bench.deploy("calculator")
        engine = LoadEngine(
            LoadTarget.runtime(str(agent.entry.arn), bench.context.clients.connection),
            processes=1,
            folder=tmp_path / "load",
            timeout_s=60,
        )
        calls = [
            OfferedCall(
                index=index,
                session_id=f"a-session-of-the-load-engine-test-{index % 2}",
                body=b'{"prompt": "What is 2+2?"}',
                user=index % 2,
            )
            for index in range(6)
        ]
        step = engine.run(calls, step="a")
        assert [(call.state, call.error_message) for call in step.calls] == [("complete", None)] * 6
        secret = bench.context.clients.connection.environment["AWS_SECRET_ACCESS_KEY"].encode()
        paths = [path for path in (tmp_path / "load").rglob("*") if path.is_file()]
        assert paths
        assert not [path for path in paths if secret in path.read_bytes()]
    local.stop(home)


def test_the_time_of_users_counts_from_the_start_of_the_step_in_all_processes(port: int, tmp_path: Path) -> None:
    starts: list[int] = []
    engine = load(port, "/wait?s=0.02", tmp_path, processes=2)
    runner = EngineRunner(engine, SameBody(prompt="x"), run="users", is_closed_loop=True)
    # A step that counted the start of its processes had half a second left, or nothing on a busy machine. There one of
    # several steps has to do: the users of a step send nothing while their processes do not run.
    last_s = (max((call.sent_s or 0.0 for call in runner(2, 1.0)), default=0.0) for _ in range(20))
    assert any(sent_s > 0.7 for sent_s in last_s)
    engine.run(at_once(2, "started"), step="again", on_start=lambda: starts.append(1))
    engine.run(at_once(2, "started"), step="again", on_start=lambda: starts.append(2))
    assert starts == [1]
