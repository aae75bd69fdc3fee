"""Evaluations and studies on a Dask cluster: the same stored run, whatever happens to workers."""

from __future__ import annotations

import asyncio
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import dask_targets
import pytest
from dask_cluster import LocalDask, local_dask
from echo_agent import ECHO_AGENT
from loom_command import LoomCommand
from waiting import wait_until

import loomlib as loom
from loomlib import local
from loomlib.errors import ClusterError, CreditsUsedUpError, EvalError, EvalInterruptedError, MissingExtraError
from loomlib.evals import EvalCase, EvalSet, Turn
from loomlib.evals.runs import CallableTarget, EvalRun, Silent
from loomlib.jobs.dask import DaskCluster
from loomlib.store import Store, Tenants

_TARGETS = str(Path(__file__).parent)
SLOW_AGENT = ECHO_AGENT.replace("    if payload", "    __import__('time').sleep(1)\n    if payload")


class Seen(Silent):
    """Keeps the progress that was shown."""

    def __init__(self) -> None:
        self.latest: Any = None
        self.stages: set[str] = set()

    def update(self, snapshot: Any) -> None:
        self.latest = snapshot
        self.stages.add(snapshot.stage)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def cluster(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalDask]:
    with local_dask(
        tmp_path_factory.mktemp("dask"), workers=2, threads=2, LOOM_HOME=str(home), PYTHONPATH=_TARGETS
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def bench(home: Path) -> Iterator[loom.Workbench]:
    with loom.connect(home=home) as bench:
        yield bench


@pytest.fixture(scope="module")
def echo(bench: loom.Workbench, tmp_path_factory: pytest.TempPathFactory) -> loom.Agent:
    code = tmp_path_factory.mktemp("echo") / "agent.py"
    code.write_text(ECHO_AGENT)
    return bench.deploy(code, name="echo")


@pytest.fixture(scope="module")
def slow(bench: loom.Workbench, tmp_path_factory: pytest.TempPathFactory) -> loom.Agent:
    code = tmp_path_factory.mktemp("slow") / "agent.py"
    code.write_text(SLOW_AGENT)
    return bench.deploy(code, name="slow")


def prompts(texts: list[str]) -> EvalSet:
    cases = [EvalCase(id=str(at), turns=(Turn(prompt=text),)) for at, text in enumerate(texts)]
    return EvalSet(name="prompts", cases=tuple(cases))


def noted_set(file: Path, count: int, seconds: float, *, open_from: int | None = None) -> EvalSet:
    """Cases that take some seconds; those from `open_from` on are answered once `FILE.open` exists."""
    quick = count if open_from is None else open_from
    return prompts([f"{file}|{number}|{seconds if number < quick else 'open'}" for number in range(count)])


def is_own(text: str, case: EvalCase) -> bool:
    return text == case.prompt.split("|")[1]


def check_each_case_once(run: EvalRun, evalset: EvalSet, repeats: int = 1) -> None:
    rows = run.rows()
    assert run.state == "complete", run.reason
    assert Counter(rows["case"]) == {case.id: repeats for case in evalset.cases}
    assert run.summary().evaluators[0].scored == len(evalset.cases) * repeats


def test_workers_ask_an_agent_and_the_run_is_the_same_as_any(
    bench: loom.Workbench, echo: loom.Agent, cluster: LocalDask
) -> None:
    evalset = prompts([f"number {number}" for number in range(12)])

    def quotes(text: str, case: EvalCase) -> bool:
        return case.prompt in text

    run = echo.evaluate(evalset, quotes, repeats=2, runner="dask", dask=cluster.address, progress=Silent())
    check_each_case_once(run, evalset, repeats=2)
    judged = list(run.judgements())
    assert all(case.passed for case in run.outcomes())
    assert len({case.answer.metadata["worker"] for case in judged}) == 2
    stored_ids = {row.id for row in bench.context.store.invocations.list(limit=None)}
    assert {turn.invocation_id for case in judged for turn in case.answer.turns} <= stored_ids
    assert bench.telemetry.session_count() == 0
    again = echo.evaluate(evalset, quotes, repeats=2, progress=Silent())
    assert again.rows()["reused"].all()
    assert echo.context.clients.connection.environment["AWS_SECRET_ACCESS_KEY"] not in cluster.log()


def test_a_credit_that_is_used_up_on_workers_ends_the_run_and_after_a_top_up_it_goes_on(
    bench: loom.Workbench, echo: loom.Agent, cluster: LocalDask, home: Path
) -> None:
    evalset = prompts([f"credit {number}" for number in range(8)])

    def quotes(text: str, case: EvalCase) -> bool:
        return case.prompt in text

    with Tenants.open(f"sqlite:///{home}/loom.db") as tenants:
        if not any(row.name == "default" for row in tenants.list()):
            tenants.add("default")
        used = next(row.used for row in tenants.list() if row.name == "default")
        tenants.set_credit("default", used + Decimal("0.03"))
        try:
            with pytest.raises(CreditsUsedUpError, match=r"credit of \$\S+ is used up"):
                echo.evaluate(evalset, quotes, runner="dask", dask=cluster.address, progress=Silent())
            row = bench.context.store.eval_runs.list()[0]
            assert row.state == "interrupted"
            results = bench.context.store.eval_answers.results(row.id)
            assert 0 < len(results) <= 3
        finally:
            tenants.set_credit("default", None)
    run = echo.evaluate(evalset, quotes, run_id=row.id, runner="dask", dask=cluster.address, progress=Silent())
    check_each_case_once(run, evalset)
    prompt_counts = Counter(call.prompt for call in bench.context.store.invocations.list(echo.entry.id, limit=None))
    assert {prompt: count for prompt, count in prompt_counts.items() if prompt and prompt.startswith("credit")} == {
        case.prompt: 1 for case in evalset.cases
    }


def test_workers_with_another_database_are_refused_by_name(
    echo: loom.Agent, cluster: LocalDask, tmp_path: Path
) -> None:
    with pytest.raises(EvalError, match=r"another database than the run .*worker-.*DATABASE_URL"):
        echo.evaluate(
            prompts(["a", "b"]), is_own, dask=cluster.address, store=str(tmp_path / "other.db"), progress=Silent()
        )


def test_what_workers_cannot_make_is_refused_before_anything_is_asked(cluster: LocalDask, tmp_path: Path) -> None:
    options: dict[str, Any] = {"dask": cluster.address, "store": str(tmp_path / "loom.db"), "progress": Silent()}

    def local_function(prompt: str) -> str:
        return prompt

    with pytest.raises(ClusterError, match="Workers cannot import this function"):
        loom.evaluate(local_function, prompts(["a"]), is_own, **options)


def test_a_cluster_that_cannot_be_used_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def evaluate(**options: Any) -> None:
        loom.evaluate(
            dask_targets.noted, prompts(["a"]), is_own, store=str(tmp_path / "loom.db"), progress=Silent(), **options
        )

    nobody = DaskCluster(address="tcp://127.0.0.1:9", connect_timeout_s=0.2)
    with pytest.raises(ClusterError, match=r"The Dask scheduler cannot be reached .*127\.0\.0\.1:9"):
        evaluate(dask=nobody)
    with pytest.raises(ValueError, match="needs the scheduler"):
        evaluate(runner="dask")
    with pytest.raises(ValueError, match="like tcp://host:8786"):
        evaluate(dask="localhost")
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"Dask is not installed .*loomlib\[dask\]"):
        evaluate(dask=nobody)


