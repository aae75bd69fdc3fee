"""Evaluators by name, by plugin and by function."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest
from judged import answer_of, case_of, judged

from loomlib.errors import PluginError
from loomlib.evals import CaseAnswer, EvalCase, Evaluator, EvaluatorChoice, NotApplicable, Score, Turn
from loomlib.evals.evaluators import FunctionEvaluator, TrajectoryMatch
from loomlib.evals.evaluators.factories import EVALUATOR_FACTORIES, STRANDS_FACTORIES
from loomlib.evals.registry import evaluator_plugins, make_evaluator
from loomlib.evals.values.judge_error import JudgeFailedError
from loomlib.plugins import hookimpl, load_plugins

CASE = case_of(Turn(prompt="p", expected_answer="Order 7 is shipped."))


def test_the_built_in_evaluators_come_through_the_plugins_hook_like_others() -> None:
    plugins = evaluator_plugins()
    assert plugins.problems == ()
    assert set(EVALUATOR_FACTORIES) | set(STRANDS_FACTORIES) <= set(plugins.names("evaluators"))
    assert plugins.get("evaluators", "trajectory", match="in_order") == EVALUATOR_FACTORIES["trajectory"](
        match="IN_ORDER"
    )


@pytest.mark.parametrize("name", sorted(EVALUATOR_FACTORIES))
def test_every_built_in_is_an_evaluator_by_its_name(name: str) -> None:
    evaluator = make_evaluator(name)
    assert isinstance(evaluator, Evaluator)
    assert evaluator.name == name
    assert evaluator.digest == make_evaluator(EvaluatorChoice(name=name)).digest


@pytest.mark.parametrize(
    ("choice", "column"),
    [
        ("trajectory:any_order", "trajectory:any_order"),
        ("trajectory(match='IN_ORDER')", "trajectory:in_order"),
        ("trajectory(match='IN_ORDER', arguments=False)", "trajectory(arguments=False, match='IN_ORDER')"),
        ("rouge1(threshold=0.8)", "rouge1"),
        ("contains:shipped", "contains:shipped"),
        ("contains('shipped')", "contains:shipped"),
        (r"regex:\((\d+)\)", r"regex:\((\d+)\)"),
        ("tool_used:lookup(at_least=2)", "tool_used(at_least=2, tool='lookup')"),
        ("exact(name='same')", "same"),
    ],
)
def test_a_choice_is_read_as_it_is_written(choice: str, column: str) -> None:
    assert make_evaluator(choice).name == column


def test_an_adk_criterion_means_the_evaluator_of_the_same_semantics() -> None:
    choice = EvaluatorChoice(name="trajectory", options={"match": "IN_ORDER", "arguments": False}, threshold=0.5)
    evaluator = make_evaluator(choice)
    assert isinstance(evaluator, TrajectoryMatch)
    assert (evaluator.match, evaluator.arguments, evaluator.threshold) == ("IN_ORDER", False, 0.5)


@pytest.mark.parametrize(
    ("choice", "value"),
    [
        (EvaluatorChoice(name="strands:Contains", options={"value": "SHIPPED", "case_sensitive": False}), 1.0),
        (EvaluatorChoice(name="strands:StartsWith", options={"value": "Order"}), 1.0),
        (EvaluatorChoice(name="strands:Equals", options={"value": "Order"}), 0.0),
        (EvaluatorChoice(name="strands:Equals"), 1.0),
        (EvaluatorChoice(name="strands:StateEquals", options={"name": "cart", "value": []}), 1.0),
    ],
)
def test_what_a_strands_experiment_names_is_there(choice: EvaluatorChoice, value: float) -> None:
    assert judged(choice, CASE, answer_of("Order 7 is shipped.", state={"cart": []})).value == value


def test_the_state_at_the_end_is_compared_key_by_key() -> None:
    case = case_of(Turn(prompt="p"), final_state={"cart": [7], "paid": True})
    score = judged("final_state", case, answer_of("x", state={"cart": [7], "paid": 1, "more": 0}))
    assert (score.value, score.details["state"]) == (0.5, {"cart": True, "paid": False})
    assert isinstance(judged("final_state", CASE, answer_of("x")), NotApplicable)
    with pytest.raises(JudgeFailedError, match="state"):
        judged("final_state", case, answer_of("x"))


def test_digests_follow_options_and_not_names() -> None:
    assert make_evaluator("exact(name='other')").digest == make_evaluator("exact").digest
    digests = {make_evaluator(name).digest for name in ("trajectory", "trajectory:in_order", "trajectory(extra=False)")}
    assert len(digests) == 3


def test_a_wrong_name_or_option_lists_what_exists() -> None:
    with pytest.raises(PluginError, match="Try: exact"):
        make_evaluator("exakt")
    with pytest.raises(ValueError, match="exact has no option foo; it has name, threshold"):
        make_evaluator("exact(foo=1)")
    with pytest.raises(ValueError, match="EXACT, IN_ORDER, ANY_ORDER"):
        make_evaluator("trajectory:sideways")
    with pytest.raises(TypeError, match="an evaluator must be a name"):
        make_evaluator(7)  # type: ignore[arg-type]


def test_a_ten_line_plugin_is_an_evaluator() -> None:
    def polite(answer: str, case: EvalCase) -> bool:
        return "please" in answer

    def make_wordy(words: int = 3):
        return lambda answer: len(answer.split()) >= words

    plugin = SimpleNamespace(
        __name__="outside", loom_evaluators=hookimpl(lambda: {"polite": polite, "wordy": make_wordy, "broken": broken})
    )
    plugin.loom_evaluators = _named(plugin.loom_evaluators)
    plugins = load_plugins((plugin,))
    assert plugins.problems == ()
    assert make_evaluator("polite", plugins=plugins).judge(CASE, answer_of("yes please")) is True
    assert make_evaluator("wordy", plugins=plugins).judge(CASE, answer_of("one two")) is False
    assert make_evaluator("wordy(words=2)", plugins=plugins).judge(CASE, answer_of("one two")) is True
    with pytest.raises(PluginError, match="could not be created: ValueError: on purpose"):
        make_evaluator("broken", plugins=plugins)


def broken() -> None:
    raise ValueError("on purpose")


def _named(hook):
    hook.__name__ = "loom_evaluators"
    return hook


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda answer, case: True, True),
        (lambda answer: 0.5, Score(value=0.5)),
        (lambda answer, case: Score(value=0.25), Score(value=0.25)),
        (lambda *both: len(both), Score(value=2.0)),
        (lambda answer, case: NotApplicable("no"), NotApplicable("no")),
    ],
)
def test_a_function_is_an_evaluator(function, wanted: object) -> None:
    assert judged(function, CASE, answer_of("x")) == wanted


async def test_an_async_function_and_one_that_wants_the_whole_answer_are_too() -> None:
    async def later(answer: CaseAnswer, case: EvalCase) -> float:
        return float(len(answer.turns))

    evaluator = make_evaluator(later)
    assert evaluator.name == "later"
    assert await evaluator.judge(CASE, answer_of("x")) == Score(value=1.0)
    assert FunctionEvaluator(function=lambda answer: 0.5, name="half", threshold=0.6).judge(
        CASE, answer_of("x")
    ) == Score(value=0.5, passed=False)


@pytest.mark.parametrize("said", [None, "yes", float("nan"), {"score": 1}, [True]])
def test_what_is_no_verdict_is_a_failure_to_judge(said: object) -> None:
    with pytest.raises(JudgeFailedError) as caught:
        judged(lambda answer, case: said, CASE, answer_of("x"))
    assert caught.value.kind == "malformed"


def test_a_functions_digest_follows_its_code_and_what_it_captured() -> None:
    def longer_than(least: int):
        return lambda answer, case: len(answer) > least

    def digest(function) -> str:
        return make_evaluator(function).digest

    assert digest(longer_than(3)) == digest(longer_than(3)) != digest(longer_than(4))
    assert digest(lambda answer, case: True) != digest(lambda answer, case: False)


def test_a_functions_digest_is_the_same_in_every_process() -> None:
    script = (
        "from loomlib.evals.registry import make_evaluator\n"
        "def judge(answer, case, words=frozenset({'a', 'b', 'c'})):\n"
        "    return any(w in {'x', 'y', 'z'} for w in words)\n"
        "print(make_evaluator(judge).digest, make_evaluator('trajectory:in_order').digest)\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
