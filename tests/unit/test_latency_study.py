"""Running a study over a real store with a scripted agent: scenarios, failures, kills and resumption."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from latency_agent import Reply, ScriptedAgent, Start
from new_store import new_store
from waiting import PATIENCE_S, eventually, wait_until

from loomlib.errors import StudyError, StudyInterruptedError
from loomlib.experiments import StudyLedger
from loomlib.latency import LatencyStudy, LogLines, Scenario, Silent, StudyResult
from loomlib.latency.agent_study import call_labels
from loomlib.latency.load_test import LoadStudy
from loomlib.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with new_store(tmp_path) as opened:
        yield opened


def study(agent: ScriptedAgent, **design: object) -> LatencyStudy:
    counts = {"cold": 3, "warm": 3, "sticky": 3} | design
    return LatencyStudy(agent, **counts)  # type: ignore[arg-type]


def opened(planned: LatencyStudy) -> StudyLedger:
    """The ledger of a study whose plan is stored and that nobody runs."""
    ledger = StudyLedger(planned.store, planned.study_id)
    ledger.open(planned.header(), planned.planned(), resume="")
    return ledger


def sessions_of(agent: ScriptedAgent, result: StudyResult, scenario: Scenario) -> list[str | None]:
    return [call.session_id for call in result.calls if call.scenario is scenario]


def test_every_planned_call_is_made_once_and_stored(store: Store) -> None:
    agent = ScriptedAgent(store)
    result = study(agent).run(Silent())
    assert Counter(call.state for call in result.calls) == {"done": 9}
    assert len(agent.timed()) == 9
    assert result.state == "complete"
    assert [call.duration_ms for call in result.calls] == [10.0] * 9


def test_a_cold_call_is_the_first_of_a_session_that_is_then_ended(store: Store) -> None:
    agent = ScriptedAgent(store)
    result = study(agent).run(Silent())
    for session in sessions_of(agent, result, Scenario.COLD):
        assert [labels for used, labels in agent.made if used == session and "timed" not in labels] == []
        assert session in agent.ended
        assert session is not None
        assert 33 <= len(session) <= 256


def test_a_warm_call_follows_one_untimed_call_in_a_session_of_its_own(store: Store) -> None:
    agent = ScriptedAgent(store)
    result = study(agent).run(Silent())
    warm = sessions_of(agent, result, Scenario.WARM)
    assert len(set(warm)) == 3
    for session in warm:
        kinds = [labels[1] for used, labels in agent.made if used == session]
        assert kinds == ["opening", "timed"]


def test_sticky_calls_share_one_session_that_an_untimed_call_opened(store: Store) -> None:
    agent = ScriptedAgent(store)
    result = study(agent, sticky=5).run(Silent())
    (session,) = set(sessions_of(agent, result, Scenario.STICKY))
    assert [labels[1] for used, labels in agent.made if used == session] == ["opening"] + ["timed"] * 5
    assert agent.ended.count(str(session)) == 1


def test_a_long_lived_session_can_be_renewed_after_so_many_calls(store: Store) -> None:
    agent = ScriptedAgent(store)
    result = study(agent, cold=0, warm=0, sticky=7, sticky_length=3).run(Silent())
    assert sorted(Counter(sessions_of(agent, result, Scenario.STICKY)).values()) == [1, 3, 3]
    assert len(agent.made) == 7 + 3


def test_a_failed_call_is_counted_by_class_and_has_no_duration(store: Store) -> None:
    agent = ScriptedAgent(store, script=lambda n, _: Reply(failure="throttle") if n == 0 else Reply())
    result = study(agent, warm=0, sticky=0).run(Silent())
    failed = [call for call in result.calls if call.is_failed]
    assert [(call.failure, call.duration_ms) for call in failed] == [("throttle", None)]
    assert len(agent.made) == 3, "a throttled call is not repeated"


def test_a_failing_opening_call_fails_its_measurement_and_nothing_is_timed(store: Store) -> None:
    agent = ScriptedAgent(
        store, script=lambda _, labels: Reply(failure="agent_error") if "opening" in labels else Reply()
    )
    result = study(agent, cold=0, sticky=0).run(Silent())
    assert [call.failure for call in result.calls] == ["agent_error"] * 3
    assert all("opens the session" in str(call.error_message) for call in result.calls)
    assert agent.timed() == []


def test_after_a_failed_sticky_call_the_next_one_opens_a_new_session(store: Store) -> None:
    agent = ScriptedAgent(store, script=lambda n, _: Reply(failure="agent_error") if n == 2 else Reply())
    result = study(agent, cold=0, warm=0, sticky=4).run(Silent())
    sessions = sessions_of(agent, result, Scenario.STICKY)
    assert [call.is_failed for call in result.calls] == [False, True, False, False]
    assert sessions[0] == sessions[1] != sessions[2] == sessions[3]


def test_a_service_that_is_gone_interrupts_the_study_and_the_refused_call_stays_planned(store: Store) -> None:
    gone = False

    def script(number: int, _labels: Sequence[str]) -> Reply:
        nonlocal gone
        gone = number >= 4
        return Reply(failure="transport") if gone else Reply()

    agent = ScriptedAgent(store, script=script, alive=lambda: not gone)
    planned = study(agent, warm=0, sticky=0, cold=10)
    with pytest.raises(StudyInterruptedError, match=planned.study_id):
        planned.run(Silent())
    stopped = planned.result()
    assert stopped.state == "interrupted"
    assert Counter(call.state for call in stopped.calls) == {"done": 4, "planned": 6}
    gone = False
    agent.script = lambda _number, _labels: Reply(duration_ms=20)
    resumed = LatencyStudy.resume(agent, planned.study_id).run(Silent())
    assert [call.duration_ms for call in resumed.calls] == [10.0] * 4 + [20.0] * 6
    assert [call.attempt for call in resumed.calls] == [1] * 4 + [2] + [1] * 5


def test_a_call_that_was_cut_in_mid_answer_stays_a_failure_when_the_service_is_gone(store: Store) -> None:
    agent = ScriptedAgent(
        store,
        script=lambda n, _: Reply(failure="transport", bytes_received=64) if n == 2 else Reply(),
        alive=lambda: False,
    )
    planned = study(agent, warm=0, sticky=0, cold=5)
    with pytest.raises(StudyInterruptedError):
        planned.run(Silent())
    assert [call.state for call in planned.result().calls] == ["done", "done", "failed", "planned", "planned"]


def test_a_transport_failure_of_a_running_service_is_a_failure_and_the_study_continues(store: Store) -> None:
    agent = ScriptedAgent(store, script=lambda n, _: Reply(failure="transport") if n < 2 else Reply())
    result = study(agent, warm=0, sticky=0, cold=4).run(Silent())
    assert [call.failure for call in result.calls] == ["transport", "transport", None, None]


def test_running_a_finished_study_again_makes_no_call(store: Store) -> None:
    agent = ScriptedAgent(store)
    first = study(agent, study_id="kept")
    first.run(Silent())
    call_count = len(agent.made)
    again = LatencyStudy(agent, cold=3, warm=3, sticky=3, study_id="kept").run(Silent())
    assert len(agent.made) == call_count
    assert [call.invocation_id for call in again.calls] == [call.invocation_id for call in first.result().calls]


def test_a_stored_study_is_not_continued_with_another_design(store: Store) -> None:
    agent = ScriptedAgent(store)
    study(agent, study_id="kept").run(Silent())
    with pytest.raises(StudyError, match="differs in its cold, prompt"):
        LatencyStudy(agent, cold=4, warm=3, sticky=3, prompt="else", study_id="kept").run(Silent())


def test_resuming_an_unknown_study_names_the_known_ones(store: Store) -> None:
    agent = ScriptedAgent(store)
    study(agent, study_id="kept").run(Silent())
    with pytest.raises(StudyError, match="kept"):
        LatencyStudy.resume(agent, "other")


def test_two_processes_cannot_run_one_study_at_once(store: Store) -> None:
    agent = ScriptedAgent(store)
    planned = study(agent, study_id="shared")
    planned.run(Silent())
    holder = store.studies.acquire("shared")
    with pytest.raises(StudyError, match="being run by process"):
        planned.run(Silent())
    store.studies.release(holder)
    planned.run(Silent())


def test_a_study_that_cannot_make_its_call_keeps_its_measurements_and_raises(store: Store) -> None:
    def script(number: int, _labels: Sequence[str]) -> Reply:
        return Reply(raises=RuntimeError("no credentials")) if number == 2 else Reply()

    agent = ScriptedAgent(store, script=script)
    planned = study(agent, warm=0, sticky=0)
    with pytest.raises(RuntimeError, match="no credentials"):
        planned.run(Silent())
    assert [call.state for call in planned.result().calls] == ["done", "done", "planned"]
    assert planned.result().state == "interrupted"


async def test_a_study_runs_inside_a_running_event_loop_without_blocking_it(store: Store) -> None:
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.005)

    def script(_number: int, _labels: Sequence[str]) -> Reply:
        before = turns
        wait_until(lambda: turns > before, "a turn of the caller's event loop during the call")
        return Reply()

    agent = ScriptedAgent(store, script=script)
    ticking = asyncio.create_task(turn())
    result = await study(agent).arun(Silent())
    ticking.cancel()
    assert result.state == "complete"
    assert turns >= len(agent.made) >= 9
    agent.script = lambda *_: Reply()
    assert study(agent, study_id="in a cell").run(Silent()).state == "complete"


async def test_the_call_of_a_cancelled_study_stays_planned_and_the_study_can_be_resumed(store: Store) -> None:
    # The third call does not end, so that the study is under way when it is cancelled, however late that is.
    agent = ScriptedAgent(store, script=lambda number, _: Reply(delay_s=0.0 if number < 2 else 600))
    planned = study(agent, study_id="cancelled", cold=20)
    running = asyncio.create_task(planned.arun(Silent()))
    await eventually(lambda: len(agent.made) >= 3, "the third call")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    stopped = planned.result()
    assert stopped.state == "interrupted"
    assert not [call for call in stopped.calls if call.state == "running"]
    agent.script = lambda *_: Reply()
    assert Counter(call.state for call in (await planned.arun(Silent())).calls) == {"done": 26}


def test_start_times_are_read_after_the_calls_and_stored_once(store: Store) -> None:
    call_counts: list[int] = []

    def starts(row: object) -> Start:
        call_counts.append(len(agent.made))
        return Start("found", 9.0)

    agent = ScriptedAgent(store, starts=starts)  # type: ignore[arg-type]
    planned = study(agent)
    result = planned.run(Silent())
    assert len(call_counts) == 6
    assert set(call_counts) == {len(agent.made)}
    assert [call.start_latency_ms for call in result.calls if call.scenario is Scenario.COLD] == [9.0] * 3
    planned.run(Silent())
    assert len(call_counts) == 6


def test_a_start_that_is_not_found_yet_is_a_state_and_can_be_found_by_running_again(store: Store) -> None:
    agent = ScriptedAgent(store, starts=lambda _: Start("not_found_yet"))
    planned = study(agent, warm=0, sticky=0)
    result = planned.run(Silent())
    assert {(call.start_state, call.start_latency_ms) for call in result.calls} == {("not_found_yet", None)}
    agent.starts = lambda _: Start("found", 8.0)
    assert {call.start_latency_ms for call in planned.run(Silent()).calls} == {8.0}


def test_a_search_that_outlives_the_deadline_is_not_found_yet(store: Store) -> None:
    release = threading.Event()
    begun: list[object] = []
    ended: list[object] = []

    def starts(row: object) -> Start:
        begun.append(row)
        release.wait(PATIENCE_S)
        ended.append(row)
        return Start("found", 8.0)

    agent = ScriptedAgent(store, starts=starts)  # type: ignore[arg-type]
    try:
        result = study(agent, warm=0, sticky=0, start_deadline_s=0.05).run(Silent())
    finally:
        release.set()
    assert {call.start_state for call in result.calls} == {"not_found_yet"}
    while len(ended) < len(begun):  # the searches left behind
        time.sleep(0.01)


def test_the_harness_floor_is_measured_with_an_answer_of_the_agents_own_kind(store: Store) -> None:
    result = study(ScriptedAgent(store)).run(Silent())
    assert result.floor.reason is None
    assert len(result.floor.durations_ms) >= 30
    assert (result.floor.content_type, result.floor.size_bytes) == ("application/json", 120)


def test_progress_is_a_line_of_text(store: Store) -> None:
    lines: list[str] = []
    study(ScriptedAgent(store)).run(LogLines(lines.append, interval_s=0))
    assert lines[-1].startswith("latency study · cold 3/3 · warm 3/3 · sticky 3/3 · 0 failed · ")


def test_a_plan_can_be_read_before_anything_is_called(store: Store) -> None:
    agent = ScriptedAgent(store)
    plan = study(agent, seed=4).plan()
    assert list(plan.columns) == ["position", "block", "scenario", "session"]
    assert len(plan) == 9
    assert agent.made == []


def test_what_workers_of_a_cluster_cannot_measure_is_refused_before_anything_is_stored(store: Store) -> None:
    nobody = "tcp://127.0.0.1:9"
    until = study(ScriptedAgent(store), until="failures within 2 %")
    with pytest.raises(StudyError, match="A study with a stopping rule makes its calls one after another"):
        until.run(Silent(), dask=nobody)
    with pytest.raises(StudyError, match=r"A load test is made by one machine.*Try: run it without dask="):
        LoadStudy(ScriptedAgent(store), loads=[1], seconds=1).run(Silent(), dask=nobody)  # type: ignore[arg-type]
    assert store.studies.list() == ()


_KILLED = """
import signal
import sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite begun in the background would hand down "ignore"
sys.path.insert(0, {here!r})
from latency_agent import Reply, ScriptedAgent
from loomlib.latency import LatencyStudy, Silent
from loomlib.store import Store
store = Store.open({url!r})
# The twentieth call does not end, so that the study is under way when it is killed, however late that is.
agent = ScriptedAgent(store, script=lambda n, _: Reply(duration_ms=10 + n, delay_s=0.03 if n < 20 else 600))
LatencyStudy(agent, cold=6, warm=6, sticky=6, study_id="killed", find_starts=False).run(Silent())
"""


def killed_study(url: str, after: Callable[[Store], bool], store: Store) -> None:
    script = _KILLED.format(here=str(Path(__file__).parent), url=url)
    process = subprocess.Popen([sys.executable, "-c", script])

    def has_come() -> bool:
        assert process.poll() is None, "the study ended before it could be killed"
        return after(store)

    try:
        wait_until(has_come, "the moment of the kill", pause_s=0.005)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()


def test_a_killed_study_resumes_without_repeating_a_measurement(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/loom.db"
    with Store.open(url) as store:
        killed_study(url, lambda opened: opened.measurements.counts("killed")["done"] >= 7, store)
        before = {row.position: row for row in store.measurements.list("killed", ["done"])}
        assert 7 <= len(before) < 18
        agent = ScriptedAgent(store, script=lambda n, _: Reply(duration_ms=1000 + n))
        result = LatencyStudy.resume(agent, "killed").run(Silent())
        after = {row.position: row for row in store.measurements.list("killed")}
        assert {row.state for row in after.values()} == {"done"}
        assert len(after) == 18
        assert {place: after[place] for place in before} == before
        timed = [labels for labels in (row.labels for row in store.invocations.list(limit=None)) if "timed" in labels]
        made_again = [labels for labels in timed if "attempt:2" in labels]
        assert len(made_again) <= 1
        assert max(Counter(timed).values()) == 1
        # The one that was out when the kill came may have died before it was sent, or in the call that opens a session.
        assert len(timed) - len(made_again) in (17, 18)
        assert [call.position for call in result.calls if call.attempt == 2] == [
            int(label.removeprefix("position:")) for labels in made_again for label in labels if "position" in label
        ]


def test_a_call_that_ended_before_the_kill_is_adopted_and_not_made_again(store: Store) -> None:
    agent = ScriptedAgent(store)
    planned = study(agent, study_id="adopted", warm=0, sticky=0, cold=2)
    # What a process leaves that is killed between the end of the call and the study's own note of it:
    ledger = opened(planned)
    first = planned.units()[0]
    assert ledger.claim(first, "s" * 40)
    asyncio.run(agent.measure("2+2", session_id="s" * 40, labels=call_labels("adopted", first)))
    result = planned.run(Silent())
    assert [call.state for call in result.calls] == ["done", "done"]
    assert result.calls[0].session_id == "s" * 40
    assert len(agent.made) == 2


def test_a_study_stops_when_its_budget_is_used_up_and_continues_when_run_again(store: Store) -> None:
    # The third call takes the whole budget, however busy the machine is before it.
    agent = ScriptedAgent(store, script=lambda number, _: Reply(delay_s=3.0 if number == 2 else 0.0))
    planned = study(agent, study_id="budget", warm=0, sticky=0, cold=20)
    with pytest.raises(StudyInterruptedError, match="budget of"):
        planned.run(Silent(), budget_s=3.0)
    stopped = planned.result()
    assert stopped.state == "interrupted"
    assert 0 < stopped.answered < 20
    agent.script = lambda *_: Reply()
    assert planned.run(Silent(), budget_s=600).answered == 20
    assert len(agent.timed()) == 20


def test_a_call_whose_outcome_nobody_saw_is_made_again_as_attempt_two(store: Store) -> None:
    agent = ScriptedAgent(store)
    planned = study(agent, study_id="unseen", warm=0, sticky=0, cold=2)
    assert opened(planned).claim(planned.units()[0], "s" * 40)
    result = planned.run(Silent())
    assert [(call.state, call.attempt) for call in result.calls] == [("done", 2), ("done", 1)]
    assert result.calls[0].session_id != "s" * 40


_FULL = """
import resource, signal, sys
sys.path.insert(0, {here!r})
from latency_agent import ScriptedAgent
from loomlib.errors import StoreFullError
from loomlib.latency import LatencyStudy, Silent
from loomlib.store import Store
store = Store.open({url!r})
agent = ScriptedAgent(store)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))  # no file may grow beyond it, as on a full disk
try:
    LatencyStudy(agent, cold=40, warm=0, sticky=0, study_id="full", find_starts=False).run(Silent())
