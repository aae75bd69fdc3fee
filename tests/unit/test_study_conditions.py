"""The machine's conditions: read from the kernel's files, stored with a study, and what they do to its gate."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from latency_agent import ScriptedAgent
from new_store import new_store

from loomlib.experiments import (
    Gate,
    MachineConditions,
    MachineWatch,
    Silent,
    StudyConditions,
    StudyLedger,
    watched_machine,
)
from loomlib.jobs.machine import MachineFiles
from loomlib.latency import LatencyStudy, StudyResult
from loomlib.statistics import estimate_share
from loomlib.store import Store

QUIET = MachineConditions(
    duration_s=60, processors=2, samples=600, tasks=1.1, load_1_min=1.0, steal_share=0.0, throttled_share=0.0,
    pressure_share=0.05, delay_p50_ms=0.2, delay_p95_ms=0.9, delay_max_ms=6.0,
)  # fmt: skip
UNKNOWN = MachineConditions(duration_s=60, processors=2, samples=600)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with new_store(tmp_path) as opened:
        yield opened


def files(root: Path, **contents: str) -> MachineFiles:
    """Kernel files below `root`, by the last part of their path."""
    places = {"stat": "proc/stat", "loadavg": "proc/loadavg", "pressure": "proc/pressure/cpu"}
    places |= {"cgroup": "proc/self/cgroup", "cpu_stat": "sys/fs/cgroup/box/cpu.stat"}
    for name, content in contents.items():
        path = root / places[name]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return MachineFiles(root)


def study(store: Store, conditions: MachineConditions, durations: int = 12) -> StudyResult:
    """A stored study of warm calls (10 ms each) that was measured under such conditions."""
    planned = LatencyStudy(ScriptedAgent(store), cold=0, warm=durations, sticky=0, find_starts=False)
    planned.run(Silent())
    ledger = StudyLedger(store, planned.study_id)
    ledger.save("complete", machine=[conditions.stored()])
    return planned.result()


def test_counters_are_read_from_the_kernels_files(tmp_path: Path) -> None:
    before = files(
        tmp_path,
        stat="cpu  100 0 100 700 0 0 0 100 50 0\ncpu0 1 2 3\n",
        loadavg="3.50 1.00 0.50 9/823 4711\n",
        pressure="some avg10=1.00 avg60=1.00 avg300=1.00 total=2000000\nfull avg10=0.00 total=0\n",
        cgroup="0::/box\n",
        cpu_stat="usage_usec 5\nnr_throttled 2\nthrottled_usec 1500000\n",
    ).counters()
    assert (before.cpu_ticks, before.steal_ticks, before.throttled_s, before.pressure_s) == (1000, 100, 1.5, 2.0)
    assert (MachineFiles(tmp_path).load(), MachineFiles(tmp_path).runnable_tasks()) == (3.5, 8)


def test_throttling_is_read_from_the_first_version_of_control_groups_too(tmp_path: Path) -> None:
    (tmp_path / "sys/fs/cgroup/cpu").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/cpu/cpu.stat").write_text("nr_periods 3\nthrottled_time 2500000000\n")
    assert files(tmp_path, cgroup="4:cpu,cpuacct:/\n1:name=systemd:/\n").counters().throttled_s == 2.5


@pytest.mark.parametrize("content", ["", "nonsense", "cpu a b c\n", "some total=x\n", "\x00\xff"])
def test_missing_or_odd_files_are_unknown_and_never_zero(tmp_path: Path, content: str) -> None:
    for root in (tmp_path / "empty", tmp_path / "odd"):
        root.mkdir()
    odd = files(tmp_path / "odd", stat=content, loadavg=content, pressure=content, cgroup=content, cpu_stat=content)
    for place in (MachineFiles(tmp_path / "empty"), odd):
        read = place.counters()
        assert (read.cpu_ticks, read.steal_ticks, read.throttled_s, read.pressure_s) == (None,) * 4
        assert (place.load(), place.runnable_tasks()) == (None, None)

        async def watch(place: MachineFiles = place) -> MachineConditions:
            async with watched_machine(place) as machine:
                await asyncio.sleep(0.25)
                return machine.conditions()

        conditions = asyncio.run(watch())
        assert (conditions.tasks, conditions.steal_share, conditions.load_1_min) == (None, None, None)
        assert conditions.delay_p50_ms is not None
        assert "CPU time taken by the hypervisor unknown" in conditions.note()


def test_stolen_throttled_and_waiting_time_are_shares_of_the_time_that_passed(tmp_path: Path) -> None:
    place = files(
        tmp_path, stat="cpu 0 0 0 900 0 0 0 100\n", cgroup="0::/box\n", cpu_stat="throttled_usec 0\n",
        pressure="some total=0\n",
    )  # fmt: skip
    watch, began = MachineWatch(place), time.monotonic()
    files(
        tmp_path, stat="cpu 0 0 0 980 0 0 0 120\n", cpu_stat="throttled_usec 3600000000\n",
        pressure="some total=3600000000\n",
    )  # fmt: skip
    while time.monotonic() <= began:
        pass
    conditions = watch.conditions()
    assert conditions.steal_share == pytest.approx(0.2)
    assert (conditions.throttled_share, conditions.pressure_share) == (1.0, 1.0)


def test_a_blocked_event_loop_is_the_clients_own_delay() -> None:
    async def watch() -> MachineConditions:
        async with watched_machine() as machine:
            await asyncio.sleep(0.15)
            time.sleep(0.4)
            await asyncio.sleep(0.15)
            return machine.conditions()

    conditions = asyncio.run(watch())
    assert conditions.delay_max_ms is not None
    assert conditions.delay_max_ms > 250


@pytest.mark.parametrize(
    ("change", "phrase"),
    [
        ({"tasks": 4.1}, "4.1 tasks ran or waited on 2 processors"),
        ({"steal_share": 0.06}, "6 % of CPU time taken by the hypervisor"),
        ({"throttled_share": 0.2}, "stopped at the CPU limit 20 % of the time"),
        ({"delay_p95_ms": 11.0}, "1 in 20 wake-ups of the client more than 11 ms late"),
        ({"tasks": None, "load_1_min": 19.0}, "load average 19 on 2 processors"),
    ],
)
def test_each_bound_makes_the_first_sentence_say_so_and_the_gate_unclear(
    store: Store, change: dict[str, float], phrase: str
) -> None:
    result = study(store, MachineConditions(**{**QUIET.stored(), **change}))
    first = result.sentences()[0]
    assert first.startswith("The machine was overloaded while this was measured: ")
    assert phrase in first
    for limit in (5, 900):
        gate = result.gate(limit)
        would_be, verb = ("missed", "miss") if limit == 5 else ("passed", "pass")
        assert (gate.outcome, gate.is_missed) == ("unclear", False)
        assert gate.sentence().startswith(
            f"Gate unclear: the machine was overloaded. Taken at face value, the measured times would {verb} it"
        )
        assert gate.summary()["outcome"] == "unclear"
        assert result.gate(limit, allow_overload=True).outcome == would_be
    assert first in result._repr_html_().replace("\u00a0", " ")
    summary = json.loads(json.dumps(result.summary(), allow_nan=False))
    assert summary["machine"]["is_disturbed"] is True


def test_the_sentence_of_an_overloaded_gate_reads_on_from_each_outcome() -> None:
    begin = "Gate unclear: the machine was overloaded. Taken at face value, the measured times would "
    crowded = StudyConditions((MachineConditions(duration_s=9, processors=2, samples=90, tasks=12.0),))
    figure = estimate_share(1, 2)
    for outcome, text, rest in (
        ("missed", "Gate missed by 1.71 s: p90 2.71 s.", "miss it by 1.71 s: p90 2.71 s."),
        ("missed", "Gate missed: all 3 calls miss the limit.", "miss it: all 3 calls miss the limit."),
        ("passed", "Gate passed: p90 200 ms.", "pass it: p90 200 ms."),
        ("unclear", "Gate unclear: 3 answered calls.", "not decide it either: 3 answered calls."),
    ):
        gate = Gate(outcome=outcome, limit=1.0, figure=figure, text=text)
        assert gate.under(crowded).sentence() == begin + rest
        assert gate.under(StudyConditions()) is gate


@pytest.mark.parametrize("conditions", [QUIET, UNKNOWN])
def test_a_quiet_or_unknown_machine_changes_nothing(store: Store, conditions: MachineConditions) -> None:
    result = study(store, conditions)
    assert "overloaded" not in " ".join(result.sentences())
    assert result.gate(900).outcome == "passed"
    assert any(note.startswith("The machine during the measurement (2 processors): ") for note in result.method().notes)


def test_each_run_of_a_study_stores_its_conditions(store: Store) -> None:
    planned = LatencyStudy(ScriptedAgent(store), cold=2, warm=2, sticky=0, find_starts=False)
    planned.run(Silent())
    runs = StudyLedger(store, planned.study_id).stored.environment["machine"]
    assert len(runs) == 1
    assert runs[0]["processors"] >= 1
    assert runs[0]["duration_s"] > 0


def test_one_disturbed_run_of_a_resumed_study_is_enough() -> None:
    conditions = StudyConditions((QUIET, MachineConditions(**{**QUIET.stored(), "tasks": 40.0})))
    assert "in 1 of its 2 runs: 40 tasks ran or waited on 2 processors" in conditions.sentence()


def test_sampling_takes_next_to_no_processor_time_and_starts_no_process_or_thread() -> None:
    async def watch() -> float:
        async with watched_machine():
            threads, began = threading.active_count(), time.thread_time()
            await asyncio.sleep(2)
            assert threading.active_count() <= threads
            return time.thread_time() - began

    # Only this thread's time: others of the test process work too. One run may include a garbage collection.
    assert min(asyncio.run(watch()) for _ in range(3)) < 0.1