def test_a_stopped_run_goes_on_without_dask_and_asks_no_stored_case_again(cluster: LocalDask, tmp_path: Path) -> None:
    file, store = tmp_path / "asked", str(tmp_path / "loom.db")
    evalset, target = noted_set(file, 40, 0.05, open_from=20), CallableTarget(dask_targets.noted)
    progress = Seen()

    async def stopped() -> None:
        running = asyncio.ensure_future(
            loom.aevaluate(
                target, evalset, is_own, run_id="stopped", store=store, dask=cluster.address, progress=progress
            )
        )
        while progress.latest is None or not progress.latest.answered:
            await asyncio.sleep(0.01)
        running.cancel()
        await running

    with pytest.raises((asyncio.CancelledError, EvalInterruptedError)):
        asyncio.run(stopped())
    Path(f"{file}.open").touch()
    with Store.open(f"sqlite:///{store}") as reopened_store:
        places = [result.place for result in reopened_store.eval_answers.results("stopped")]
        assert reopened_store.eval_runs.get("stopped").state == "interrupted"
    assert 0 < len(places) < 40
    wait_until(lambda: _is_still(file), what="the end of the cases that workers were asking")
    before = Counter(file.read_text().split())
    run = loom.evaluate(target, evalset, is_own, run_id="stopped", store=store, progress=Silent())
    check_each_case_once(run, evalset)
    after = Counter(file.read_text().split())
    assert [str(place) for place in places if after[str(place)] != before[str(place)]] == []