except StoreFullError as error:
    sys.exit(42)
"""


def test_a_study_that_fills_the_disk_stops_and_resumes_when_there_is_space(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/loom.db"
    script = _FULL.format(here=str(Path(__file__).parent), url=url)
    assert subprocess.run([sys.executable, "-c", script], timeout=PATIENCE_S).returncode == 42
    with Store.open(url) as store:
        before = {row.position: row for row in store.measurements.list("full", ["done"])}
        assert 0 < len(before) < 40
        result = LatencyStudy.resume(ScriptedAgent(store), "full").run(Silent())
        after = {row.position: row for row in store.measurements.list("full")}
        assert [call.state for call in result.calls] == ["done"] * 40
        assert {place: after[place] for place in before} == before


def test_an_interrupted_study_stops_at_ctrl_c_and_keeps_its_calls(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/loom.db"
    with Store.open(url) as store:
        script = _KILLED.format(here=str(Path(__file__).parent), url=url)
        process = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True)
        wait_until(lambda: store.measurements.counts("killed")["done"] >= 4, "four calls", pause_s=0.005)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE_S)
        assert errors.rstrip().endswith("KeyboardInterrupt")
        stopped = StudyResult.load(store, "killed")
        assert stopped.state == "interrupted"
        assert {call.state for call in stopped.calls} == {"done", "planned"}
        assert Counter(
            call.state for call in LatencyStudy.resume(ScriptedAgent(store), "killed").run(Silent()).calls
        ) == {"done": 18}


class PausingAgent(ScriptedAgent):
    """Tells of garbage collections, as an agent of the local AgentCore does."""

    def garbage_collections_ms(self, invocation_ids: Sequence[int]) -> dict[int, float]:
        rows = [self.store.invocations.get(id) for id in invocation_ids]
        return {row.id: 66.0 if row.client_duration_ms == 100 else 0.0 for row in rows if row is not None}


def test_garbage_collections_of_warm_calls_are_stored_and_named(store: Store) -> None:
    def script(_number: int, labels: Sequence[str]) -> Reply:
        return Reply(100.0 if "timed" in labels else 10.0)

    planned = LatencyStudy(PausingAgent(store, script=script), cold=0, warm=6, sticky=0, find_starts=False)
    planned.run(Silent())
    result = planned.result()
    assert [call.garbage_collection_ms for call in result.calls] == [66.0] * 6
    assert (
        "6 of 6 warm calls contain a full garbage collection of Python, 66 ms at the median; a cold call ends before "
        "it begins. Without it half of them take at most 34 ms."
    ) in result.sentences()
    assert result.measurements()["garbage_collection_ms"].tolist() == [66.0] * 6


def test_an_agent_that_tells_of_no_garbage_collection_leaves_them_unknown(store: Store) -> None:
    result = study(ScriptedAgent(store)).run(Silent())
    assert {call.garbage_collection_ms for call in result.calls} == {None}
    assert "garbage collection" not in " ".join(result.sentences())
