"""Judges against the local service's scripted model, which judges by stated rules and says "simulated judge"."""

from __future__ import annotations

import logging

import pytest

from loomlib.evals import CaseAnswer, EvalCase, ExpectedTool, NotApplicable, Rubric, ToolUse, Turn, TurnAnswer
from loomlib.evals.judges import (
    SIMULATED_JUDGE,
    STRANDS_EVALUATORS,
    AssertionJudge,
    ConverseJudge,
    CorrectnessJudge,
    HelpfulnessJudge,
    JudgeFailedError,
    JudgePanel,
    PairwiseJudge,
    RankingJudge,
    RubricJudge,
    StrandsJudge,
    TrajectoryJudge,
)
from loomlib.evals.judges.strands_judges import load_strands_evals
from loomlib.evals.judges.strands_session import evaluation_data

ROOT_LEVEL = logging.getLogger().level  # before strands_evals was imported
CASE = EvalCase(
    id="weather",
    turns=(
        Turn(
            prompt="What is the weather in Paris?",
            expected_answer="It is sunny in Paris, 21 degrees.",
            expected_tools=(ExpectedTool(name="get_weather", arguments={"city": "Paris"}),),
        ),
    ),
    rubrics=(Rubric(text='States "21". Uses at most 20 words. Does not mention "Berlin".'),),
    assertions=("The agent says that it is sunny in Paris",),
)


def answered(text: str, tool: str = "get_weather", result: str = "sunny, 21") -> CaseAnswer:
    use = ToolUse(name=tool, arguments={"city": "Paris"}, result=result, status="success")
    return CaseAnswer(turns=(TurnAnswer(text=text, tools=(use,)),))


GOOD, BAD = answered("Sunny in Paris, with 21 degrees."), answered("Berlin has rain, 4 degrees.", "get_stock", "4")


@pytest.mark.parametrize("kind", [RubricJudge, CorrectnessJudge, AssertionJudge, TrajectoryJudge])
async def test_a_good_answer_passes_and_a_bad_one_fails(kind, model):
    (good,), (bad,) = await kind(model=model).judge(CASE, GOOD), await kind(model=model).judge(CASE, BAD)
    assert good.passed, good
    assert not bad.passed, bad
    for score in (good, bad):
        assert score.labels == (SIMULATED_JUDGE,)
        assert score.rationale.startswith("Simulated judge: ")
        assert score.tokens > 100
        assert score.cost == 0.0


async def test_a_refusal_helps_little(model):
    (helpful,) = await HelpfulnessJudge(model=model).judge(CASE, GOOD)
    (refused,) = await HelpfulnessJudge(model=model).judge(CASE, answered("I cannot help with that."))
    assert helpful.value > refused.value
    assert not refused.passed


async def test_pairs_orders_and_panels_work_over_the_real_service(model):
    good, bad = GOOD.text, BAD.text
    assert (await PairwiseJudge(model=model).compare(CASE, bad, good)).winner == "second"
    assert (await PairwiseJudge(model=model).compare(CASE, good, good)).winner == "tie"
    ranking = await RankingJudge(model=model).rank(CASE, [bad, good, "It is sunny."])
    assert ranking.order[0] == 1
    assert ranking.labels == (SIMULATED_JUDGE,)
    (score,) = await JudgePanel(judges=(CorrectnessJudge(model=model),) * 3).judge(CASE, GOOD)
    assert (score.value, score.labels) == (1.0, (SIMULATED_JUDGE,))


async def test_a_judge_is_connected_by_a_workbenchs_clients(clients):
    (score,) = await CorrectnessJudge().connected_to(clients).judge(CASE, GOOD)
    assert score.passed


@pytest.mark.parametrize("name", list(STRANDS_EVALUATORS))
async def test_strands_evaluators_judge_over_the_same_connection(name, model):
    scores = await StrandsJudge(evaluator=name, model=model).judge(CASE, GOOD)
    (score,) = scores
    assert score.labels == (SIMULATED_JUDGE,)
    assert score.rationale.startswith("Simulated judge: ")
    assert score.tokens > 100
    assert score.passed is (name != "Refusal")
    assert ("label" in score.details) is (name not in ("Output", "Trajectory"))


@pytest.mark.parametrize("name", ["Output", "Correctness", "ToolSelectionAccuracy"])
async def test_strands_evaluators_tell_a_bad_answer(name, model):
    (score,) = await StrandsJudge(evaluator=name, model=model).judge(CASE, BAD)
    assert not score.passed


async def test_a_strands_evaluator_that_cannot_judge_fails_and_scores_no_zero(clients):
    judge = StrandsJudge(evaluator="Helpfulness", model=ConverseJudge(clients=clients, model_id="x@no-such-profile"))
    with pytest.raises(JudgeFailedError) as failed:
        await judge.judge(CASE, GOOD)
    assert failed.value.kind == "aws:ValidationException"


async def test_strands_evaluators_say_when_they_do_not_apply(model):
    bare = EvalCase(id="bare", turns=(Turn(prompt="hi"),))
    none = CaseAnswer(turns=(TurnAnswer(text="hello", tools=()),))
    assert isinstance(await StrandsJudge(evaluator="Output", model=model).judge(bare, none), NotApplicable)
    assert isinstance(
        await StrandsJudge(evaluator="ToolSelectionAccuracy", model=model).judge(CASE, none), NotApplicable
    )
    with pytest.raises(JudgeFailedError) as failed:
        await StrandsJudge(evaluator="ToolSelectionAccuracy", model=model).judge(
            CASE, CaseAnswer(turns=(TurnAnswer(text="x"),))
        )
    assert failed.value.kind == "no_trajectory"


@pytest.mark.parametrize("name", ["Output", "Trajectory"])
def test_strands_evaluators_judge_the_last_answer_beside_its_own_prompt(name):
    turns = [("What is the weather in Paris?", "Sun."), ("And in Oslo?", "Rain.")]
    case = EvalCase(id="two", turns=tuple(Turn(prompt=prompt) for prompt, _ in turns))
    answer = CaseAnswer(turns=tuple(TurnAnswer(text=text, tools=()) for _, text in turns))
    data = evaluation_data(load_strands_evals(), name, case, answer)
    conversation = "User: What is the weather in Paris?\nAgent: Sun.\nUser: And in Oslo?"
    assert (data.input, data.actual_output) == (conversation, "Rain.")


async def test_importing_strands_evals_leaves_the_root_logger_alone(model):
    await StrandsJudge(evaluator="Helpfulness", model=model).judge(CASE, GOOD)
    assert logging.getLogger().level == ROOT_LEVEL
