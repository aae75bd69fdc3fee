"""A disk that is full, and several processes that write to one store."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Callable

import pytest
from fault_lab import FaultLab
from waiting import PATIENCE_S, wait_until

import loomlib as loom
from loomlib import local
from loomlib.latency import LatencyStudy, Silent
from loomlib.store import Store

BEGIN = """
import resource, signal, sys
import loomlib as loom
from loomlib.errors import StoreFullError
from loomlib.latency import LatencyStudy, Silent

def fill_the_disk():
    # No write of this process may pass the first kilobyte of a file, and no page of the database fits in that.
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, resource.RLIM_INFINITY))

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
bench = loom.connect(home=sys.argv[1])
agent = bench.agent(sys.argv[2])
"""


@pytest.fixture(scope="module")
def slow(lab: FaultLab, bench: loom.Workbench) -> loom.Agent:
    """An agent that takes 200 ms, so that there is time to do something to its study."""
    return lab.deploy(bench, PAUSE_S="0.2")


def start(script: str, lab: FaultLab, agent: loom.Agent, *more: object) -> subprocess.Popen[str]:
    arguments = (sys.executable, "-c", BEGIN + textwrap.dedent(script), lab.home, agent.name, *more)
    return subprocess.Popen(
        [str(argument) for argument in arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def run(script: str, lab: FaultLab, agent: loom.Agent, *more: object) -> list[str]:
    process = start(script, lab, agent, *more)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, out + err
    return out.splitlines()


def test_a_question_that_the_full_disk_cannot_keep_is_not_sent(lab: FaultLab, agent: loom.Agent):
    before, rows = len(lab.calls()), len(agent.history.table(limit=10_000))
    lines = run(
        """
        fill_the_disk()
        for ask in (lambda: agent.invoke("?"), lambda: list(agent.stream("?"))):
            try:
                ask()
            except StoreFullError as error:
                print(error)
        """,
        lab,
        agent,
    )
    assert len(lines) == 2
    assert all("Try: " in line for line in lines)
    assert len(lab.calls()) == before
    assert len(agent.history.table(limit=10_000)) == rows


def test_a_disk_that_fills_up_in_mid_invocation_costs_no_answer(lab: FaultLab, agent: loom.Agent):
    (line,) = run(
        """
        for event in (events := agent.stream("?", payload={"words": 5_000}, session_id="d" * 40)):
            if isinstance(event, loom.Chunk) and event.index == 0:
                fill_the_disk()
        record = events.record
        print(type(event).__name__, record.status, len(record.response.split()), len(record.chunk_offsets_ms) > 1,
              record.client_duration_ms > 0, record.stored)
        """,
        lab,
        agent,
    )
    assert line == "SessionEnd complete 5000 True True False"
    record = agent.history.last(session_id="d" * 40)
    assert record.status != "complete", "the store does not claim what it does not have"


def test_a_study_on_a_full_disk_stops_and_continues_when_there_is_room_again(lab: FaultLab, slow: loom.Agent):
    calls = len(lab.calls())
    (message,) = run(
        """
        class Filling:
            full = False
            def update(self, snapshot):
                if sum(snapshot.done.values()) >= 3 and not self.full:
                    self.full = True
                    fill_the_disk()
            def finish(self, snapshot):
                pass

        try:
            LatencyStudy(agent, cold=0, warm=0, sticky=8, study_id="full", find_starts=False).run(Filling())
        except StoreFullError as error:
            print(error)
        """,
        lab,
        slow,
    )
    assert "Try: " in message
    study = LatencyStudy.resume(slow, "full")
    invocation_ids = {call.position: call.invocation_id for call in study.result().calls if not call.is_pending}
    assert 3 <= len(invocation_ids) < 8
    result = study.run(Silent())
    assert [call.state for call in result.calls] == ["done"] * 8
    assert {
        call.position: call.invocation_id for call in result.calls if call.position in invocation_ids
    } == invocation_ids
    # Eight timed calls, the untimed call of each of two long-lived sessions, and none a second time except the one
    # that was answered when its outcome could not be written.
    assert len(lab.calls()) - calls in (10, 11)


@pytest.fixture
def kept(database: str | None, lab: FaultLab, agent: loom.Agent) -> loom.Agent:
    """The agent in a workbench on each database."""
    return lab.open().register(str(agent.entry.arn)) if database else agent


def test_processes_that_write_to_one_store_through_workbenches_of_their_own_lose_nothing(
    lab: FaultLab, kept: loom.Agent
):
    agent = kept
    state = local.find(lab.home)
    script = """
        import asyncio
        async def ask(name):
            first = await agent.ainvoke(name, session_id=name)
            for number in range(9):
                assert (await agent.ainvoke(f"{name} {number}", session_id=name)).ok
            assert first.ok
        async def main():
            await asyncio.gather(*(ask(f"{sys.argv[3]}-{n}-{'s' * 33}") for n in range(2)))
        asyncio.run(main())
        LatencyStudy(agent, cold=1, warm=0, sticky=4, study_id=sys.argv[3], find_starts=False).run(Silent())
        """
    writers = [start(script, lab, agent, name) for name in ("p", "q")]
    for writer in writers:
        out, err = writer.communicate(timeout=PATIENCE_S)
        assert writer.returncode == 0, out + err
    rows = agent.context.store.invocations.list(agent_id=agent.entry.id, limit=None)
    calls_per_session = Counter(row.session_id[:3] for row in rows if row.session_id.endswith("s" * 33))
    assert calls_per_session == {f"{name}-{number}": 10 for name in "pq" for number in range(2)}
    assert {row.status for row in rows if row.session_id.endswith("s" * 33)} == {"complete"}
    for name in ("p", "q"):
        result = LatencyStudy.resume(agent, name).result()
        assert (result.state, result.answered, result.failed) == ("complete", 5, 0)
        study_rows = [row for row in rows if f"study:{name}" in row.labels]
        assert len(study_rows) == 6, "five timed calls and the one that opened the long-lived session"
    assert local.find(lab.home) == state, "all of them shared one service"


def test_a_second_workbench_in_one_kernel_does_not_cost_what_is_stored_after_another_process_left(
    lab: FaultLab, kept: loom.Agent
):
    agent = kept
    with lab.open():  # the connect() cell, run again
        run('agent.invoke("from elsewhere", session_id="e" * 40)', lab, agent)
        inv = agent.invoke("kept?")
    (stored_row,) = run("print(agent.context.store.invocations.get(int(sys.argv[3])))", lab, agent, inv.record.id)
    assert inv.session_id in stored_row


def test_a_study_that_another_process_runs_is_not_run_twice(database: str | None, lab: FaultLab, slow: loom.Agent):
    slow = lab.open().register(str(slow.entry.arn)) if database else slow
    count = len(lab.calls())
    lab.hold.write_text("1")  # the first call is not answered before the other attempt has failed
    runner = start(
        'LatencyStudy(agent, cold=0, warm=0, sticky=8, study_id="mine", find_starts=False).run(Silent())', lab, slow
    )
    try:
        wait_until(lambda: runner.poll() is not None or len(lab.calls()) > count, "the first call")
        assert runner.poll() is None, runner.communicate()
        with pytest.raises(loom.LoomError, match=f"process {runner.pid}"):
            LatencyStudy.resume(slow, "mine").run(Silent())
    finally:
        lab.hold.unlink()
        out, err = runner.communicate(timeout=PATIENCE_S)
    assert runner.returncode == 0, out + err
    assert LatencyStudy.resume(slow, "mine").result().answered == 8


def test_kernels_that_connect_at_the_same_moment_share_one_service_and_one_store(
    database: str | None, build: Callable[..., FaultLab]
):
    lab = build()
    script = (
        "import os, sys, loomlib as loom; b = loom.connect(home=sys.argv[1]);"
        "print(b.environment()['AWS_ENDPOINT_URL'], flush=True); sys.stdin.read()"
    )
    kernels = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(lab.home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    try:
        assert all(kernel.stdout for kernel in kernels)
        urls = {kernel.stdout.readline() for kernel in kernels if kernel.stdout}
        assert len(urls) == 1
        assert urls.pop().startswith("http://127.0.0.1:")
    finally:
        for kernel in kernels:
            kernel.communicate()
    assert [kernel.returncode for kernel in kernels] == [0, 0, 0]
    assert os.path.exists(lab.home / "loom.db") is (database is None)
    with Store.open(database or f"sqlite:///{lab.home / 'loom.db'}") as store:
        assert store.agents.list() == ()
