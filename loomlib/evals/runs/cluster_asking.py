"""Run the cases of an evaluation on the workers of a Dask cluster. Only this process stores the answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final, NamedTuple

from loomlib.errors import EvalError
from loomlib.jobs.dask import ClusterConnection, DaskCluster, Refusal, Slots, WorkersLostError, loom_release
from loomlib.store import StoredAnswer

from ..targets import Target, TargetOfWorkers
from ..values.answers import CaseAnswer, CaseFailure
from ..values.canonical import case_to_text
from ..values.cases import EvalCase
from .cluster_worker import ask_cases, end_sessions
from .options import RunOptions
from .stored_rows import answer_of_row

MOST_AT_ONCE: Final = 2000
"""Maximum number of cases submitted to the cluster at once, regardless of its number of threads."""


class _Asked(NamedTuple):
    case: EvalCase
    repeat: int
    attempts: int
    answer: asyncio.Future[CaseAnswer]


class ClusterAsker:
    """Sends single cases as `Asker` does, in tasks on a Dask cluster.

    Cases that are sent at the same time share one task, up to the cluster's `batch`. A case is in one task at a time:
    when its worker is killed, another worker runs it again, and only one answer is returned and stored.

    Args:
        connection: The connection to the cluster.
        job: Description of the run for the workers, from `job_text`.
        run_id: The run.
    """

    def __init__(self, connection: ClusterConnection, job: str, run_id: str) -> None:
        self._connection, self._job, self._run_id = connection, job, run_id
        self._waiting: list[_Asked] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._error: Exception | None = None

    @property
    def slots(self) -> Slots:
        """Slots for the cases that the cluster can accept; one is held while a case runs."""
        return self._connection.slots

    @property
    def at_once(self) -> int:
        """Number of cases that the cluster's threads can run at once, at least 1."""
        return max(1, self._connection.threads * self._connection.batch)

    async def ask(self, case: EvalCase, repeat: int, *, attempts: int = 0) -> CaseAnswer:
        """Run a case on one of the workers and return its answer or failure.

        Args:
            case: The case.
            repeat: The repeat, from 0.
            attempts: Number of earlier attempts.

        Raises:
            ClusterError: The cluster cannot continue.
            EvalError: A worker is not set up for this run.
        """
        if self._error is not None:
            raise self._error
        request = _Asked(case, repeat, attempts, asyncio.get_running_loop().create_future())
        self._waiting.append(request)
        if len(self._waiting) >= self._connection.batch:
            self._give_out()
        elif len(self._waiting) == 1:
            # Runs after the other cases admitted in this iteration of the loop, such as those of a task that ended.
            asyncio.get_running_loop().call_soon(lambda: asyncio.get_running_loop().call_soon(self._give_out))
        return await request.answer

    async def finish(self) -> None:
        """Cancel the remaining tasks, and wait until the workers have ended their sessions."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._connection.call_everywhere(end_sessions, self._job)

    def _give_out(self) -> None:
        batch = [request for request in self._waiting if not request.answer.done()]
        self._waiting = []
        if batch:
            task = asyncio.ensure_future(self._ask(batch))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _ask(self, batch: list[_Asked]) -> None:
        try:
            answers = await self._answers(batch)
        except Exception as error:  # noqa: BLE001 - raised where each case is awaited
            self._error = error
            for request in batch:
                if not request.answer.done():
                    request.answer.set_exception(error)
            return
        for request, answer in zip(batch, answers, strict=True):
            if not request.answer.done():
                request.answer.set_result(answer)

    async def _answers(self, batch: list[_Asked]) -> list[CaseAnswer]:
        units = [(case_to_text(request.case), request.repeat, request.attempts) for request in batch]
        try:
            result = await self._connection.call(ask_cases, self._job, json.dumps(units), name=f"ask-{self._run_id}")
        except WorkersLostError as error:
            if len(batch) > 1:  # one of them may crash its worker: run each in its own task
                return [answer for request in batch for answer in await self._answers([request])]
            failure = CaseFailure(stage="answer", kind="exception", message=str(error))
            return [CaseAnswer(turns=(), failure=failure, repeat=batch[0].repeat)]
        if isinstance(result, Refusal):
            raise EvalError(result.what, on=f"worker {result.worker}: {result.on}", try_=result.try_)
        return [
            _answer(row, request.repeat, result["worker"])
            for request, row in zip(batch, result["answers"], strict=True)
        ]


def _answer(row: list[object], repeat: int, worker: str) -> CaseAnswer:
    answer = answer_of_row(StoredAnswer(*row), repeat=repeat)  # pyright: ignore[reportArgumentType]
    return replace(answer, metadata={**answer.metadata, "worker": worker})


@asynccontextmanager
async def asking_on_cluster(
    cluster: DaskCluster, target: Target, run_id: str, options: RunOptions, report: Callable[[str], None]
) -> AsyncGenerator[ClusterAsker, None]:
    """Connect to a cluster and yield a `ClusterAsker` for the cases of one run.

    Args:
        cluster: The cluster.
        target: The target of the evaluation.
        run_id: The run.
        options: The run's options.
        report: Receives what the run waits for, and "" when it continues.
    """
    job = job_text(target, run_id, options)
    async with cluster.connected(at_once=options.concurrency or MOST_AT_ONCE, report=report) as connection:
        asker = ClusterAsker(connection, job, run_id)
        try:
            yield asker
        finally:
            await asker.finish()


def job_text(target: Target, run_id: str, options: RunOptions) -> str:
    """Return the description of a run for workers, as JSON without secrets.

    Args:
        target: The target of the evaluation.
        run_id: The run.
        options: The run's options.

    Raises:
        EvalError: Workers cannot create this target.
        ClusterError: Workers cannot import this function.
    """
    if not isinstance(target, TargetOfWorkers):
        raise EvalError(
            "Workers of a Dask cluster cannot create this target",
            on=f"{target.name}, a {type(target).__name__}",
            try_="an agent, a function of an installed module, or a target with the method `for_workers`",
        )
    return json.dumps(
        {
            "release": loom_release(),
            "target": target.for_workers().stored(),
            "key": target.key,
            "run_id": run_id,
            "timeout_s": options.timeout_s,
            "retries": options.retries,
        }
    )
