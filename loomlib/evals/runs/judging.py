"""Score answers: quick evaluators on the event loop's thread, slow and asynchronous ones concurrently."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from loomlib.store import StoredScore

from ...presentation.formats import time_limit
from ..evaluators.calling import returned_by
from ..evaluators.turn_by_turn import PASSED
from ..values.answers import CaseAnswer, CaseFailure
from ..values.cases import EvalCase
from ..values.evaluator import Evaluator
from ..values.judge_error import JudgeFailedError
from ..values.verdicts import failure_of, judged_of
from .assignment import RunEvaluators
from .stored_rows import stored_score


@dataclass(slots=True)
class PendingCase:
    """An answer to be scored.

    Attributes:
        repeat: The repeat, from 0.
        position: The case's position in the set.
        case: The case.
        answer: The answer.
        answer_id: The answer's id in the store.
        pending: Indexes of the evaluators that have not scored it.
        failures: Failures to judge, by evaluator.
    """

    repeat: int
    position: int
    case: EvalCase
    answer: CaseAnswer
    answer_id: int
    pending: Sequence[int]
    failures: dict[str, CaseFailure] = field(default_factory=dict[str, CaseFailure])


class EvaluatorRunner:
    """Runs the evaluators of an evaluation run.

    Args:
        evaluators: The run's evaluators.
        concurrency: Maximum number of slow evaluators that run at once.
        timeout_s: Time limit of a slow evaluator in seconds; None for no limit.
    """

    def __init__(self, evaluators: RunEvaluators, *, concurrency: int, timeout_s: float | None) -> None:
        self.evaluators = evaluators.evaluators
        self._digests = [evaluator.digest for evaluator in evaluators.assignment.evaluators]
        self._is_quick = [_is_quick(evaluator) for evaluator in self.evaluators]
        self._timeout_s = timeout_s
        self._slots = asyncio.Semaphore(concurrency)
        self.tokens, self.cost, self.judged = 0, 0.0, 0

    def judge_quick(self, case: PendingCase) -> list[StoredScore]:
        """Run the quick evaluators in this thread; failures go to the case, slow evaluators stay pending."""
        scores: list[StoredScore] = []
        slow: list[int] = []
        for index in case.pending:
            if not self._is_quick[index]:
                slow.append(index)
                continue
            evaluator = self.evaluators[index]
            try:
                scores.extend(self._to_rows(evaluator.judge(case.case, case.answer), index, case))
            except Exception as error:  # noqa: BLE001 - a user's evaluator: its crash is a failure, not a score of 0
                case.failures[evaluator.name] = failure_of(error, evaluator, case.answer)
        case.pending = slow
        return scores

    async def judge_slow(self, case: PendingCase) -> list[StoredScore]:
        """Run the remaining evaluators, each within its time limit."""
        results = await asyncio.gather(*(self._judge_slow(index, case) for index in case.pending))
        case.pending = ()
        self.judged += 1
        return [score for scores in results for score in scores]

    async def _judge_slow(self, index: int, case: PendingCase) -> list[StoredScore]:
        evaluator = self.evaluators[index]
        try:
            async with self._slots, asyncio.timeout(self._timeout_s):
                returned = await returned_by(evaluator, case.case, case.answer)
            return self._to_rows(returned, index, case)
        except Exception as error:  # noqa: BLE001 - a user's evaluator: its crash is a failure, not a score of 0
            if isinstance(error, JudgeFailedError):  # its replies are paid for as any other
                self.tokens += error.tokens
                self.cost += error.cost
            failure = failure_of(error, evaluator, case.answer)
            if failure.kind == "timeout" and str(error) == "":
                failure = CaseFailure(
                    stage="judge",
                    kind="timeout",
                    message=f"No verdict within {time_limit(self._timeout_s)}"
                    if self._timeout_s
                    else "No verdict in time",
                    evaluator=evaluator.name,
                )
            case.failures[evaluator.name] = failure
            return []

    def _to_rows(self, returned: Any, index: int, case: PendingCase) -> list[StoredScore]:
        if returned is PASSED:  # the most common verdict, stored without constructing a Score
            key = (case.answer_id, case.case.digest, self._digests[index], 0)
            return [StoredScore(*key, 1.0, True, None, None, None)]
        name = self.evaluators[index].name
        judged = judged_of(returned, name)
        if isinstance(judged, CaseFailure):
            case.failures[name] = judged
            return []
        scores = judged if isinstance(judged, tuple) else (judged,)
        rows: list[StoredScore] = []
        for position, score in enumerate(scores):
            rows.append(
                stored_score(
                    score,
                    answer_id=case.answer_id,
                    case_digest=case.case.digest,
                    evaluator_digest=self._digests[index],
                    position=position,
                )
            )
            if isinstance(judged, tuple):
                self.tokens += getattr(score, "tokens", 0) or 0
                self.cost += getattr(score, "cost", 0.0) or 0.0
        return rows


class BackgroundTasks:
    """Tasks that run while answers are requested. The first error is raised by `start` or `wait`."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()
        self._error: BaseException | None = None

    def start(self, work: Coroutine[None, None, None]) -> None:
        """Start a task; raise the error of an earlier one."""
        if self._error is not None:
            work.close()
            raise self._error
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._ended)

    async def wait(self) -> None:
        """Wait until all tasks have ended; raise the error of one of them."""
        while self._running and self._error is None:
            await asyncio.wait(self._running, return_when=asyncio.FIRST_EXCEPTION)
        if self._error is not None:
            raise self._error

    async def cancel(self) -> None:
        """Cancel the tasks that still run."""
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled() and self._error is None:
            self._error = task.exception()


def _is_quick(evaluator: Evaluator) -> bool:
    return evaluator.is_quick and not inspect.iscoroutinefunction(evaluator.judge)