def other_version(folder: Path, package: str) -> Path:
    """A folder for the import path, in which a package has another version than everywhere else."""
    metadata = folder / f"{package}-0.0.1.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 0.0.1\n")
    return folder


def evaluate_nothing(cluster: LocalDask, tmp_path: Path) -> Path:
    """Ask three cases that nobody may be asked; return the file that would name them."""
    file = tmp_path / "asked"
    evalset = noted_set(file, 3, 0.0)
    store = str(tmp_path / "loom.db")
    loom.evaluate(
        dask_targets.noted, evalset, is_own, run_id="run", store=store, dask=cluster.address, progress=Silent()
    )
    return file


@pytest.mark.parametrize("place", ["the scheduler", "a worker"])
def test_another_dask_than_the_clients_is_refused_by_its_place(place: str, cluster: LocalDask, tmp_path: Path) -> None:
    path = other_version(tmp_path / "path", "distributed")
    scheduler = path if place == "the scheduler" else None
    where = "the scheduler of tcp://" if scheduler else r"tcp://127\.0\.0\.1:\d+ of tcp://"
    with cluster.beside(tmp_path / "dask", workers=1, path=scheduler) as own:
        if place == "a worker":
            own.add_workers(1, path=path)
        with pytest.raises(
            ClusterError, match=rf"other versions than this process: distributed 0\.0\.1 instead of .*{where}"
        ):
            evaluate_nothing(own, tmp_path)
        assert not (tmp_path / "asked").exists()


def test_another_release_of_loom_on_a_worker_is_refused_by_its_name(cluster: LocalDask, tmp_path: Path) -> None:
    with cluster.beside(tmp_path / "dask", workers=0) as own:
        own.add_workers(1, path=other_version(tmp_path / "path", "loomlib"))
        with pytest.raises(EvalError, match=r"The worker has loomlib 0\.0\.1, and the run was started by .*worker-1"):
            evaluate_nothing(own, tmp_path)
        assert not (tmp_path / "asked").exists()
        own.kill_worker(0)
        own.add_workers(1)
        file = evaluate_nothing(own, tmp_path)  # the same run goes on
    assert sorted(file.read_text().split()) == ["0", "1", "2"]


