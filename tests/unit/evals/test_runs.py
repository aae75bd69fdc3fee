"""Evaluation runs: what is asked, what is stored, and how failures are reported."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from eval_runs import Adder, Says, SaysLater, case_of, sums

import loomlib as loom
from loomlib.errors import EvalError, EvalInterruptedError
from loomlib.evals import (
    CaseAnswer,
    CaseFailure,
    EvalCase,
    EvalSet,
    EvaluatorChoice,
    NotApplicable,
    Score,
    ToolUse,
    Turn,
    TurnAnswer,
)
from loomlib.evals.runs import Budget, CallableTarget, EvalRun, RunSnapshot, Silent, rescore
from loomlib.store import Store


def states(run: EvalRun) -> dict[str, int]:
    counts: dict[str, int] = {}
    for outcome in run.outcomes():
        counts[outcome.state] = counts.get(outcome.state, 0) + 1
    return counts


def test_every_case_and_repeat_is_asked_once_and_judged_by_every_evaluator(store: Store) -> None:
    adder, first, second = Adder(), Says("first"), SaysLater("second", 0.5)
    run = loom.evaluate(adder, sums(30), [first, second], repeats=3, store=store)
    assert run.state == "complete"
    assert set(adder.asked.values()) == {3}
    assert set(first.judged.values()) == set(second.judged.values()) == {3}
    assert states(run) == {"scored": 180}
    assert run.summary()["first"].mean.value == 1.0
    assert {outcome.value for outcome in run.outcomes() if outcome.evaluator == "second"} == {0.5}
    assert len(run.rows()) == 90
    assert set(run.scores()["state"]) == {"scored"}


def test_no_answer_no_verdict_and_a_low_score_are_three_things(store: Store) -> None:
    def agent(prompt: str) -> str:
        if prompt == "0+0":
            raise RuntimeError("the agent broke")
        return prompt

    def verdict(case: EvalCase, _answer: CaseAnswer) -> Any:
        return {"sum 1": ZeroDivisionError("the judge broke"), "sum 2": NotApplicable("nothing")}.get(case.id, 0.0)

    run = loom.evaluate(agent, sums(4), Says("judge", verdict), store=store)
    assert states(run) == {"answer_failed": 1, "judge_failed": 1, "not_applicable": 1, "scored": 1}
    summary = run.summary()["judge"]
    assert summary.mean.value == 0.0
    assert (summary.answer_failed, summary.judge_failed, summary.not_applicable, summary.scored) == (1, 1, 1, 1)
    assert run.failures()[["case", "stage", "kind"]].values.tolist() == [
        ["sum 0", "answer", "exception"],
        ["sum 1", "judge", "exception"],
    ]


@pytest.mark.parametrize("is_quick", [True, False])
@pytest.mark.parametrize(
    ("verdict", "kind"),
    [
        (ValueError("no"), "exception"),
        (TimeoutError(), "timeout"),
        ("not a verdict", "exception"),
        (float("nan"), "exception"),
        (CaseFailure(stage="judge", kind="malformed", message="no JSON"), "malformed"),
    ],
)
def test_whatever_goes_wrong_in_an_evaluator_is_a_failure_to_judge(
    store: Store, verdict: Any, kind: str, is_quick: bool
) -> None:
    run = loom.evaluate(Adder(), sums(3), Says("judge", verdict, is_quick=is_quick), store=store)
    assert states(run) == {"judge_failed": 3}
    assert set(run.failures()["kind"]) == {kind}
    assert run.state == "complete"


def test_a_judge_that_takes_too_long_is_a_failure_to_judge(store: Store) -> None:
    class Slow(Says):
        async def judge(self, case: EvalCase, answer: CaseAnswer) -> Any:  # type: ignore[override]
            await asyncio.sleep(60)

    run = loom.evaluate(Adder(), sums(2), Slow(), judge_timeout_s=0.05, store=store)
    assert set(run.failures()["kind"]) == {"timeout"}


def test_an_agent_that_takes_too_long_is_a_failure_to_answer(store: Store) -> None:
    async def agent(_prompt: str) -> str:
        await asyncio.sleep(60)
        return ""

    run = loom.evaluate(agent, sums(2), Says(), timeout_s=0.05, store=store)
    assert set(run.failures()["kind"]) == {"timeout"}
    assert set(run.failures()["attempts"]) == {1}


@pytest.mark.parametrize("kind", ["throttle", "transport"])
def test_throttling_and_transport_failures_are_tried_again_and_counted(store: Store, kind: str) -> None:
    adder = Adder(failures=[kind, kind])
    run = loom.evaluate(adder, sums(1), Says(), store=store)
    assert states(run) == {"scored": 1}
    assert run.rows()["attempts"].tolist() == [3]
    assert adder.asked["0+0"] == 3


@pytest.mark.parametrize("kind", ["agent_error", "timeout", "quota"])
def test_other_failures_are_not_tried_again(store: Store, kind: str) -> None:
    adder = Adder(failures=[kind])
    run = loom.evaluate(adder, sums(1), Says(), store=store)
    assert run.failures()[["kind", "attempts"]].values.tolist() == [[kind, 1]]


def test_retries_end(store: Store) -> None:
    adder = Adder(failures=["throttle"] * 10)
    run = loom.evaluate(adder, sums(1), Says(), retries=1, store=store)
    assert run.failures()[["kind", "attempts"]].values.tolist() == [["throttle", 2]]


def test_a_second_run_under_the_same_key_asks_no_agent_and_judges_nothing(store: Store) -> None:
    adder, judge = Adder(), Says()
    loom.evaluate(CallableTarget(adder, key="v1"), sums(5), judge, store=store)
    run = loom.evaluate(CallableTarget(adder, key="v1"), sums(5), judge, store=store)
    assert set(adder.asked.values()) == set(judge.judged.values()) == {1}
    assert states(run) == {"scored": 5}
    assert run.rows()["reused"].all()
    loom.evaluate(CallableTarget(adder, key="v2"), sums(5), judge, store=store)
    loom.evaluate(CallableTarget(adder, key="v1"), sums(5), judge, reuse=False, store=store)
    assert set(adder.asked.values()) == {3}


def test_a_new_expectation_judges_its_case_again_and_a_new_prompt_asks_it_again(store: Store) -> None:
    adder, judge = Adder(), Says()
    target = CallableTarget(adder, key="v1")
    loom.evaluate(target, sums(5), judge, store=store)
    expecting = sums(5).with_cases(case_of(2, expected="5"))
    run = loom.evaluate(target, expecting, judge, store=store)
    assert set(adder.asked.values()) == {1}
    assert judge.judged == {"sum 0": 1, "sum 1": 1, "sum 2": 2, "sum 3": 1, "sum 4": 1}
    assert run.rows().set_index("case")["says"].tolist() == [1.0, 1.0, 0.0, 1.0, 1.0]
    loom.evaluate(target, sums(5).with_cases(case_of(2, prompt="2+2+0")), judge, store=store)
    assert adder.asked["2+2+0"] == 1
    assert sum(adder.asked.values()) == 6


def test_a_failure_to_answer_is_never_used_by_another_run(store: Store) -> None:
    adder = Adder(failures=["agent_error"])
    first = loom.evaluate(CallableTarget(adder, key="v1"), sums(1), Says(), store=store)
    second = loom.evaluate(CallableTarget(adder, key="v1"), sums(1), Says(), store=store)
    assert (states(first), states(second)) == ({"answer_failed": 1}, {"scored": 1})


def test_rescoring_asks_no_agent_and_leaves_the_old_run_as_it_was(store: Store) -> None:
    adder = Adder()
    old = loom.evaluate(adder, sums(8), Says("broken", ValueError("no")), store=store)
    new = rescore(old, [Says("broken", 0.25), Says("more", True)])
    assert sum(adder.asked.values()) == 8
    assert states(old) == {"judge_failed": 8}
    assert {outcome.value for outcome in new.outcomes() if outcome.evaluator == "broken"} == {0.25}
    assert new.summary()["more"].pass_rate.value == 1.0
    assert states(EvalRun.load(store, old.id)) == {"judge_failed": 8}


def test_a_budget_of_tokens_stops_cleanly_and_the_run_continues_later(store: Store) -> None:
    adder = Adder()

    def agent(prompt: str) -> TurnAnswer:
        return TurnAnswer(text=adder(prompt), input_tokens=60, output_tokens=40, cost=0.01)

    run = loom.evaluate(agent, sums(50), Says(), budget=Budget(tokens=2_050), store=store)
    assert run.state == "stopped"
    assert "2\u202f050 tokens" in run.reason
    assert len(run.rows()) == 20
    again = loom.evaluate(agent, sums(50), Says(), run_id=run.id, store=store)
    assert again.state == "complete"
    assert len(again.rows()) == 50
    assert set(adder.asked.values()) == {1}


def test_a_budget_in_money_is_kept_and_counts_the_judges(store: Store) -> None:
    def agent(prompt: str) -> dict[str, Any]:
        return {"text": prompt, "cost": 0.01}

    judge = Says("paid", Score(value=1.0, cost=0.01))
    run = loom.evaluate(agent, sums(100), judge, budget=Budget(money=0.50), store=store)
    assert run.state == "stopped"
    assert len(run.rows()) <= 50


def test_a_budget_in_money_stops_at_once_when_costs_are_unknown(store: Store) -> None:
    run = loom.evaluate(Adder(), sums(100), Says(), budget=Budget(money=1.0), store=store)
    assert run.state == "stopped"
    assert "no trace contains the cost" in run.reason
    assert len(run.rows()) < 10


def test_a_budget_of_time_stops_asking(store: Store) -> None:
    async def agent(prompt: str) -> str:
        await asyncio.sleep(0.2)
        return prompt

    run = loom.evaluate(agent, sums(5000), Says("says", 1.0), budget=Budget(time_s=3), store=store)
    assert run.state == "stopped"
    assert 0 < len(run.rows()) < 5000


def test_a_run_cannot_be_resumed_with_another_set_or_other_evaluators(store: Store) -> None:
    run = loom.evaluate(Adder(), sums(3), Says(), store=store)
    with pytest.raises(EvalError, match="differs in its set"):
        loom.evaluate(Adder(), sums(4), Says(), run_id=run.id, store=store)
    with pytest.raises(EvalError, match="differs in its list of evaluators"):
        loom.evaluate(Adder(), sums(3), Says(digest="2"), run_id=run.id, store=store)


def test_several_turns_share_a_session_and_each_case_has_its_own(store: Store) -> None:
    sessions: dict[str, list[str]] = {}

    def agent(prompt: str, session_id: str, state: Any) -> str:
        sessions.setdefault(session_id, []).append(f"{prompt} {state}")
        return prompt

    cases = tuple(
        EvalCase(id=f"c{n}", turns=(Turn(prompt="one"), Turn(prompt="two")), initial_state={"n": n}) for n in range(3)
    )
    run = loom.evaluate(agent, EvalSet(name="talks", cases=cases), Says("says", 1.0), repeats=2, store=store)
    assert sorted(sessions.values()) == sorted([[f"one {{'n': {n}}}", "two None"] for n in range(3)] * 2)
    assert {len(judgement.answer.turns) for judgement in run.judgements()} == {2}


def test_a_case_that_needs_a_simulated_user_is_a_failure_to_answer(store: Store) -> None:
    from loomlib.evals import UserScenario

    case = EvalCase(id="talk", scenario=UserScenario(starting_prompt="hi", plan="be difficult"))
    run = loom.evaluate(Adder(), EvalSet(name="talks", cases=(case,)), Says(), store=store)
    assert run.failures()["kind"].tolist() == ["no_user"]


def test_a_loaded_run_tells_the_same(store: Store) -> None:
    set_ = EvalSet(name="s", cases=tuple(replace(case_of(n), tags=("even",) if n % 2 == 0 else ()) for n in range(6)))
    parts = [Score(value=1.0, part="turn 1"), Score(value=0.0, part="turn 2", labels=("simulated judge",))]
    run = loom.evaluate(Adder(), set_, [Says(), Says("parts", parts)], store=store)
    loaded = EvalRun.load(store, run.id)
    assert loaded.outcomes() == run.outcomes()
    assert loaded.evalset.digest == set_.digest
    assert loaded.summary() == run.summary()
    assert {outcome.tags for outcome in loaded.outcomes()} == {("even",), ()}
    overall = [outcome for outcome in loaded.outcomes() if outcome.evaluator == "parts" and not outcome.part]
    assert {(outcome.value, outcome.labels) for outcome in overall} == {(0.5, ("simulated judge",))}
    with pytest.raises(EvalError, match="No such evaluation"):
        EvalRun.load(store, "nonsense")


HOSTILE = {
    "script": "<script>alert(1)</script>",
    "ansi": "\x1b[2J\x1b]0;owned\x07",
    "nul": "before\x00after",
    "surrogates": "\ud800 and \udfff",
    "large": "x" * 10_000_000,
    "controls": "".join(map(chr, range(32))),
    "bidi": "\u202egnp.exe",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_whatever_an_agent_answers_comes_back_exactly_and_shows_as_text(store: Store, kind: str) -> None:
    text = HOSTILE[kind]

    def agent(_prompt: str) -> TurnAnswer:
        tools = (ToolUse(name=text[:1000], arguments={text[:1000]: text}, result=text),)
        return TurnAnswer(text=text, tools=tools, trace_id=text[:100])

    verdict = Score(value=0.0, part=text[:50], rationale=text, details={"said": text}, labels=(text[:50],))
    run = loom.evaluate(agent, sums(1), Says("judge", verdict), store=store)
    (judgement,) = EvalRun.load(store, run.id).judgements()
    assert judgement.answer.turns[0].text == text
    assert judgement.answer.turns[0].tools == (ToolUse(name=text[:1000], arguments={text[:1000]: text}, result=text),)
    scores = judgement.verdicts["judge"]
    assert isinstance(scores, tuple)
    assert scores[1] == verdict
    assert "<script>" not in run._repr_html_()


def test_tools_nested_too_deeply_to_be_written_leave_the_answer(store: Store) -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    holder = [deep]

    def agent(_prompt: str) -> TurnAnswer:
        return TurnAnswer(text="yes", tools=(ToolUse(name="t", arguments={"deep": holder[0]}),))

    run = loom.evaluate(agent, sums(1), Says("says", 1.0), store=store)
    (judgement,) = run.judgements()
    assert judgement.answer.text == "yes"
    assert judgement.answer.tools is None
    while deep:  # taken apart by hand: freeing it at once would go as deep
        deep = deep.pop()


async def test_it_runs_inside_a_running_loop(store: Store) -> None:
    turned = 0

    async def turning() -> None:
        nonlocal turned
        while True:
            turned += 1
            await asyncio.sleep(0)

    async def agent(prompt: str) -> str:
        await asyncio.sleep(0.01)
        return prompt

    beside = asyncio.create_task(turning())
    run = await loom.aevaluate(agent, sums(20), Says(), store=store)
    beside.cancel()
    assert run.state == "complete"
    assert turned > 1
    assert loom.evaluate(Adder(), sums(3), Says(), store=store).state == "complete"  # blocks, and works


async def test_a_cancelled_run_keeps_what_was_answered_and_continues(store: Store) -> None:
    prompts: list[str] = []
    gate = asyncio.Event()

    async def agent(prompt: str) -> str:
        prompts.append(prompt)
        if len(prompts) > 8:
            loop.call_soon_threadsafe(gate.set)
            await asyncio.sleep(60)
        return prompt

    loop = asyncio.get_running_loop()
    task = asyncio.create_task(loom.aevaluate(agent, sums(20), Says(), run_id="r1", store=store))
    await gate.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    run = EvalRun.load(store, "r1")
    assert run.state == "interrupted"
    assert len(run.rows()) == 8
    again = loom.evaluate(CallableTarget(Adder(), name="agent"), sums(20), Says(), run_id="r1", store=store)
    assert again.state == "complete"
    assert len(again.rows()) == 20


def test_progress_is_reported_in_the_callers_thread(store: Store) -> None:
    import threading

    snapshots: list[tuple[int, RunSnapshot]] = []

    class Telling(Silent):
        def finish(self, snapshot: RunSnapshot) -> None:
            snapshots.append((threading.get_ident(), snapshot))

    loom.evaluate(Adder(), sums(7), [Says(), SaysLater("later")], progress=Telling(), store=store)
    ((thread, last),) = snapshots
    assert thread == threading.get_ident()
    assert (last.total, last.answered, last.judged) == (7, 7, 7)
    with pytest.warns(DeprecationWarning, match="use RunSnapshot.total"):
        assert last.owed == 7
    assert str(last).startswith("evaluation · 7/7 answered · 7 scored")


def test_two_processes_cannot_do_one_run(store: Store) -> None:
    adder = Adder()

    def agent(prompt: str) -> str:
        with pytest.raises(EvalError, match="is being run by process"):
            loom.evaluate(adder, sums(2), Says(), run_id="mine", store=store)
        return prompt

    CallableTarget(agent)
    run = loom.evaluate(CallableTarget(agent, name="adder"), sums(2), Says(), run_id="mine", store=store)
    assert run.state == "complete"
    assert not run.failures().size
    assert not adder.asked


def test_evaluators_of_the_set_and_of_a_case_judge_too(store: Store) -> None:
    cases = (case_of(1), replace(case_of(2), evaluators=(EvaluatorChoice(name="contains"),)))
    set_ = EvalSet(name="s", cases=cases, evaluators=(EvaluatorChoice(name="exact"),))
    run = loom.evaluate(Adder(), set_, store=store)
    assert [(outcome.case_id, outcome.evaluator) for outcome in run.outcomes()] == [
        ("sum 1", "exact"), ("sum 2", "exact"), ("sum 2", "contains"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "evaluators",
    [
        [lambda answer: len(answer) < 3, lambda answer: "2" in answer],
        ["rouge1(threshold=0.2)", "rouge1(threshold=0.9)"],
    ],
)
def test_two_evaluators_of_one_list_cannot_have_one_name(store: Store, evaluators: list[Any]) -> None:
    adder = Adder()
    with pytest.raises(EvalError, match="Two different evaluators have the same name"):
        loom.evaluate(adder, sums(1), evaluators, store=store)
    assert not adder.asked


def test_an_evaluator_that_is_named_twice_judges_once_and_the_sets_replaces_the_runs(store: Store) -> None:
    own = EvalSet(name="own", cases=sums(1).cases, evaluators=(EvaluatorChoice(name="rouge1", threshold=0.9),))
    run = loom.evaluate(Adder(), own, ["exact", "exact", "rouge1(threshold=0.2)"], store=store)
    assert [outcome.evaluator for outcome in run.outcomes()] == ["exact", "rouge1"]


def test_a_run_without_evaluators_fails_before_anything_is_asked(store: Store) -> None:
    adder = Adder()
    with pytest.raises(EvalError, match="names an evaluator"):
        loom.evaluate(adder, sums(1), store=store)
    assert not adder.asked


def test_what_is_wrong_with_the_arguments_is_reported_at_once(store: Store) -> None:
    with pytest.raises(TypeError, match="a function or a Target"):
        loom.evaluate(3, sums(1), Says(), store=store)
    with pytest.raises(ValueError, match="repeats"):
        loom.evaluate(Adder(), sums(1), Says(), 0, store=store)
    with pytest.raises(ValueError, match="money"):
        Budget(money=0)
    assert issubclass(EvalInterruptedError, EvalError)
