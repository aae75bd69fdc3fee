"""Evaluation runs with failing foreign code, store or traces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from eval_runs import Adder, Says, SaysLater, sums
from store_rows import query

import loomlib as loom
from loomlib.errors import StoreError
from loomlib.evals import CaseFailure, Score, Turn, TurnAnswer
from loomlib.evals.runs import CallableTarget
from loomlib.store import Store


def test_a_verdict_in_numpys_words_is_stored_as_it_was_meant(store: Store) -> None:
    verdict = Score(value=0.0, passed=np.bool_(False))  # pyright: ignore[reportArgumentType]
    run = loom.evaluate(Adder(), sums(1), Says("judge", verdict), store=store)
    assert [outcome.passed for outcome in run.outcomes()] == [False]


def test_of_several_scores_without_a_part_none_is_lost(store: Store) -> None:
    verdict = [Score(value=1.0), Score(value=0.5), Score(value=0.0)]
    run = loom.evaluate(Adder(), sums(1), Says("judge", verdict), store=store)
    values = {outcome.part or "": outcome.value for outcome in run.outcomes()}
    assert values == {"": 0.5, "part 1": 1.0, "part 2": 0.5, "part 3": 0.0}


class UnreadableTraces:
    """A target whose traces cannot be read."""

    name, key, labels, concurrency = "adder", "", (), 4

    def __init__(self) -> None:
        self._function = CallableTarget(Adder())

    def new_session(self) -> str:
        return self._function.new_session()

    async def ask(
        self, turn: Turn, *, session_id: str, timeout_s: float | None, state: Mapping[str, Any] | None = None
    ) -> TurnAnswer | CaseFailure:
        return await self._function.ask(turn, session_id=session_id, timeout_s=timeout_s, state=state)

    async def collect_tools(self, answers: Sequence[TurnAnswer]) -> Sequence[TurnAnswer]:
        raise PermissionError("AccessDenied " + "x" * 600)

    async def end(self, session_id: str) -> None:
        await self._function.end(session_id)


def test_answers_are_scored_when_their_traces_cannot_be_read(store: Store) -> None:
    run = loom.evaluate(UnreadableTraces(), sums(2), [Says("says"), "trajectory:any_order"], store=store)
    assert run.state == "complete"
    assert run.summary()["says"].mean.value == 1.0
    assert set(run.failures()["kind"]) <= {"no_trajectory"}
    rows = [row for _, row in store.eval_answers.of_run(run.id, limit=9)]
    assert all("traces not read: PermissionError" in row.body and len(row.body) < 900 for row in rows)


class NoSessions(CallableTarget):
    """A target that cannot begin a session."""

    def new_session(self) -> str:
        raise ZeroDivisionError


def test_a_target_without_a_session_fails_to_answer(store: Store) -> None:
    async def later(prompt: str) -> str:
        return prompt

    run = loom.evaluate(NoSessions(later), sums(2), Says(), store=store)
    assert run.state == "complete"
    assert list(run.failures()["stage"]) == ["answer", "answer"]


def test_a_run_is_interrupted_when_a_score_cannot_be_stored(store: Store, store_url: str) -> None:
    if store_url.startswith("postgresql"):
        refuse = "ALTER TABLE eval_scores ADD CONSTRAINT refused CHECK (false)"
        accept = "ALTER TABLE eval_scores DROP CONSTRAINT refused"
    else:
        refuse = "CREATE TRIGGER refused BEFORE INSERT ON eval_scores BEGIN SELECT RAISE(ABORT, 'refused'); END"
        accept = "DROP TRIGGER refused"
    query(store_url, refuse)
    try:
        with pytest.raises(StoreError, match="refused"):
            loom.evaluate(Adder(), sums(3), SaysLater(), store=store)
        assert [row.state for row in store.eval_runs.list()] == ["interrupted"]
    finally:
        query(store_url, accept)


def test_a_function_that_raises_stop_iteration_has_not_answered(store: Store) -> None:
    def empty(prompt: str) -> str:
        return next(iter(()))

    run = loom.evaluate(empty, sums(2), Says("slow", StopIteration(), is_quick=False), store=store, timeout_s=60)
    assert list(run.failures()["stage"]) == ["answer", "answer"]
    run = loom.evaluate(Adder(), sums(2), Says("slow", StopIteration(), is_quick=False), store=store)
    assert list(run.failures()["stage"]) == ["judge", "judge"]
