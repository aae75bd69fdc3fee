"""`evaluate` and `aevaluate`: a target asked every case of a set, judged, kept, summed up."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from loomlib.errors import EvalError, EvalInterruptedError, StoreError
from loomlib.jobs import OwnThread, held_lease

from ...store.location import StorePlace, place_of
from ..evaluators.connecting import connected
from ..targets import Target, as_target
from ..values.eval_set import EvalSet
from ..values.evaluator import Evaluator
from .eval_run import EvalRun
from .options import Budget, RunOptions
from .panel import Choice, Panel
from .progress import Progress, Snapshot, choose_progress
from .run_rows import check_same, new_row
from .stored_sets import stored_set
from .work import RunWork

if TYPE_CHECKING:
    from loomlib.aws import Clients
    from loomlib.store import EvalRunRow, Store


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
) -> EvalRun:
    """Ask `target` every case of `evalset`, judge the answers, keep everything, and return the run.

        run = loom.evaluate(agent, evalset, ["exact", "trajectory"], repeats=3)
        run.summary()

    `target` is an agent, a function of the prompt, or anything that is a `Target`. `evaluators` are names, functions
    `(answer_text, case) -> bool | float` or evaluators; they judge beside those that the set and the cases ask for.

    Every answer is kept as it comes and every score as it is given, by content. So an evaluation that was killed goes
    on where it was (`run_id` of the old one); a new run of the same agent asks only what changed (`reuse=False` asks
    everything anew); a case with another expectation is judged again and not asked again.

    `concurrency` is how many cases are asked at once (None: what the target says, 4 locally and 10 on AWS).
    `timeout_s` bounds each turn. Throttling and transport failures are tried again up to `retries` times a case, in a
    new session; nothing else is. `budget` stops asking cleanly: the run is "stopped", with its reason, and resumes.
    `measure` reads traces for tools, tokens and cost, even when no evaluator needs them. `store` is where the run is
    kept (None: the agent's, else the settings' database). Judges ask their models over the agent's connection; over
    `clients` (`bench.clients`) where they are given, as for a function, which has none. It works in a notebook, whose
    own loop keeps turning.

    A failure to answer and a failure to judge are kept as what they are, and never raise. Raises `EvalError` for what
    cannot be begun, `EvalInterruptedError` when cancelled, `StoreError` when nothing can be kept.
    """
    return _thread(**_arguments(locals())).wait()


async def aevaluate(
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
) -> EvalRun:
    """`evaluate` for asynchronous code: `run = await loom.aevaluate(agent, evalset, ["exact"])`."""
    return await _thread(**_arguments(locals())).wait_async()


def _arguments(given: dict[str, Any]) -> dict[str, Any]:
    return given


def _thread(
    *,
    target: Any,
    evalset: EvalSet,
    evaluators: Sequence[Choice] | Choice,
    repeats: int,
    concurrency: int | None,
    timeout_s: float | None,
    budget: Budget | None,
    retries: int,
    name: str,
    run_id: str | None,
    reuse: bool,
    measure: bool,
    judge_concurrency: int,
    judge_timeout_s: float | None,
    progress: Progress | None,
    store: Store | str | None,
    clients: Clients | None,
) -> OwnThread[Snapshot, EvalRun]:
    for what, value in (("repeats", repeats), ("concurrency", concurrency), ("judge_concurrency", judge_concurrency)):
        if value is not None and value < 1:
            raise ValueError(f"{what} must be at least 1, not {value}")
    for what, limit in (("timeout_s", timeout_s), ("judge_timeout_s", judge_timeout_s)):
        if limit is not None and not limit > 0:
            raise ValueError(f"{what} must be above zero, not {limit}")
    if retries < 0:
        raise ValueError(f"retries must not be below zero, but is {retries}")
    if not evalset.cases:
        raise EvalError("The set has no cases", on=evalset.name)
    asked = as_target(target)
    panel = Panel(evalset, listed(evaluators), connect=connecting(asked, clients))
    manner = RunOptions(
        repeats=repeats,
        concurrency=concurrency or asked.concurrency,
        judge_concurrency=judge_concurrency,
        timeout_s=timeout_s,
        judge_timeout_s=judge_timeout_s,
        retries=retries,
        budget=budget or Budget(),
        measure=measure,
        reuse=reuse,
    )
    place = place_of(store if store is not None else getattr(target, "store", None))
    id = run_id or f"eval-{datetime.now(UTC):%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:6]}"
    row = new_row(id, name, evalset, asked, target, panel, manner, listed(evaluators))
    return run_thread(
        lambda report: run_row(place, row, evalset, asked, panel, manner, report),
        progress or choose_progress(f"{asked.name} on {evalset.name}"),
    )


def run_thread(
    work: Callable[[Callable[[Snapshot], None]], Coroutine[Any, Any, EvalRun]], progress: Progress
) -> OwnThread[Snapshot, EvalRun]:
    """The thread that an evaluation has for itself."""
    return OwnThread(
        work,
        progress,
        name="loom-evaluation",
        interrupted=lambda: EvalInterruptedError("The evaluation was stopped; what was answered is kept"),
    )


def connecting(asked: Target | None, clients: Clients | None) -> Callable[[Evaluator], Evaluator] | None:
    """How judges are connected: by the clients that the caller names, else as the target does it."""
    if clients is not None:
        return lambda evaluator: connected(evaluator, clients)
    found = getattr(asked, "connected", None)
    return cast("Callable[[Evaluator], Evaluator]", found) if callable(found) else None


async def run_row(
    place: StorePlace,
    row: EvalRunRow,
    evalset: EvalSet,
    target: Target | None,
    panel: Panel,
    manner: RunOptions,
    report: Callable[[Snapshot], None],
    *,
    state: str = "complete",
    reason: str = "",
) -> EvalRun:
    """Do what the run still owes, and return it as it is stored then."""
    from loomlib.store import LEASE_S

    with place.open() as store:
        stored = store.eval_runs.get(row.id)
        if stored is None:
            store.eval_runs.create(row, stored_set(evalset))
            stored = row
        else:
            check_same(stored, row)
        if stored.state == "complete":
            return EvalRun(stored, place, evalset=evalset)
        async with held_lease(store.eval_runs, row.id, renew_every_s=LEASE_S / 3, refused=EvalError) as lost:
            store.eval_runs.save(row.id, state="running", reason=None, summary={})
            work = RunWork(store, row.id, evalset, target, panel, manner, report=report)
            try:
                stop = await work.run()
            except BaseException as error:
                if lost:  # the run is somebody else's now, who says how it stands
                    raise
                with suppress(StoreError):  # a full disk cannot note it either; the rows say enough
                    why = "" if isinstance(error, Exception) else "stopped by its user"
                    store.eval_runs.save(row.id, state="interrupted", reason=why or f"{type(error).__name__}: {error}")
                raise
            if lost:
                raise lost[0]
            _finish(store, row.id, evalset, panel, "stopped" if stop else state, stop or reason)
        finished = store.eval_runs.get(row.id)
    assert finished is not None
    return EvalRun(finished, place, evalset=evalset)


def _finish(store: Store, id: str, evalset: EvalSet, panel: Panel, state: str, reason: str) -> None:
    from ..compare.summaries import summarize_gathered
    from .outcome_rows import no_garbage_looked_for, read_gathered

    with no_garbage_looked_for():
        summary = summarize_gathered(read_gathered(store, id, evalset, panel.bench))
    store.eval_runs.save(
        id, state=state, reason=reason or None, finished_at=datetime.now(UTC), summary=summary.summary()
    )


def listed(chosen: Sequence[Choice] | Choice) -> Sequence[Choice]:
    if isinstance(chosen, Sequence) and not isinstance(chosen, str):
        return cast("Sequence[Choice]", chosen)
    return [chosen]
