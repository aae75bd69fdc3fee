"""`kill -9` of the service and of the kernel: nothing is left running, nothing is lost, nothing is measured twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from fault_lab import FaultLab, is_alive, processes_of, wait_until

import loomlib as loom
from loomlib.errors import StudyInterruptedError
from loomlib.latency import LatencyStudy, Silent
from loomlib.store import InvocationRow, Store

PLAN = {"cold": 2, "warm": 2, "sticky": 4, "find_starts": False}
POSITIONS = 8
HELD_CALL = 8
"""The call in the middle of which something is killed: at least three of the calls before it are timed ones."""


def timed_calls(store: Store, study_id: str) -> dict[int, list[InvocationRow]]:
    """The stored timed calls of a study by position, in the order they were made."""
    rows_by_position: dict[int, list[InvocationRow]] = {}
    for row in reversed(store.invocations.list(limit=None)):
        if {f"study:{study_id}", "timed"} <= set(row.labels):
            position = next(int(label.split(":")[1]) for label in row.labels if label.startswith("position:"))
            rows_by_position.setdefault(position, []).append(row)
    return rows_by_position


def check_once_each(lab: FaultLab, store: Store, result: loom.StudyResult, before: dict[int, int | None]) -> None:
    """Every position done once: by the measurements, by the invocations, and by what the agents saw."""
    assert result.state == "complete"
    assert Counter(call.state for call in result.calls) == {"done": POSITIONS}, result.measurements().to_string()
    assert {place: call.invocation_id for place, call in enumerate(result.calls) if place in before} == before
    calls_by_position = timed_calls(store, result.study_id)
    assert sorted(calls_by_position) == list(range(POSITIONS))
    for call in result.calls:
        answered_ids = [row.id for row in calls_by_position[call.position] if row.status == "complete"]
        assert answered_ids == [call.invocation_id], "one answered call a position, and it is the one measured"
        assert call.attempt >= len(calls_by_position[call.position])
    assert Counter(call.attempt for call in result.calls)[2] <= 1, "only the call that was out is made again"
    assert sum(row.status in ("pending", "streaming") for row in store.invocations.list(limit=None)) == 0
    calls_per_session = Counter(row.session_id for row in store.invocations.list(limit=None))
    assert Counter(lab.calls()) == calls_per_session, "every call that an agent saw is stored, and no other was made"


def test_a_study_whose_service_is_killed_is_interrupted_and_resumes_exactly(
    database: str | None, build: Callable[..., FaultLab]
):
    lab = build()
    bench = lab.open()
    study = LatencyStudy(lab.deploy(bench, PAUSE_S="0.15"), study_id="service", **PLAN)
    raised: list[StudyInterruptedError] = []

    def run() -> None:
        with pytest.raises(StudyInterruptedError) as caught:
            study.run(Silent())
        raised.append(caught.value)

    lab.hold.write_text(str(HELD_CALL))
    running = threading.Thread(target=run)
    running.start()
    wait_until(lambda: len(lab.calls()) >= HELD_CALL, "the call that is not answered")
    wait_until(lambda: bench.context.store.measurements.counts("service")["done"] >= 3, "the third measurement")
    lab.kill_service()
    running.join()
    wait_until(lambda: not processes_of(lab.home), "the end of every agent process")
    lab.hold.unlink()

    (error,) = raised
    assert "no longer accepts connections" in error.what
    assert "service" in error.on
    assert 'LatencyStudy.resume(agent, "service")' in error.try_
    stopped = study.result()
    assert stopped.state == "interrupted"
    assert any("not finished" in sentence for sentence in stopped.sentences())
    invocation_ids = {call.position: call.invocation_id for call in stopped.calls if not call.is_pending}
    assert len(invocation_ids) >= 3

    again = lab.open()
    (name,) = again.agents()["name"]
    result = LatencyStudy.resume(again.agent(name), "service").run(Silent())
    check_once_each(lab, again.context.store, result, invocation_ids)
    assert bench.agent(name).invoke("the workbench from before works on").ok


def variables_of(pid: int) -> bytes:
    """The environment of a process; empty when it has ended."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


KERNEL = """
import sys
import loomlib as loom
from loomlib.latency import Silent
from pathlib import Path
from loomlib import local
options = local.ServiceOptions(sandbox_write=(str(Path(sys.argv[3]).parent),))
bench = loom.connect(home=sys.argv[1], options=options)
agent = bench.deploy(sys.argv[2], environment={"TALLY": sys.argv[3], "PAUSE_S": "0.15"})
loom.LatencyStudy(agent, cold=2, warm=2, sticky=4, find_starts=False, study_id="kernel").run(Silent())
"""


def test_a_study_whose_kernel_is_killed_leaves_no_process_and_another_kernel_resumes_it(
    database: str | None,
    build: Callable[..., FaultLab],
):
    lab = build()
    code = str(lab.agents / "obedient.py")
    lab.hold.write_text(str(HELD_CALL))
    kernel = subprocess.Popen([sys.executable, "-c", KERNEL, str(lab.home), code, str(lab.tally)])
    try:
        wait_until(lambda: kernel.poll() is not None or len(lab.calls()) >= HELD_CALL, "the held call")
        assert kernel.poll() is None
        running = processes_of(lab.home)
        assert len(running) >= 3, "kernel, service and an agent"
        others = {pid: variables_of(pid) for pid in running if pid != kernel.pid}
        assert not [pid for pid, variables in others.items() if b"DATABASE_URL" in variables or b"hunter2" in variables]
    finally:
        os.kill(kernel.pid, signal.SIGKILL)
        kernel.wait()
    wait_until(lambda: not processes_of(lab.home), "the end of the service and its agents")
    lab.hold.unlink()

    with Store.open(database or f"sqlite:///{lab.home / 'loom.db'}") as store:
        measured = {row.position: row for row in store.measurements.list("kernel", ["done"])}
    assert measured
    bench = lab.open()
    result = LatencyStudy.resume(bench.agent("obedient"), "kernel").run(Silent())
    check_once_each(lab, bench.context.store, result, {place: row.invocation_id for place, row in measured.items()})
    after = {row.position: row for row in bench.context.store.measurements.list("kernel")}
    assert {place: after[place] for place in measured} == measured, "what was measured stays as it was"
    paths = [path for path in lab.home.rglob("*") if path.is_file()]
    assert not [path for path in paths if b"hunter2" in path.read_bytes()], "no file has the database's password"


def test_after_a_kill_of_the_service_no_agent_and_no_tool_of_an_agent_is_left(build: Callable[..., FaultLab]):
    lab = build()
    bench = lab.open()
    agent = lab.deploy(bench)
    spawned = agent.invoke("?", payload={"spawn": True})
    busy = agent.stream("?", payload={"words": 10_000, "pause_s": 0.01})
    next(event for event in busy if isinstance(event, loom.Chunk))
    assert len(spawned.record.response.translate(DIGITS).split()) == 3
    pids = list(processes_of(lab.home))
    assert len(pids) >= 5
    lab.kill_service()
    wait_until(lambda: not processes_of(lab.home), "the end of every process")
    wait_until(lambda: not any(is_alive(pid) for pid in pids), "the end of every process")
    *_, last = busy
    assert isinstance(last, loom.InvocationError)
    assert last.failure == "transport"


DIGITS = {ord(character): " " for character in '{}[],:"pids'}
