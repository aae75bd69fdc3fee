"""Answers that are there judged anew, without asking anybody."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from .eval_run import EvalRun
from .evaluate import connecting, listed, run_row, run_thread
from .options import Budget, RunOptions
from .panel import Choice, Panel
from .progress import Progress, Snapshot, choose_progress
from .stored_sets import stored_set

if TYPE_CHECKING:
    from loomlib.aws import Clients
    from loomlib.jobs import OwnThread


def rescore(run: EvalRun, evaluators: Sequence[Choice] | Choice, *, name: str = "", **options: Any) -> EvalRun:
    """The same answers judged anew by these evaluators, as a run of its own; no agent is asked.

    A judge that failed before is asked again; what is judged already under the same evaluator is not. Judges that ask
    a model need `clients=bench.clients`.
    """
    return _rescoring(run, evaluators, name=name, **options).wait()


async def arescore(run: EvalRun, evaluators: Sequence[Choice] | Choice, *, name: str = "", **options: Any) -> EvalRun:
    """`rescore` for asynchronous code."""
    return await _rescoring(run, evaluators, name=name, **options).wait_async()


def _rescoring(
    run: EvalRun,
    evaluators: Sequence[Choice] | Choice,
    *,
    name: str,
    judge_concurrency: int = 8,
    judge_timeout_s: float | None = 300.0,
    progress: Progress | None = None,
    clients: Clients | None = None,
) -> OwnThread[Snapshot, EvalRun]:
    from loomlib.store import EvalRunRow, StoredResult

    evalset = run.evalset
    panel = Panel(evalset, listed(evaluators), connect=connecting(None, clients))
    manner = RunOptions(
        repeats=run.repeats, concurrency=1, judge_concurrency=judge_concurrency, timeout_s=None,
        judge_timeout_s=judge_timeout_s, retries=0, budget=Budget(), measure=False, reuse=True,
    )  # fmt: skip
    id = f"eval-{datetime.now(UTC):%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:6]}"
    row = EvalRunRow(
        id=id, name=name or None, set_digest=evalset.digest, target_name=run.target.name, target_key=run.target.key,
        agent_arn=run.target.agent_arn, repeats=run.repeats, created_at=datetime.now(UTC), labels=run.labels,
        design={**panel.bench.stored(), "set_name": evalset.name, "rescored": run.id},
    )  # fmt: skip

    async def work(report: Callable[[Snapshot], None]) -> EvalRun:
        with run.store.open() as store:
            store.eval_runs.create(row, stored_set(evalset))
            store.eval_answers.use(
                [
                    StoredResult(id, each.repeat, each.place, each.answer_id, True)
                    for each in store.eval_answers.results(run.id)
                ]
            )
        return await run_row(run.store, row, evalset, None, panel, manner, report, state=run.state, reason=run.reason)

    return run_thread(work, progress or choose_progress(f"{run.target.name} on {evalset.name}"))
