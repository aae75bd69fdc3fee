"""Latency studies against the local AgentCore: real processes, real logs, and everything that may be killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import loomlib as loom
from loomlib import local
from loomlib.errors import StudyInterrupted
from loomlib.latency import LatencyStudy, Scenario, Silent, StudyResult
from loomlib.reports import study_traces
from loomlib.store import Store


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / ".loom"
    local.stop(tmp_path / ".loom")


def wait_for(true: Callable[[], bool], within_s: float = 120) -> None:
    until = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[loom.Workbench, StudyResult]]:
    """A study of a real agent that nothing happened to."""
    home = tmp_path_factory.mktemp("studied") / ".loom"
    with loom.connect(home=home) as bench:
        yield bench, LatencyStudy(bench.deploy("calculator"), cold=3, warm=3, sticky=4, sticky_length=4).run(Silent())
    local.stop(home)


def test_a_study_of_a_real_agent_tells_cold_from_warm_and_knows_when_it_started(
    studied: tuple[loom.Workbench, StudyResult],
) -> None:
    bench, result = studied
    assert Counter(call.state for call in result.calls) == {"done": 10}
    cold = [call for call in result.calls if call.scenario is Scenario.COLD]
    warm = [call for call in result.calls if call.scenario is Scenario.WARM]
    assert {call.start_state for call in cold + warm} == {"found"}
    agent = bench.agent("calculator")
    parts = {view.invocation_id: view.breakdown() for view in study_traces(agent, result)}
    for call in cold + warm:
        # A cold call holds the start of a process, a warm one does not.
        begun = parts[call.invocation_id or 0]["cold_start"].duration_ns
        assert (begun > 0) == (call.scenario is Scenario.COLD)
    clocks = result.estimates().clocks
    assert clocks is not None
    assert clocks.allows_agreement, "one machine has one clock"
    assert "local AgentCore" in result.labels
    assert any("simulated" in label for label in result.labels)
    answers = [bench.store.invocations.get(call.invocation_id or 0) for call in result.calls]
    assert all(answer is not None and "4" in (answer.response or "") for answer in answers)
    assert result.floor.content_type == (answers[0].content_type if answers[0] else None)


def test_every_scenario_uses_processes_as_it_says(studied: tuple[loom.Workbench, StudyResult]) -> None:
    bench, result = studied
    arn, logs = bench.agent("calculator").entry.arn, bench.log_reader.session_logs
    streams = {
        session: {event.stream for event in logs(arn, qualifier="DEFAULT", session_id=session)}
        for session in {call.session_id or "" for call in result.calls}
    }
    assert len(streams) == 7, "three cold, three warm and one long-lived session"
    assert all(len(found) == 1 for found in streams.values()), "each session was one process from start to end"
    assert len(set.union(*streams.values())) == 7, "and no two sessions shared one"


def test_a_study_whose_service_is_killed_keeps_its_calls_and_resumes_when_it_is_back(home: Path) -> None:
    with loom.connect(home=home) as bench:
        planned = LatencyStudy(bench.deploy("calculator"), cold=2, warm=3, sticky=4, study_id="cut", find_starts=False)
        raised: list[BaseException] = []

        def run() -> None:
            try:
                planned.run(Silent())
            except StudyInterrupted as error:
                raised.append(error)

        running = threading.Thread(target=run)
        running.start()
        wait_for(lambda: bench.store.measurements.counts("cut")["done"] >= 4)
        state = local.find(home)
        assert state is not None
        os.kill(state.pid, signal.SIGKILL)
        running.join(timeout=180)
        assert "cut" in str(raised[0])
        stopped = planned.result()
        assert stopped.state == "interrupted"
        assert stopped.answered >= 4
        kept = {call.position: call.invocation_id for call in stopped.calls if not call.is_owed}
    with loom.connect(home=home) as again:
        result = LatencyStudy.resume(again.agent("calculator"), "cut").run(Silent())
        assert result.state == "complete"
        assert not [call for call in result.calls if call.is_owed]
        assert {call.position: call.invocation_id for call in result.calls if call.position in kept} == kept


_KERNEL = """
import sys
import loomlib as loom
from loomlib.latency import LatencyStudy, Silent
bench = loom.connect(home=sys.argv[1])
LatencyStudy(bench.deploy("calculator"), cold=2, warm=3, sticky=4, study_id="kernel", find_starts=False).run(Silent())
"""


def test_a_study_whose_kernel_is_killed_resumes_without_repeating_or_dropping_a_call(home: Path) -> None:
    kernel = subprocess.Popen([sys.executable, "-c", _KERNEL, str(home)])
    try:
        wait_for(lambda: (home / "loom.db").exists() or kernel.poll() is not None)
        with Store.open(f"sqlite:///{home}/loom.db") as store:
            wait_for(lambda: store.measurements.counts("kernel")["done"] >= 3 or kernel.poll() is not None)
            assert kernel.poll() is None
            os.kill(kernel.pid, signal.SIGKILL)
            kernel.wait()
            before = {row.position: row for row in store.measurements.list("kernel", ["done"])}
    finally:
        kernel.kill()
        kernel.wait()
    with loom.connect(home=home) as bench:
        result = LatencyStudy.resume(bench.agent("calculator"), "kernel").run(Silent())
        after = {row.position: row for row in bench.store.measurements.list("kernel")}
    assert [call.state for call in result.calls] == ["done"] * 9
    assert {place: after[place] for place in before} == before
    assert sum(call.attempt == 2 for call in result.calls) <= 1
