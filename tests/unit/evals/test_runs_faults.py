"""Runs of evaluations where somebody else's code, the store or the traces misbehave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from eval_runs import Adder, Says, SaysLater, sums

import loomlib as loom
from loomlib.errors import StoreError
from loomlib.evals import Score, TurnAnswer
from loomlib.evals.runs import CallableTarget
from loomlib.store import Store
from loomlib.store.eval_answers import EvalAnswers


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path / 'loom.db'}") as opened:
        yield opened


def test_a_verdict_in_numpys_words_is_stored_as_it_was_meant(store: Store) -> None:
    verdict = Score(value=0.0, passed=np.bool_(False))  # pyright: ignore[reportArgumentType]
    run = loom.evaluate(Adder(), sums(1), Says("judge", verdict), store=store)
    assert [each.passed for each in run.outcomes()] == [False]


def test_of_several_scores_without_a_part_none_is_lost(store: Store) -> None:
    verdict = [Score(value=1.0), Score(value=0.5), Score(value=0.0)]
    run = loom.evaluate(Adder(), sums(1), Says("judge", verdict), store=store)
    found = {each.part or "": each.value for each in run.outcomes()}
    assert found == {"": 0.5, "part 1": 1.0, "part 2": 0.5, "part 3": 0.0}


class NoTraces(CallableTarget):
    """A target whose traces nobody may read."""

    async def collect_tools(self, answers: Sequence[TurnAnswer]) -> Sequence[TurnAnswer]:
        raise PermissionError("AccessDenied " + "x" * 600)


def test_traces_that_cannot_be_read_leave_the_answers_to_be_judged(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loomlib.evals.runs.work.CallableTarget", type("Other", (), {}))
    run = loom.evaluate(NoTraces(Adder()), sums(2), [Says("says"), "trajectory:any_order"], store=store)
    assert run.state == "complete"
    assert run.summary()["says"].mean.value == 1.0
    assert set(run.failures()["kind"]) <= {"no_trajectory"}
    rows = [row for _, row in store.eval_answers.of_run(run.id, limit=9)]
    assert all("traces not read: PermissionError" in row.body and len(row.body) < 900 for row in rows)


def test_a_target_without_a_session_has_not_answered(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def later(prompt: str) -> str:
        return prompt

    target = CallableTarget(later)
    monkeypatch.setattr(target, "new_session", lambda: 1 // 0)
    run = loom.evaluate(target, sums(2), Says(), store=store)
    assert run.state == "complete"
    assert list(run.failures()["stage"]) == ["answer", "answer"]


def test_a_score_that_cannot_be_kept_ends_the_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: EvalAnswers, scores: Sequence[object], _failures: object) -> None:
        if scores:
            raise StoreError("The disk is full")

    monkeypatch.setattr(EvalAnswers, "score", full)
    with pytest.raises(StoreError, match="disk is full"):
        loom.evaluate(Adder(), sums(3), SaysLater(), store=store)
    assert [each.state for each in store.eval_runs.list()] == ["interrupted"]


def test_a_function_that_raises_stop_iteration_has_not_answered(store: Store) -> None:
    def empty(prompt: str) -> str:
        return next(iter(()))

    run = loom.evaluate(empty, sums(2), Says("slow", StopIteration(), is_quick=False), store=store, timeout_s=5)
    assert list(run.failures()["stage"]) == ["answer", "answer"]
    run = loom.evaluate(Adder(), sums(2), Says("slow", StopIteration(), is_quick=False), store=store)
    assert list(run.failures()["stage"]) == ["judge", "judge"]
