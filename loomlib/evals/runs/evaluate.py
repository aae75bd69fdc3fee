"""`evaluate` and `rescore`: send every case of a set to a target, score the answers, store everything, summarize."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

from loomlib.aws import Clients
from loomlib.errors import EvalError, EvalInterruptedError
from loomlib.experiments import choose_progress, new_id
from loomlib.jobs import OwnThread
from loomlib.jobs.dask import DaskCluster, chosen_cluster
from loomlib.store import EvalRunRow, Store, StoredResult
from loomlib.store.location import StoreLocation, locate_store

from ..compare.summaries import summarize_gathered
from ..evaluators.connecting import connected
from ..registry import Choice
from ..targets import Target, as_target
from ..values.eval_set import EvalSet
from ..values.evaluator import Evaluator
from .assignment import RunEvaluators
from .eval_run import EvalRun
from .execution import RunExecution
from .ledger import EvalLedger
from .options import Budget, RunOptions
from .outcome_rows import garbage_collection_paused, read_gathered
from .progress import Progress, RunSnapshot
from .stored_runs import new_row, stored_set


def evaluate(
    target: Any,
    evalset: EvalSet,
    evaluators: Sequence[Choice] | Choice = (),
    repeats: int = 1,
    *,
    concurrency: int | None = None,
    timeout_s: float | None = None,
    budget: Budget | None = None,
    retries: int = 2,
    name: str = "",
    run_id: str | None = None,
    reuse: bool = True,
    measure: bool = True,
    judge_concurrency: int = 8,
    judge_timeout_s: float | None = 300.0,
    progress: Progress | None = None,
    store: Store | str | None = None,
    clients: Clients | None = None,
    runner: str = "process",
    dask: DaskCluster | str | None = None,
) -> EvalRun:
    """Send every case of a set to a target, score the answers, store everything and return the run.

    Answers and scores are stored as they arrive. An evaluation that was killed resumes with its `run_id`. A new run of
    the same agent sends only the cases that have changed; if only a case's expectation has changed, its stored answer
    is scored again. Failures to run and failures to score are values in the run and are never raised. It works in a
    notebook, whose own event loop keeps running.

    Args:
        target: An agent, a function of the prompt, or a `Target`.
        evalset: The cases.
        evaluators: Names, functions `(answer_text, case) -> bool | float`, or evaluators. They score in addition to
            those that the set and its cases specify.
        repeats: How many times each case is run.
        concurrency: Number of cases that run at once; None uses the target's default (4 locally, 10 on AWS).
        timeout_s: Time limit of a turn in seconds; None for no limit.
        budget: Limits in dollars, tokens or seconds. A run that reaches one is "stopped" and can be resumed.
        retries: Maximum number of retries of a case, each in a new session, after throttling or a transport failure.
        name: A name for the run.
        run_id: Id of a stored run to resume; None creates a new run.
        reuse: Reuse stored answers of the same target to the same request; False sends every case again.
        measure: Read traces for tools, tokens and cost even when no evaluator needs them.
        judge_concurrency: Maximum number of slow evaluators that run at once.
        judge_timeout_s: Time limit of a slow evaluator in seconds; None for no limit.
        progress: Receives the progress; None shows a bar in a notebook and log lines elsewhere.
        store: Where the run is stored: an open store, a database URL or path; None uses the agent's store, else the
            database of the settings.
        clients: The connection of judges to their models (`bench.clients`); None uses the agent's. A function has none,
            so judges that call a model need this argument.
        runner: "process" sends the cases from this process, "dask" from the workers of a Dask cluster. Each can resume
            the other's runs. With "dask", `concurrency` defaults to the number of cases that the cluster's threads can
            run at once.
        dask: The scheduler's address, such as "tcp://host:8786", or a `DaskCluster`; it implies the runner "dask".

    Returns:
        The stored run.

    Raises:
        ClusterError: The Dask cluster cannot be reached, or cannot do the work.
        EvalError: The run cannot start: no case, no evaluator, or a stored run that differs.
        EvalInterruptedError: The run was cancelled; it can be resumed.
        StoreError: Nothing can be stored.

    Examples:
        >>> run = loom.evaluate(agent, evalset, ["exact", "trajectory"], repeats=3)
        >>> run.summary()
    """
    options = RunOptions(
        repeats=repeats, concurrency=concurrency, timeout_s=timeout_s, budget=budget or Budget(), retries=retries,
        reuse=reuse, measure=measure, judge_concurrency=judge_concurrency, judge_timeout_s=judge_timeout_s,
        cluster=chosen_cluster(runner, dask),
    )  # fmt: skip
    return _evaluation(target, evalset, evaluators, options, name, run_id, progress, store, clients).wait()


async def aevaluate(
    target: Any,
    evalset: EvalSet,
    evaluators: Sequence[Choice] | Choice = (),
    repeats: int = 1,
    *,
    name: str = "",
    run_id: str | None = None,
    budget: Budget | None = None,
    progress: Progress | None = None,
    store: Store | str | None = None,
    clients: Clients | None = None,
    runner: str = "process",
    dask: DaskCluster | str | None = None,
    **options: Any,
) -> EvalRun:
    """Evaluate from asynchronous code; see `evaluate`.

    Args:
        target: An agent, a function of the prompt, or a `Target`.
        evalset: The cases.
        evaluators: Evaluators in addition to those of the set and its cases.
        repeats: How many times each case is run.
        name: A name for the run.
        run_id: Id of a stored run to resume.
        budget: Limits in dollars, tokens or seconds.
        progress: Receives the progress.
        store: Where the run is stored.
        clients: The connection of judges to their models.
        runner: "process" or "dask".
        dask: The scheduler's address, or a `DaskCluster`.
        **options: `concurrency`, `timeout_s`, `retries`, `reuse`, `measure`, `judge_concurrency` and
            `judge_timeout_s` of `evaluate`.

    Examples:
        >>> run = await loom.aevaluate(agent, evalset, ["exact"])
    """
    cluster = chosen_cluster(runner, dask)
    run_options = RunOptions(repeats=repeats, budget=budget or Budget(), cluster=cluster, **options)
    evaluation = _evaluation(target, evalset, evaluators, run_options, name, run_id, progress, store, clients)
    return await evaluation.wait_async()


def rescore(run: EvalRun, evaluators: Sequence[Choice] | Choice, *, name: str = "", **options: Any) -> EvalRun:
    """Score the stored answers of a run with other evaluators, as a new run. No agent is called.

    Scores of the same evaluators are reused; judges that failed are called again.

    Args:
        run: The run with the answers.
        evaluators: Names, functions or evaluators.
        name: A name for the new run.
        **options: `judge_concurrency`, `judge_timeout_s`, `progress` and `clients` of `evaluate`. Judges that call a
            model need `clients=bench.clients`.
    """
    return _rescoring(run, evaluators, name, **options).wait()


async def arescore(run: EvalRun, evaluators: Sequence[Choice] | Choice, *, name: str = "", **options: Any) -> EvalRun:
    """Score stored answers from asynchronous code; see `rescore`.

    Args:
        run: The run with the answers.
        evaluators: Names, functions or evaluators.
        name: A name for the new run.
        **options: Options of `rescore`.
    """
    return await _rescoring(run, evaluators, name, **options).wait_async()


def _evaluation(
    target: Any,
    evalset: EvalSet,
    evaluators: Sequence[Choice] | Choice,
    options: RunOptions,
    name: str,
    run_id: str | None,
    progress: Progress | None,
    store: Store | str | None,
    clients: Clients | None,
) -> OwnThread[RunSnapshot, EvalRun]:
    if not evalset.cases:
        raise EvalError("The set has no cases", on=evalset.name, try_="a set with at least one case")
    as_called = as_target(target)
    choices = _listed(evaluators)
    run_evaluators = RunEvaluators(evalset, choices, connect=_connector(as_called, clients))
    if options.cluster is None:
        options = replace(options, concurrency=options.concurrency or as_called.concurrency)
    location = locate_store(store if store is not None else getattr(as_called, "store", None))
    row = new_row(run_id or new_id("eval"), name, evalset, as_called, run_evaluators.assignment, options, choices)
    return _thread(
        lambda report: _execute(location, row, evalset, as_called, run_evaluators, options, report),
        progress,
        f"{as_called.name} on {evalset.name}",
    )


def _rescoring(
    run: EvalRun,
    evaluators: Sequence[Choice] | Choice,
    name: str,
    *,
    judge_concurrency: int = 8,
    judge_timeout_s: float | None = 300.0,
    progress: Progress | None = None,
    clients: Clients | None = None,
) -> OwnThread[RunSnapshot, EvalRun]:
    evalset = run.evalset
    run_evaluators = RunEvaluators(evalset, _listed(evaluators), connect=_connector(None, clients))
    options = RunOptions(
        repeats=run.repeats, concurrency=1, retries=0, measure=False, judge_concurrency=judge_concurrency,
        judge_timeout_s=judge_timeout_s,
    )  # fmt: skip
    row = EvalRunRow(
        id=new_id("eval"), name=name or None, set_digest=evalset.digest, target_name=run.target.name,
        target_key=run.target.key, agent_arn=run.target.agent_arn, repeats=run.repeats,
        created_at=datetime.now(UTC), labels=run.labels,
        design={**run_evaluators.assignment.stored(), "set_name": evalset.name, "rescored": run.id},
        summary={"machine": run.summary().conditions.stored()},
    )  # fmt: skip

    async def work(report: Callable[[RunSnapshot], None]) -> EvalRun:
        with run.store.open() as store:
            store.eval_runs.create(row, stored_set(evalset))
            store.eval_answers.use(
                [
                    StoredResult(row.id, result.repeat, result.place, result.answer_id, True)
                    for result in store.eval_answers.results(run.id)
                ]
            )
        return await _execute(
            run.store, row, evalset, None, run_evaluators, options, report, state=run.state, reason=run.reason
        )

    return _thread(work, progress, f"{run.target.name} on {evalset.name}")


def _thread(
    work: Callable[[Callable[[RunSnapshot], None]], Coroutine[Any, Any, EvalRun]], progress: Progress | None, title: str
) -> OwnThread[RunSnapshot, EvalRun]:
    return OwnThread(
        work,
        progress or choose_progress(title, logger="loomlib.evals"),
        name="loom-evaluation",
        interrupted=lambda: EvalInterruptedError(
            "The evaluation was stopped; its answers and scores are stored",
            on=title,
            try_="the same evaluation with run_id=…; bench.evals.runs() lists the ids",
        ),
    )


async def _execute(
    location: StoreLocation,
    row: EvalRunRow,
    evalset: EvalSet,
    target: Target | None,
    evaluators: RunEvaluators,
    options: RunOptions,
    report: Callable[[RunSnapshot], None],
    *,
    state: str = "complete",
    reason: str = "",
) -> EvalRun:
    """Execute the pending cases of a run, store its summary, `state` and `reason`, and return the stored run."""
    with location.open() as store:
        ledger = EvalLedger(store, row.id)
        if (stored := ledger.open(row, evalset)).state == "complete":
            return EvalRun(stored, location, evalset=evalset)
        async with ledger.leased():
            ledger.begin(evaluators.timed)
            # The conditions are those under which cases were run: scoring again, without a target, adds none.
            async with ledger.recorded_machine(is_measured=target is not None) as record:

                def report_and_save(snapshot: RunSnapshot) -> None:
                    report(snapshot)
                    record.save_when_due()

                execution = RunExecution(store, row.id, evalset, target, evaluators, options, report=report_and_save)
                stop = await execution.run()
            with garbage_collection_paused():
                summary = summarize_gathered(read_gathered(store, row.id, evalset, evaluators.assignment))
            summary = replace(summary, conditions=ledger.conditions, timed=evaluators.timed)
            ledger.check_lease()
            ledger.finish(summary, state="stopped" if stop else state, reason=stop or reason)
        return EvalRun(ledger.stored, location, evalset=evalset)


def _connector(target: Target | None, clients: Clients | None) -> Callable[[Evaluator], Evaluator] | None:
    """Return a function that connects judges to their models: by the caller's clients, else by the target's method."""
    if clients is not None:
        return lambda evaluator: connected(evaluator, clients)
    method = getattr(target, "connected", None)
    return cast("Callable[[Evaluator], Evaluator]", method) if callable(method) else None


def _listed(choices: Sequence[Choice] | Choice) -> Sequence[Choice]:
    if isinstance(choices, Sequence) and not isinstance(choices, str):
        return cast("Sequence[Choice]", choices)
    return [choices]
