"""Functions that hang block no other work, and answers given before a run is stopped are stored."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from eval_runs import Says, sums
from waiting import PATIENCE_S

import loomlib as loom
from loomlib.errors import EvalError, StoreError
from loomlib.evals import CaseAnswer, EvalCase, EvalSet, EvaluatorChoice, Score, TurnAnswer, UserScenario
from loomlib.evals.runs import Budget, CallableTarget, EvalRun
from loomlib.evals.sources import with_simulated_user
from loomlib.evals.values.cases import Turn
from loomlib.jobs import held_lease
from loomlib.store import Store


@pytest.fixture
def never() -> Iterator[threading.Event]:
    """What a hung function waits for; set when the test is over, so that no thread is left behind."""
    gate = threading.Event()
    yield gate
    gate.set()


def test_functions_that_hang_are_abandoned_and_take_no_other_turn(store: Store, never: threading.Event) -> None:
    def agent(prompt: str) -> str:
        if prompt != "59+59":
            never.wait(120)
        return "118"

    # More of them than any executor has threads; were they waited for, this would take two minutes. The limit is also
    # that of the answer, whose thread may not get a processor for seconds.
    run = loom.evaluate(CallableTarget(agent, concurrency=59), sums(60), Says(), timeout_s=8, store=store)
    assert run.state == "complete"
    assert not never.is_set()
    kinds = run.failures()
    assert set(kinds["kind"]) == {"timeout"}
    assert "sum 59" not in set(kinds["case"])


def test_evaluators_that_hang_are_abandoned_too(store: Store, never: threading.Event) -> None:
    class Hanging(Says):
        def judge(self, case: EvalCase, answer: CaseAnswer) -> Any:
            return super().judge(case, answer) if case.id == "sum 39" else never.wait(120)

    run = loom.evaluate(
        lambda prompt: "78", sums(40), Hanging(is_quick=False), judge_timeout_s=8, judge_concurrency=39, store=store
    )
    assert not never.is_set()
    failures = run.failures()
    assert len(failures) == 39
    assert "sum 39" not in set(failures["case"])


async def test_a_stopped_run_keeps_what_a_plain_function_had_answered(store: Store, never: threading.Event) -> None:
    prompts: list[str] = []
    reached = threading.Event()

    def agent(prompt: str) -> str:
        prompts.append(prompt)
        if prompt == "7+7" and len(prompts) == 8:
            reached.set()
            never.wait(120)
        return prompt

    target = CallableTarget(agent, key="counting", concurrency=1)  # also where the first calls take long
    task = asyncio.create_task(loom.aevaluate(target, sums(20), Says(), run_id="r1", store=store))
    assert await asyncio.to_thread(reached.wait, PATIENCE_S)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    run = EvalRun.load(store, "r1")
    assert (run.state, len(run.rows())) == ("interrupted", 7)
    again = await loom.aevaluate(target, sums(20), Says(), run_id="r1", store=store)
    assert again.state == "complete"
    # Only the question that was under way is asked twice.
    assert sorted(prompts) == sorted([f"{n}+{n}" for n in range(20)] + ["7+7"])


def test_a_budget_foresees_what_judging_costs(store: Store) -> None:
    def agent(prompt: str) -> dict[str, Any]:
        return {"text": prompt, "cost": 0.001, "input_tokens": 1, "output_tokens": 1}

    judge = Says("costly", Score(value=1.0, cost=0.01, tokens=100), is_quick=False)
    run = loom.evaluate(agent, sums(200), judge, budget=Budget(money=0.50), store=store)
    assert run.state == "stopped"
    # 0.011 for an answer and its verdict: 45 fit, and not one more is asked.
    assert 40 <= len(run.rows()) <= 45
    some = loom.evaluate(agent, sums(200), judge, budget=Budget(tokens=1020), store=store, reuse=False)
    assert 5 <= len(some.rows()) <= 10


def test_a_failure_to_answer_stands_under_the_cases_own_evaluators_only(store: Store) -> None:
    def agent(prompt: str) -> str:
        raise RuntimeError("planned")

    first, second = sums(2).cases
    own = replace(first, evaluators=(EvaluatorChoice(name="contains"),))
    run = loom.evaluate(agent, EvalSet(name="s", cases=(own, second)), ["exact"], store=store)
    scores = run.scores()
    pairs = {(row.case, row.evaluator) for row in scores.itertuples()}
    assert pairs == {("sum 0", "exact"), ("sum 0", "contains"), ("sum 1", "exact")}
    assert set(scores["state"]) == {"answer_failed"}


class Traced:
    """A target whose traces can be read only at the second try."""

    name, key, labels, concurrency = "traced", "traced 1", (), 1

    def __init__(self) -> None:
        self.asked = self.looked = 0

    def new_session(self) -> str:
        return "session"

    async def ask(self, turn: Turn, *, session_id: str, timeout_s: float | None, state: Any = None) -> TurnAnswer:
        self.asked += 1
        return TurnAnswer(text=turn.prompt)

    async def collect_tools(self, answers: Any) -> Any:
        self.looked += 1
        if self.looked == 1:
            raise ConnectionError("no way")
        return [replace(answer, tools=(), tools_state="complete") for answer in answers]

    async def end(self, session_id: str) -> None:
        """Nothing."""


def test_traces_that_could_not_be_read_are_searched_for_again(store: Store) -> None:
    target = Traced()
    first = loom.evaluate(target, sums(1), Says("first"), store=store)
    assert next(first.judgements()).answer.turns[0].tools_state.startswith("traces not read: ConnectionError")
    second = loom.evaluate(target, sums(1), Says("second"), store=store)
    assert next(second.judgements()).answer.tools == ()
    assert (target.asked, target.looked) == (1, 2)


def test_a_user_that_cannot_begin_is_distinguished_from_an_agent_that_fails(store: Store) -> None:
    class Broken:
        key, labels = "broken", ()

        def begin(self, scenario: UserScenario) -> Any:
            raise RuntimeError("no persona")

    case = EvalCase(id="talk", scenario=UserScenario(starting_prompt="Hi", plan="ask"))
    run = loom.evaluate(
        with_simulated_user(lambda p: p, Broken()), EvalSet(name="s", cases=(case,)), Says(), store=store
    )
    ((kind, message),) = run.failures()[["kind", "message"]].itertuples(index=False)
    assert kind == "simulated_user"
    assert "no persona" in message


async def test_who_loses_the_lease_is_stopped_and_notified(store: Store) -> None:
    run = loom.evaluate(lambda prompt: prompt, sums(1), Says(), store=store)

    class Slept:
        """Leases of a process that slept: renewing finds that another one has taken over."""

        def acquire(self, id: str, /) -> Any:
            return store.eval_runs.acquire(id, lease_s=-1.0)

        def renew(self, lease: Any, /) -> Any:
            store.eval_runs.acquire(run.id)  # the other one
            return store.eval_runs.renew(lease)

        def release(self, lease: Any, /) -> None:
            store.eval_runs.release(lease)

    losses: list[int] = []

    async def hold(leases: Any, renew_every_s: float) -> None:
        async with held_lease(leases, run.id, renew_every_s=renew_every_s, refused=EvalError) as lost:
            try:
                await asyncio.sleep(60)
            finally:
                losses.append(len(lost))

    with pytest.raises(StoreError, match="was taken over by another process"):
        await hold(Slept(), 0.01)
    assert losses == [1]
    with pytest.raises(EvalError, match="is being run by process"):
        await hold(store.eval_runs, 10)
    assert losses == [1]  # the other one has it: the block is never begun


def test_a_run_that_continues_shows_no_stale_summary(store: Store) -> None:
    summaries: list[dict[str, Any]] = []

    def agent(prompt: str) -> dict[str, Any]:
        row = store.eval_runs.get("r1")
        assert row is not None
        summaries.append(dict(row.summary))
        return {"text": prompt, "input_tokens": 1, "output_tokens": 1}

    options: dict[str, Any] = {"run_id": "r1", "store": store}
    stopped = loom.evaluate(CallableTarget(agent, key="k"), sums(40), Says(), budget=Budget(tokens=20), **options)
    assert stopped.state == "stopped"
    assert stopped.summary()["says"].scored == len(summaries) < 40
    resumed = loom.evaluate(CallableTarget(agent, key="k"), sums(40), Says(), **options)
    # Of what was there before, only the conditions stay.
    assert not any("evaluators" in summary for summary in summaries)
    assert resumed.summary()["says"].scored == 40
