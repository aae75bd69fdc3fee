"""Judging answers: quick evaluators at once, slow and asynchronous ones side by side."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from loomlib.store import StoredScore

from ...jobs.daemon_threads import in_thread
from ..evaluators.turn_by_turn import PASSED
from ..values.answers import CaseAnswer, CaseFailure
from ..values.cases import EvalCase
from ..values.evaluator import Evaluator
from .panel import Panel
from .stored_rows import stored_score
from .verdicts import failure_of, judged_of


@dataclass(slots=True)
class Case:
    """One answer to be judged: where it stands in the run, what it answers, and which evaluators are still to speak."""

    repeat: int
    place: int
    case: EvalCase
    answer: CaseAnswer
    answer_id: int
    owed: Sequence[int]
    failures: dict[str, CaseFailure] = field(default_factory=dict[str, CaseFailure])


class Judges:
    """The evaluators of a run at work."""

    def __init__(self, panel: Panel, *, concurrency: int, timeout_s: float | None) -> None:
        self.evaluators = panel.evaluators
        self._digests = [card.digest for card in panel.bench.cards]
        self._is_quick = [_is_quick(each) for each in self.evaluators]
        self._timeout_s = timeout_s
        self._turns = asyncio.Semaphore(concurrency)
        self.tokens, self.cost, self.judged = 0, 0.0, 0

    def judge_quick(self, case: Case) -> list[StoredScore]:
        """What the quick evaluators say, in this thread; failures go to the case. The others stay owed."""
        scores: list[StoredScore] = []
        slow: list[int] = []
        for number in case.owed:
            if not self._is_quick[number]:
                slow.append(number)
                continue
            evaluator = self.evaluators[number]
            try:
                found = evaluator.judge(case.case, case.answer)
                scores.extend(self._stored(found, number, case))
            except Exception as error:  # noqa: BLE001 - somebody's evaluator: a crash is no zero
                case.failures[evaluator.name] = failure_of(error, evaluator, case.answer)
        case.owed = slow
        return scores

    async def judge_slow(self, case: Case) -> list[StoredScore]:
        """What the other evaluators say, each in its time."""
        said = await asyncio.gather(*(self._judge_slow(number, case) for number in case.owed))
        case.owed = ()
        self.judged += 1
        return [score for scores in said for score in scores]

    async def _judge_slow(self, number: int, case: Case) -> list[StoredScore]:
        evaluator = self.evaluators[number]
        try:
            async with self._turns, asyncio.timeout(self._timeout_s):
                if inspect.iscoroutinefunction(evaluator.judge):
                    found = await evaluator.judge(case.case, case.answer)
                else:
                    found = await in_thread(lambda: evaluator.judge(case.case, case.answer))
                    if inspect.isawaitable(found):
                        found = await found
            return self._stored(found, number, case)
        except Exception as error:  # noqa: BLE001 - somebody's evaluator: a crash is no zero
            failure = failure_of(error, evaluator, case.answer)
            if failure.kind == "timeout" and str(error) == "":
                failure = CaseFailure(
                    stage="judge",
                    kind="timeout",
                    message=f"No verdict within {self._timeout_s:g} s" if self._timeout_s else "No verdict in time",
                    evaluator=evaluator.name,
                )
            case.failures[evaluator.name] = failure
            return []

    def _stored(self, found: Any, number: int, case: Case) -> list[StoredScore]:
        if found is PASSED:  # most of what a good agent gets: nothing to be taken apart
            at = (case.answer_id, case.case.digest, self._digests[number], 0)
            return [StoredScore(*at, 1.0, True, None, None, None)]
        name = self.evaluators[number].name
        judged = judged_of(found, name)
        if isinstance(judged, CaseFailure):
            case.failures[name] = judged
            return []
        scores = judged if isinstance(judged, tuple) else (judged,)
        stored: list[StoredScore] = []
        for position, score in enumerate(scores):
            stored.append(
                stored_score(
                    score,
                    answer_id=case.answer_id,
                    case_digest=case.case.digest,
                    evaluator_digest=self._digests[number],
                    position=position,
                )
            )
            if isinstance(judged, tuple):
                self.tokens += getattr(score, "tokens", 0) or 0
                self.cost += getattr(score, "cost", 0.0) or 0.0
        return stored


def _is_quick(evaluator: Evaluator) -> bool:
    return evaluator.is_quick and not inspect.iscoroutinefunction(evaluator.judge)
