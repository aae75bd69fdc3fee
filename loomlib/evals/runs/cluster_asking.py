"""Ask the cases of a run by the workers of a Dask cluster. This process alone stores what they answer."""

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
"""The most cases in the cluster's hands at once, however many threads it has."""


class _Asked(NamedTuple):
    case: EvalCase
    repeat: int
    attempts: int
    answer: asyncio.Future[CaseAnswer]


class ClusterAsker:
    """Asks single cases as `Asker` does, by tasks of a Dask cluster.

    Cases that are asked at the same time go into one task, up to the cluster's `batch`. A case is in one task at a
    time: when its worker is killed, another worker asks it again, and one answer of it is returned and stored.

    Args:
        connection: The connection to the cluster.
        job: What the workers need to know of the run, from `job_text`.
        run_id: The run.
    """

    def __init__(self, connection: ClusterConnection, job: str, run_id: str) -> None:
        self._connection, self._job, self._run_id = connection, job, run_id
        self._waiting: list[_Asked] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._error: Exception | None = None

    @property
    def slots(self) -> Slots:
        """The cases that the cluster can take; held while a case is asked."""
        return self._connection.slots

    @property
    def at_once(self) -> int:
        """Cases that the cluster's threads can ask at once, at least 1."""
        return max(1, self._connection.threads * self._connection.batch)

    async def ask(self, case: EvalCase, repeat: int, *, attempts: int = 0) -> CaseAnswer:
        """Ask a case on some worker and return its answer or failure.

        Args:
            case: The case.
            repeat: The repeat, from 0.
            attempts: How often the case was asked before.

        Raises:
            ClusterError: The cluster cannot go on.
            EvalError: A worker is not set up for this run.
        """
        if self._error is not None:
            raise self._error
        request = _Asked(case, repeat, attempts, asyncio.get_running_loop().create_future())
        self._waiting.append(request)
        if len(self._waiting) >= self._connection.batch:
            self._give_out()
        elif len(self._waiting) == 1:
            # After the other cases that were admitted in this step of the loop: those of a task that has just ended.
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
            if len(batch) > 1:  # one of them may end its worker: the others are asked apart from it
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
        target: What is asked.
        run_id: The run.
        options: The run's options.
        report: Receives what the run waits for, and "" when it goes on.
    """
    job = job_text(target, run_id, options)
    async with cluster.connected(at_once=options.concurrency or MOST_AT_ONCE, report=report) as connection:
        asker = ClusterAsker(connection, job, run_id)
        try:
            yield asker
        finally:
            await asker.finish()


def job_text(target: Target, run_id: str, options: RunOptions) -> str:
    """Return what workers need to know of a run, as JSON without secrets.

    Args:
        target: What is asked.
        run_id: The run.
        options: The run's options.

    Raises:
        EvalError: Workers cannot make this target.
        ClusterError: Workers cannot import this function.
    """
    if not isinstance(target, TargetOfWorkers):
        raise EvalError(
            "Workers of a Dask cluster cannot make this target",
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
