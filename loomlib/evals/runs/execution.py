"""The execution of one run: answers are stored before they are scored, and scores before more cases are sent."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final

from loomlib.experiments import ProgressCounter
from loomlib.jobs.dask import Slots
from loomlib.store import Store, StoredAnswer, StoredResult, StoredScore

from ..targets import CallableTarget, Target
from ..values.answers import CaseAnswer
from ..values.digests import canonical_text, digest_of_text
from ..values.eval_set import EvalSet
from .asking import RETRIED_FAILURES, Asker, is_trace_missing, read_traces
from .assignment import RunEvaluators
from .cluster_asking import MOST_AT_ONCE, asking_on_cluster
from .judging import BackgroundTasks, EvaluatorRunner, PendingCase
from .meter import BudgetMeter
from .options import RunOptions
from .progress import RunSnapshot
from .stored_rows import answer_of_row, judge_failures_of, judge_failures_text, writable_row
from .workers import AskingWorkers, CaseAsker, Unit, ask_slice, is_slow

_BATCH: Final = 250
"""Maximum number of answers in one write. With more, objects live so long that garbage collections scan all of them."""


class RunExecution:
    """Execution of the pending cases of a run: send, store, score.

    Args:
        store: The store with the run.
        run_id: The run.
        evalset: The set.
        target: The target of the evaluation; None scores stored answers only.
        evaluators: The run's evaluators.
        options: The run's options.
        report: Receives snapshots of the progress.
    """

    def __init__(
        self,
        store: Store,
        run_id: str,
        evalset: EvalSet,
        target: Target | None,
        evaluators: RunEvaluators,
        options: RunOptions,
        *,
        report: Callable[[RunSnapshot], None],
    ) -> None:
        self._store, self._run_id, self._set, self._target = store, run_id, evalset, target
        self._evaluators, self._assignment, self._options = evaluators, evaluators.assignment, options
        self._judges = EvaluatorRunner(
            evaluators, concurrency=options.judge_concurrency, timeout_s=options.judge_timeout_s
        )
        self._meter = BudgetMeter(options.budget, self._judges)
        self._concurrency = options.concurrency or (target.concurrency if target is not None else 1)
        self._background = BackgroundTasks()
        self._counter = ProgressCounter(RunSnapshot(total=options.repeats * len(evalset.cases)), report)
        self._key = target.key if target is not None and options.reuse else ""

    async def run(self) -> str:
        """Run the pending cases; return why a budget ended the run early, else ""."""
        try:
            pending = await self._reuse_stored()
            reason = await self._ask(pending) if pending and self._target is not None else ""
            self._counter.set(stage="scoring")
            await self._background.wait()
            self._counter.set(stage="")
            return reason
        finally:
            await self._background.cancel()

    async def _reuse_stored(self) -> deque[Unit]:
        """Score answers of this run and reusable answers of others; return the units without an answer."""
        count, repeats = len(self._set.cases), self._options.repeats
        answered_units: set[Unit] = set()
        results = self._store.eval_answers.results(self._run_id)
        for at in range(0, len(results), _BATCH):
            batch = results[at : at + _BATCH]
            answered_units.update((result.repeat, result.place) for result in batch)
            await self._judge_stored(batch)
        units = [(repeat, position) for repeat in range(repeats) for position in range(count)]
        if answered_units:
            units = [unit for unit in units if unit not in answered_units]
        if not self._key:
            return deque(units)
        pending: deque[Unit] = deque()
        for at in range(0, len(units), _BATCH):
            batch_units = units[at : at + _BATCH]
            keys = [self._answer_key(unit) or "" for unit in batch_units]
            stored_answers = self._store.eval_answers.by_key(keys)
            reused = [
                StoredResult(self._run_id, *unit, stored_answers[key].id, True)
                for unit, key in zip(batch_units, keys, strict=True)
                if key in stored_answers
            ]
            pending.extend(unit for unit, key in zip(batch_units, keys, strict=True) if key not in stored_answers)
            self._store.eval_answers.use(reused)
            self._counter.add(reused=len(reused))
            await self._judge_stored(reused, {row.id: row for row in stored_answers.values()})
        return pending

    async def _judge_stored(self, results: Sequence[StoredResult], rows: dict[int, StoredAnswer] | None = None) -> None:
        """Score stored answers by the evaluators that have not scored them yet."""
        if not results:
            return
        scored = {
            (score.answer_id, score.case_digest, score.evaluator_digest)
            for score in self._store.eval_answers.scores_of([result.answer_id for result in results])
        }
        unjudged: list[tuple[StoredResult, list[int]]] = []
        failed = 0
        for result in results:
            failures = judge_failures_of(result.judge_failures)
            failed += len(failures)
            digest = self._set.cases[result.place].digest
            pending = [
                index
                for index in self._assignment.of(result.place)
                if (result.answer_id, digest, self._assignment.evaluators[index].digest) not in scored
                and self._judges.evaluators[index].name not in failures
            ]
            unjudged.append((result, pending))
        if rows is None:
            rows = self._store.eval_answers.by_id([result.answer_id for result, pending in unjudged if pending])
        cases: list[PendingCase] = []
        for result, pending in unjudged:
            row = rows.get(result.answer_id) if pending else None
            if row is None or row.is_failure:
                continue
            case, answer = self._set.cases[result.place], answer_of_row(row, repeat=result.repeat)
            judged = PendingCase(result.repeat, result.place, case, answer, result.answer_id, pending)
            judged.failures.update(judge_failures_of(result.judge_failures))
            cases.append(judged)
        self._counter.add(answered=len(results), judged=len(results) - len(cases), judge_failures=failed)
        if any(self._lacks_traces(case.answer) for case in cases):
            cases = await self._collect(cases)
        self._judge(cases)

    # Asking.

    async def _ask(self, pending: deque[Unit]) -> str:
        options, target = self._options, self._target
        assert target is not None
        if options.cluster is not None:
            async with asking_on_cluster(options.cluster, target, self._run_id, options, self._set_stage) as cluster:
                return await self._ask_in_groups(
                    pending, cluster.at_once, lambda group: self._ask_agent(cluster, group, slots=cluster.slots)
                )
        asker = Asker(target, timeout_s=options.timeout_s, retries=options.retries)

        async def ask(group: deque[Unit]) -> None:
            if isinstance(target, CallableTarget) and not target.is_async and options.timeout_s is None:
                await self._ask_function(asker, group)
            else:
                await self._ask_agent(asker, group)

        try:
            return await self._ask_in_groups(pending, self._concurrency, ask)
        finally:
            await asyncio.shield(asker.finish())

    async def _ask_in_groups(
        self, pending: deque[Unit], at_once: int, ask: Callable[[deque[Unit]], Awaitable[None]]
    ) -> str:
        """Run the pending cases; with a budget in dollars or tokens, in groups that the rest of it should cover."""
        while pending:
            if self._meter.is_metered:  # the costs of judging are included
                await self._background.wait()
            if reason := self._meter.stop_reason():
                return reason
            size = self._meter.affordable(len(pending), at_once)
            group = deque(pending.popleft() for _ in range(size)) if size < len(pending) else pending
            await ask(group)
            if group is not pending and group:  # the time limit passed within the group
                pending.extendleft(reversed(group))
        return ""

    def _set_stage(self, stage: str) -> None:
        self._counter.set(stage=stage)

    async def _ask_function(self, asker: Asker, pending: deque[Unit]) -> None:
        """Call a plain function in time slices, or in concurrent threads once it turns out to be slow."""
        again: deque[Unit] = deque()

        def store(answers: Sequence[tuple[Unit, CaseAnswer]]) -> None:
            retried = [answer for answer in answers if self._options.retries and _is_retried(answer[1])]
            again.extend(unit for unit, _ in retried)
            self._judge(
                self._store_answers([answer for answer in answers if answer not in retried] if retried else answers)
            )

        while pending and not self._meter.is_late:
            answers = await ask_slice(asker, self._set.cases, pending, store, limit=_BATCH)
            if self._concurrency > 1 and is_slow(answers):
                await self._ask_agent(asker, pending)
        if again:
            await self._ask_agent(asker, again, attempts=1)
            pending.extendleft(reversed(again))

    async def _ask_agent(
        self, asker: CaseAsker, pending: deque[Unit], *, attempts: int = 0, slots: Slots | None = None
    ) -> None:
        """Run up to `concurrency` cases at once; answers that are waiting are stored in one write."""
        stored: list[PendingCase] = []
        workers = AskingWorkers(
            asker,
            self._set.cases,
            pending,
            count=self._concurrency if slots is None else self._options.concurrency or MOST_AT_ONCE,
            attempts=attempts,
            is_late=lambda: self._meter.is_late,
            slots=slots,
        )

        def store(answers: Sequence[tuple[Unit, CaseAnswer]]) -> None:
            stored.extend(self._store_answers(answers))

        def judge() -> None:
            if not self._collects_traces:
                self._judge(stored)
                stored.clear()

        await workers.run(store, judge)
        if stored:
            self._judge(await self._collect(stored))

    # Storing.

    def _store_answers(self, answers: Sequence[tuple[Unit, CaseAnswer]]) -> list[PendingCase]:
        """Store answers; return those that can be scored."""
        if not answers:
            return []
        rows = [writable_row(answer, self._answer_key(unit)) for unit, answer in answers]
        results = [StoredResult(self._run_id, *unit, 0, False) for unit, _ in answers]
        cases: list[PendingCase] = []
        failed = 0
        for (unit, answer), row, stored in zip(answers, rows, self._store.eval_answers.put(rows, results), strict=True):
            self._meter.count(stored)
            if stored.is_failure:
                failed += 1
                continue
            if stored.body is not row.body:  # another run stored an answer with this key first
                answer = answer_of_row(stored, repeat=unit[0])
            case = self._set.cases[unit[1]]
            cases.append(PendingCase(*unit, case, answer, stored.id, self._assignment.of(unit[1])))
        self._counter.add(answered=len(answers), answer_failures=failed)
        return cases

    def _judge(self, cases: Sequence[PendingCase]) -> None:
        """Run the quick evaluators and store their scores in one write; start the others."""
        scores: list[StoredScore] = []
        judged_cases: list[PendingCase] = []
        for case in cases:
            scores.extend(self._judges.judge_quick(case))
            if case.pending:
                self._background.start(self._judge_slow(case))
            else:
                judged_cases.append(case)
        self._store.eval_answers.score(scores, self._failures(cases))
        self._counter.add(judged=len(judged_cases), judge_failures=sum(len(case.failures) for case in judged_cases))

    async def _judge_slow(self, case: PendingCase) -> None:
        scores = await self._judges.judge_slow(case)
        await asyncio.to_thread(self._store.eval_answers.score, scores, self._failures([case]))
        self._counter.add(judged=1, judge_failures=len(case.failures))

    def _failures(self, cases: Sequence[PendingCase]) -> dict[tuple[str, int, int], str | None]:
        return {
            (self._run_id, case.repeat, case.position): judge_failures_text(case.failures)
            for case in cases
            if case.failures
        }

    # Traces.

    @property
    def _collects_traces(self) -> bool:
        is_needed = self._evaluators.needs_tools or self._options.measure or self._options.budget.is_metered
        return is_needed and not isinstance(self._target, CallableTarget)

    def _lacks_traces(self, answer: CaseAnswer) -> bool:
        return self._target is not None and self._collects_traces and any(map(is_trace_missing, answer.turns))

    async def _collect(self, cases: list[PendingCase]) -> list[PendingCase]:
        """Return the cases with what their traces contain, read in one batch and stored."""
        assert self._target is not None
        self._counter.set(stage="reading traces")
        read = deque(await read_traces(self._target, [turn for case in cases for turn in case.answer.turns]))
        rows: list[StoredAnswer] = []
        for case in cases:
            turns = tuple(read.popleft() for _ in case.answer.turns)
            if turns == case.answer.turns:
                continue
            case.answer = replace(case.answer, turns=turns)
            row = writable_row(case.answer, None)._replace(id=case.answer_id)
            rows.append(row)
            self._meter.add_costs(row)
        await asyncio.to_thread(self._store.eval_answers.complete, rows)
        self._counter.set(stage="")
        return cases

    def _answer_key(self, unit: Unit) -> str | None:
        """Return the key for reusing an answer: target, request and repeat; None when no other run may reuse it."""
        if not self._key:
            return None
        return digest_of_text(canonical_text([self._key, self._set.cases[unit[1]].asked_digest, unit[0]]))


def _is_retried(answer: CaseAnswer) -> bool:
    return answer.failure is not None and answer.failure.kind in RETRIED_FAILURES
