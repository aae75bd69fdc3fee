"""One run at work: what is answered is kept before it is judged, and what is judged before more is asked."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from loomlib.store import StoredAnswer, StoredResult, StoredScore

from ..targets import Target
from ..targets.functions import CallableTarget
from ..values.answers import CaseAnswer
from ..values.digests import canonical_text, digest_of_text
from ..values.eval_set import EvalSet
from .asking import TRIED_AGAIN, Asker
from .judging import Case, Judges
from .lanes import Lanes, Unit, ask_slice, is_slow
from .meter import Meter
from .options import RunOptions
from .progress import Snapshot
from .slow_tasks import SlowTasks
from .stored_rows import answer_of_row, judge_failures_of, judge_failures_text, writable_row
from .tally import Tally
from .trace_reading import may_be_there, read_traces

if TYPE_CHECKING:
    from loomlib.store import Store

    from .panel import Panel

_AT_ONCE: Final = 250
"""Answers in one write. More would live so long that the garbage collector looks at everything again and again."""


class RunWork:
    """Asks, keeps and judges what a run still owes."""

    def __init__(
        self,
        store: Store,
        run_id: str,
        evalset: EvalSet,
        target: Target | None,
        panel: Panel,
        manner: RunOptions,
        *,
        report: Callable[[Snapshot], None],
    ) -> None:
        self._store, self._run_id, self._set, self._target = store, run_id, evalset, target
        self._panel, self._manner = panel, manner
        self._judges = Judges(panel, concurrency=manner.judge_concurrency, timeout_s=manner.judge_timeout_s)
        self._meter = Meter(manner.budget)
        self._concurrency = manner.concurrency or (target.concurrency if target is not None else 1)
        self._slow = SlowTasks()
        self._tally = Tally(manner.repeats * len(evalset.cases), report)
        key = target.key if target is not None else ""
        self._key = key if manner.reuse else ""

    async def run(self) -> str:
        """Do what is owed; the reason when a budget ended it before, else ""."""
        try:
            owed = await self._take_up()
            reason = await self._ask(owed) if owed and self._target is not None else ""
            self._tally.stage("judging")
            await self._slow.wait()
            self._tally.stage("")
            return reason
        finally:
            await self._slow.cancel()

    async def _take_up(self) -> deque[Unit]:
        """Judge what is answered and not judged, in this run and in others; the units that nobody answered."""
        count, repeats = len(self._set.cases), self._manner.repeats
        answered: set[Unit] = set()
        results = self._store.eval_answers.results(self._run_id)
        for at in range(0, len(results), _AT_ONCE):
            some = results[at : at + _AT_ONCE]
            answered.update((each.repeat, each.place) for each in some)
            await self._judge_kept(some)
        owed = [(repeat, place) for repeat in range(repeats) for place in range(count)]
        if answered:
            owed = [unit for unit in owed if unit not in answered]
        if not self._key:
            return deque(owed)
        left: deque[Unit] = deque()
        for at in range(0, len(owed), _AT_ONCE):
            units = owed[at : at + _AT_ONCE]
            keys = [self._answer_key(unit) or "" for unit in units]
            known = self._store.eval_answers.by_key(keys)
            used = [
                StoredResult(self._run_id, *unit, known[key].id, True)
                for unit, key in zip(units, keys, strict=True)
                if key in known
            ]
            left.extend(unit for unit, key in zip(units, keys, strict=True) if key not in known)
            self._store.eval_answers.use(used)
            self._tally.note(reused=len(used))
            await self._judge_kept(used, {row.id: row for row in known.values()})
        return left

    async def _judge_kept(self, results: Sequence[StoredResult], rows: dict[int, StoredAnswer] | None = None) -> None:
        """Judge answers that are in the store, but for what was said of them before."""
        if not results:
            return
        ids = [each.answer_id for each in results]
        said = {
            (score.answer_id, score.case_digest, score.evaluator_digest)
            for score in self._store.eval_answers.scores_of(ids)
        }
        unjudged: list[tuple[StoredResult, list[int]]] = []
        failed_judging = 0
        for each in results:
            failures = judge_failures_of(each.judge_failures)
            failed_judging += len(failures)
            digest = self._set.cases[each.place].digest
            owed = [
                number
                for number in self._panel.bench.of(each.place)
                if (each.answer_id, digest, self._panel.bench.cards[number].digest) not in said
                and self._judges.evaluators[number].name not in failures
            ]
            unjudged.append((each, owed))
        wanted = [each.answer_id for each, owed in unjudged if owed]
        found = rows if rows is not None else self._store.eval_answers.by_id(wanted)
        cases: list[Case] = []
        for each, owed in unjudged:
            row = found.get(each.answer_id) if owed else None
            if row is None or row.is_failure:
                continue
            answer = answer_of_row(row, repeat=each.repeat)
            case = Case(each.repeat, each.place, self._set.cases[each.place], answer, each.answer_id, owed)
            case.failures.update(judge_failures_of(each.judge_failures))
            cases.append(case)
        self._tally.note(answered=len(results), judged=len(results) - len(cases), judge_failures=failed_judging)
        if any(self._lacks_traces(case.answer) for case in cases):
            cases = await self._collect(cases)
        self._judge(cases)

    # Asking.

    async def _ask(self, owed: deque[Unit]) -> str:
        manner, target = self._manner, self._target
        assert target is not None
        asker = Asker(target, timeout_s=manner.timeout_s, retries=manner.retries)
        try:
            while owed:
                if self._meter.is_metered:  # what judging took is part of it
                    await self._slow.wait()
                if reason := self._meter.spent(self._judges):
                    return reason
                # A budget in money or tokens is kept by asking in groups: each no larger than the rest should allow.
                size = self._meter.affordable(len(owed), self._concurrency)
                group = deque(owed.popleft() for _ in range(size)) if size < len(owed) else owed
                if isinstance(target, CallableTarget) and not target.is_async and manner.timeout_s is None:
                    await self._ask_function(asker, group)
                else:
                    await self._ask_agent(asker, group)
                if group is not owed and group:  # time was over in the middle of the group
                    owed.extendleft(reversed(group))
            return ""
        finally:
            await asyncio.shield(asker.finish())

    async def _ask_function(self, asker: Asker, owed: deque[Unit]) -> None:
        """A plain function: case after case in slices of time; side by side in threads when it turns out slow."""
        again: deque[Unit] = deque()

        def keep(answers: Sequence[tuple[Unit, CaseAnswer]]) -> None:
            tried = [each for each in answers if self._manner.retries and _is_tried_again(each[1])]
            again.extend(unit for unit, _ in tried)
            self._keep([each for each in answers if each not in tried] if tried else answers)

        while owed and not self._meter.is_late:
            answers = await ask_slice(asker, self._set.cases, owed, keep, at_most=_AT_ONCE)
            if self._concurrency > 1 and is_slow(answers):
                await self._ask_agent(asker, owed)
        if again:
            await self._ask_agent(asker, again, tried=1)
            owed.extendleft(reversed(again))

    async def _ask_agent(self, asker: Asker, owed: deque[Unit], *, tried: int = 0) -> None:
        """Up to `concurrency` cases at once; answers are kept as they come, those that wait together in one write."""
        held: list[Case] = []
        lanes = Lanes(
            asker,
            self._set.cases,
            owed,
            count=self._concurrency,
            tried=tried,
            is_late=lambda: self._meter.is_late,
        )

        def keep(some: Sequence[tuple[Unit, CaseAnswer]]) -> None:
            held.extend(self._stored(some))

        def judge() -> None:
            if not self._collects:
                self._judge(held)
                held.clear()

        await lanes.run(keep, judge)
        if held:
            self._judge(await self._collect(held))

    # Keeping.

    def _keep(self, answers: Sequence[tuple[Unit, CaseAnswer]]) -> None:
        self._judge(self._stored(answers))

    def _stored(self, answers: Sequence[tuple[Unit, CaseAnswer]]) -> list[Case]:
        """Keep these answers; those that can be judged."""
        if not answers:
            return []
        rows = [writable_row(answer, self._answer_key(unit)) for unit, answer in answers]
        results = [StoredResult(self._run_id, *unit, 0, False) for unit, _ in answers]
        kept = self._store.eval_answers.put(rows, results)
        cases: list[Case] = []
        failed = 0
        for (unit, answer), row, stored in zip(answers, rows, kept, strict=True):
            self._meter.count(stored)
            if stored.is_failure:
                failed += 1
                continue
            if stored.body is not row.body:  # somebody else's answer came first
                answer = answer_of_row(stored, repeat=unit[0])
            bench = self._panel.bench.of(unit[1])
            cases.append(Case(*unit, self._set.cases[unit[1]], answer, stored.id, bench))
        self._tally.note(answered=len(answers), answer_failures=failed)
        return cases

    def _judge(self, cases: Sequence[Case]) -> None:
        """Quick evaluators now, in one write; the others begin."""
        scores: list[StoredScore] = []
        done: list[Case] = []
        for case in cases:
            scores.extend(self._judges.judge_quick(case))
            if case.owed:
                self._slow.start(self._judge_slow(case))
            else:
                done.append(case)
        self._store.eval_answers.score(scores, self._failures(cases))
        self._tally.note(judged=len(done), judge_failures=sum(len(case.failures) for case in done))

    async def _judge_slow(self, case: Case) -> None:
        scores = await self._judges.judge_slow(case)
        await asyncio.to_thread(self._store.eval_answers.score, scores, self._failures([case]))
        self._tally.note(judged=1, judge_failures=len(case.failures))

    def _failures(self, cases: Sequence[Case]) -> dict[tuple[str, int, int], str | None]:
        return {
            (self._run_id, case.repeat, case.place): judge_failures_text(case.failures)
            for case in cases
            if case.failures
        }

    # Traces.

    @property
    def _collects(self) -> bool:
        wanted = self._panel.needs_tools or self._manner.measure or self._manner.budget.is_metered
        return wanted and not isinstance(self._target, CallableTarget)

    def _lacks_traces(self, answer: CaseAnswer) -> bool:
        return (
            self._target is not None
            and self._collects
            and any(turn.tools is None and may_be_there(turn.tools_state) for turn in answer.turns)
        )

    async def _collect(self, cases: list[Case]) -> list[Case]:
        """The same with what their traces tell, all in one batch; kept too."""
        assert self._target is not None
        self._tally.stage("reading traces")
        turns = [turn for case in cases for turn in case.answer.turns]
        found = deque(await read_traces(self._target, turns))
        rows: list[StoredAnswer] = []
        for case in cases:
            more = tuple(found.popleft() for _ in case.answer.turns)
            if more == case.answer.turns:
                continue
            case.answer = replace(case.answer, turns=more)
            row = writable_row(case.answer, None)._replace(id=case.answer_id)
            rows.append(row)
            self._meter.learn(row)
        await asyncio.to_thread(self._store.eval_answers.complete, rows)
        self._tally.stage("")
        return cases

    def _answer_key(self, unit: Unit) -> str | None:
        """What the answer is found by later: target, words and repeat; None where only this run may use it."""
        if not self._key:
            return None
        return digest_of_text(canonical_text([self._key, self._set.cases[unit[1]].asked_digest, unit[0]]))


def _is_tried_again(answer: CaseAnswer) -> bool:
    return answer.failure is not None and answer.failure.kind in TRIED_AGAIN