def test_a_lost_scheduler_is_one_clear_error_and_the_run_goes_on_with_another_or_without_dask(
    cluster: LocalDask, tmp_path: Path, store_url: str
) -> None:
    file, progress = tmp_path / "asked", Seen()
    evalset = noted_set(file, 30, 0.05, open_from=15)
    options: dict[str, Any] = {"run_id": "lost", "store": store_url, "progress": progress}
    with cluster.beside(tmp_path / "lost", workers=2) as own:

        def kill() -> None:
            wait_until(
                lambda: progress.latest is not None and progress.latest.answered, what="a first answer", pause_s=0.005
            )
            own.scheduler.kill()

        killer = threading.Thread(target=kill)
        killer.start()
        with pytest.raises(ClusterError, match=r"The Dask scheduler ended .*tcp://.*resume the run"):
            loom.evaluate(dask_targets.noted, evalset, is_own, dask=own.address, **options)
        killer.join()
    Path(f"{file}.open").touch()
    with Store.open(store_url) as reopened_store:
        assert reopened_store.eval_runs.get("lost").state == "interrupted"
        stored_cases = {str(result.place) for result in reopened_store.eval_answers.results("lost")}
    wait_until(lambda: _is_still(file), what="the end of what workers were asking")
    before = Counter(file.read_text().split())
    assert 0 < len(stored_cases) < 30
    if store_url.startswith("sqlite"):
        run = loom.evaluate(dask_targets.noted, evalset, is_own, **options)
    else:
        with cluster.beside(tmp_path / "another", workers=1, threads=2) as own:
            run = loom.evaluate(dask_targets.noted, evalset, is_own, dask=own.address, **options)
    check_each_case_once(run, evalset)
    after = Counter(file.read_text().split())
    assert [case for case in stored_cases if after[case] != before[case]] == []
    assert set(after) == {str(number) for number in range(30)}


def _is_still(file: Path) -> bool:
    size = file.stat().st_size
    time.sleep(0.3)
    return file.stat().st_size == size


@pytest.mark.parametrize(
    ("kills", "cases"),
    [(3, 60), pytest.param(100, 600, marks=[pytest.mark.long, pytest.mark.timeout(1800)])],
)
def test_workers_killed_at_random_lose_nothing_and_store_nothing_twice(
    kills: int, cases: int, store_url: str, cluster: LocalDask, tmp_path: Path
) -> None:
    file, progress, rng = tmp_path / "asked", Seen(), random.Random(kills)
    # The last cases are answered after the last kill.
    evalset = prompts([f"{file}|{number}|{0.1 if number < cases - 12 else 'open'}" for number in range(cases)])
    with cluster.beside(tmp_path / "dask", workers=0) as own:
        killed_pids, over = set[str](), threading.Event()

        def kill() -> None:
            try:
                kill_workers()
            finally:
                Path(f"{file}.open").touch()

        def kill_workers() -> None:
            wait_until(
                lambda: any("waiting for workers" in stage for stage in progress.stages), what="waiting for workers"
            )
            own.add_workers(3, threads=2)
            # By the answers, so that a slow machine sees as many kills while work goes on as a fast one.
            while len(killed_pids) < kills and not over.is_set():
                reached = (len(killed_pids) + 1) * cases // (2 * kills)
                wait_until(lambda: over.is_set() or progress.latest.answered >= reached, what="answers", pause_s=0.005)  # noqa: B023
                over.wait(rng.uniform(0, 0.1))
                place = rng.randrange(len(own.workers))
                killed_pids.add(str(own.workers[place].pid))
                own.kill_worker(place)
                own.add_workers(1, threads=2)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            run = loom.evaluate(
                dask_targets.noted, evalset, is_own, store=store_url, progress=progress,
                dask=DaskCluster(address=own.address, batch=2),
            )  # fmt: skip
        finally:
            over.set()
            killer.join()
    check_each_case_once(run, evalset)
    call_counts = Counter(file.read_text().split())
    assert set(call_counts) == {str(number) for number in range(cases)}
    pids: dict[str, list[str]] = {}
    for line in Path(f"{file}.pids").read_text().splitlines():
        number, pid = line.split()
        pids.setdefault(number, []).append(pid)
    lost = Counter(pid for askers in pids.values() for pid in askers[:-1])
    # A case is asked again only after its worker was killed. Workers store nothing, so a killed one loses the two tasks
    # that each of its two threads has: one that runs, and one whose answers were not collected yet. Each has two cases.
    assert set(lost) <= killed_pids
    assert max(lost.values(), default=0) <= 8
    assert len(killed_pids) == kills


def test_workers_make_the_calls_of_a_latency_study(bench: loom.Workbench, echo: loom.Agent, cluster: LocalDask) -> None:
    study = loom.LatencyStudy(echo, cold=4, warm=4, sticky=4, find_starts=False)
    result = study.run(Silent(), dask=cluster.address)
    assert result.state == "complete"
    assert all(call.is_done for call in result.calls)
    rows = bench.context.store.measurements.list(study.study_id)
    assert len({row.details["worker"] for row in rows}) == 2
    blocks: dict[int, set[str]] = {}
    for row in rows:
        if row.scenario != "sticky":
            blocks.setdefault(row.block, set()).add(row.details["worker"])
    assert all(len(workers) == 1 for workers in blocks.values())
    assert len({row.session_id for row in rows if row.scenario == "sticky"}) == 1
    label = f"study:{study.study_id}"
    calls = [row for row in bench.context.store.invocations.list(limit=None) if label in row.labels]
    assert sum("timed" in row.labels for row in calls) == 12
    assert "of a Dask cluster" in " ".join(result.method().notes)


def check_a_killed_call_is_made_again(slow: loom.Agent, cluster: LocalDask) -> None:
    study = loom.LatencyStudy(slow, cold=4, warm=0, sticky=0, find_starts=False)
    store = slow.context.store

    def kill() -> None:
        wait_until(
            lambda: any(row.state == "running" for row in store.measurements.list(study.study_id)), what="a first call"
        )
        cluster.kill_worker(0)
        cluster.add_workers(1, threads=2)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        result = study.run(Silent(), dask=cluster.address)
    finally:
        killer.join()
    assert result.state == "complete"
    assert [call.is_done for call in result.calls] == [True] * 4
    assert len({call.invocation_id for call in result.calls}) == 4


def test_a_call_whose_worker_was_killed_is_made_by_another(slow: loom.Agent, cluster: LocalDask) -> None:
    check_a_killed_call_is_made_again(slow, cluster)


def test_a_call_whose_worker_was_killed_is_made_by_another_on_postgresql(
    postgresql_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", postgresql_url)
    (tmp_path / "agent.py").write_text(SLOW_AGENT)
    home = tmp_path / "home"
    with loom.connect(home=home) as bench, local_dask(tmp_path / "dask", threads=2, LOOM_HOME=str(home)) as cluster:
        agent = bench.deploy(tmp_path / "agent.py", name="slow")
        assert agent.context.store.url.startswith("postgresql")
        check_a_killed_call_is_made_again(agent, cluster)
    local.stop(home)


def test_the_command_evaluates_on_a_cluster(
    echo: loom.Agent, home: Path, cluster: LocalDask, loom_command: LoomCommand, tmp_path: Path
) -> None:
    prompts(["one", "two"]).write(tmp_path / "set.json")
    arguments = ("evaluate", echo.name, "set.json", "-e", "regex:o", "--dask", cluster.address)
    result = loom_command.run(*arguments, environment={**os.environ, "LOOM_HOME": str(home)}, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "2/2 answered" in result.stderr


@pytest.mark.long
def test_a_case_that_ends_every_worker_fails_and_the_others_are_answered(cluster: LocalDask, tmp_path: Path) -> None:
    evalset = prompts(["end", "a", "b"])
    with cluster.beside(tmp_path / "dask", workers=1) as own:
        over = threading.Event()

        def replace_workers() -> None:
            while not over.wait(0.1):
                if not own.workers[0].is_running:
                    own.kill_worker(0)
                    own.add_workers(1)

        keeper = threading.Thread(target=replace_workers)
        keeper.start()
        try:
            run = loom.evaluate(
                dask_targets.deadly, evalset, lambda text, case: text == case.prompt, progress=Silent(),
                store=str(tmp_path / "loom.db"), dask=DaskCluster(address=own.address, batch=3),
            )  # fmt: skip
        finally:
            over.set()
            keeper.join()
    assert run.state == "complete"
    assert run.summary().evaluators[0].scored == 2
    failures = run.failures()
    assert list(failures["case"]) == ["0"]
    assert "Every worker that took this task ended" in failures["message"].iloc[0]
