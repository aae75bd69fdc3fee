"""ADK's criteria by name: votes and means as ADK makes them, options in both spellings, and what has no counterpart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from fake_judge import FakeJudge
from judged import answer_of, case_of

from loomlib.errors import EvalError
from loomlib.evals import CaseAnswer, EvaluatorChoice, NotApplicable, Rubric, ToolUse, Turn, TurnAnswer
from loomlib.evals.judges import JudgeFailedError, StrandsJudge
from loomlib.evals.judges.adk import OTHER_MODEL, AdkJudge
from loomlib.evals.judges.adk_kinds import EXACT, JUDGES, WITHOUT_COUNTERPART
from loomlib.evals.judges.model import DEFAULT_MODEL
from loomlib.evals.registry import evaluator_plugins, make_evaluator

MATCH = "adk:final_response_match_v2"
RUBRICS = "adk:rubric_based_final_response_quality_v1"
BY_RUBRIC = {"rubrics": [{"rubricId": "r1", "rubricContent": {"textProperty": "says one"}}]}
CASE = case_of(Turn(prompt="a", expected_answer="one"), Turn(prompt="b", expected_answer="two"))


def adk(name: str, model: Any, **options: Any) -> AdkJudge:
    judge = make_evaluator(EvaluatorChoice(name=name, options=options, threshold=options.pop("threshold", None)))
    assert isinstance(judge, AdkJudge)
    return replace(judge, judge_of=replace(judge.judge_of, model=model))


def by_sample(*verdicts: str) -> FakeJudge:
    """A judge that says the first verdict when it is asked first, and so on, of every question."""
    last_index: dict[str, int] = {}

    def answer(question: Any, parts: Any, sample: int) -> dict[str, str]:
        index = last_index[question.digest] = last_index.get(question.digest, -1) + 1
        return {"rationale": f"because {verdicts[index]}", "verdict": verdicts[index]}

    return FakeJudge(answer)


async def test_each_turn_is_judged_by_majority_and_the_mean_of_the_turns_against_the_threshold() -> None:
    answer = answer_of("one", "three")
    for threshold, passed in ((0.5, True), (0.6, False)):
        judge = adk(MATCH, FakeJudge(), judge_model_options={"num_samples": 3}, threshold=threshold)
        whole, first, second = await judge.judge(CASE, answer)  # type: ignore[misc]
        assert (whole.value, whole.passed, whole.part) == (0.5, passed, "")
        assert [(score.part, score.value) for score in (first, second)] == [("turn 1", 1.0), ("turn 2", 0.0)]
        assert len(first.details["votes"]) == 3
        assert whole.rationale == "mean of 2 parts; failed: turn 2"


@pytest.mark.parametrize(
    ("verdicts", "value"),
    [(("correct", "correct", "incorrect"), 1.0), (("correct", "incorrect"), 0.0), (("partly_correct",), 0.0)],
)
async def test_a_tie_counts_against_the_agent_and_so_does_partly(verdicts: tuple[str, ...], value: float) -> None:
    judge = adk(MATCH, by_sample(*verdicts), judgeModelOptions={"numSamples": len(verdicts)})
    (score,) = await judge.judge(case_of(Turn(prompt="a", expected_answer="one")), answer_of("one"))  # type: ignore[misc]
    assert (score.value, score.passed) == (value, value == 1.0)
    assert "because" in score.rationale


async def test_rubrics_are_the_criterions_and_those_of_the_case_and_turn_that_are_of_its_type() -> None:
    quality, other = "FINAL_RESPONSE_QUALITY", "TOOL_USE_QUALITY"
    case = case_of(
        Turn(prompt="a", rubrics=(Rubric(text="of the turn", id="t", kind=quality),)),
        Turn(prompt="b"),
        rubrics=(Rubric(text="of the case", id="c", kind=quality), Rubric(text="tools", id="x", kind=other)),
    )
    turns = tuple(TurnAnswer(text=text, tools=(ToolUse(name="look", arguments={}, result=text),)) for text in "ab")
    model = FakeJudge(lambda q, parts, _: {"rationale": parts["rubric"], "verdict": "yes"})
    scores = await adk(RUBRICS, model, **BY_RUBRIC).judge(case, CaseAnswer(turns=turns))
    assert not isinstance(scores, NotApplicable)
    assert [score.part for score in scores[1:]] == ["turn 1: r1", "turn 1: c", "turn 1: t", "turn 2: r1", "turn 2: c"]
    question_parts = dict(model.asked[0].parts)
    assert "look" in question_parts["trajectory"]
    assert "User: b" not in question_parts["trajectory"]
    tools = await adk("adk:rubric_based_tool_use_quality_v1", model).judge(case, CaseAnswer(turns=turns))
    assert not isinstance(tools, NotApplicable)
    assert [score.part for score in tools[1:]] == ["turn 1: x", "turn 2: x"]
    assert isinstance(
        await adk("adk:rubric_based_multi_turn_trajectory_quality_v1", model).judge(case, CaseAnswer(turns=turns)),
        NotApplicable,
    )


async def test_rubrics_of_the_same_id_are_parts_of_their_own() -> None:
    quality = "TRAJECTORY_QUALITY"
    turns = [
        Turn(prompt="p", rubrics=(Rubric(text=text, id="goal", kind=quality),))
        for text in ("books the flight", "sends the invoice")
    ]
    model = FakeJudge(lambda q, parts, _: {"rationale": "", "verdict": "no" if "flight" in parts["rubric"] else "yes"})
    answer = answer_of(*(TurnAnswer(text=text, tools=()) for text in "ab"))
    judge = adk("adk:rubric_based_multi_turn_trajectory_quality_v1", model)
    whole, first, second = await judge.judge(case_of(*turns), answer)  # type: ignore[misc]
    assert (whole.value, whole.rationale) == (0.5, "mean of 2 parts; failed: goal")
    assert [(score.part, score.value) for score in (first, second)] == [("goal", 0.0), ("goal (2)", 1.0)]
    assert first.tokens + second.tokens == 10 * 12


async def test_texts_on_the_way_count_where_the_criterion_reports_it() -> None:
    case = case_of(Turn(prompt="a", expected_answer="end", expected_texts=("way",)))
    answer = answer_of(TurnAnswer(text="end", texts=("way",)))
    for option, output in ((True, "way\nend"), (False, "end")):
        model = FakeJudge()
        await adk(MATCH, model, include_intermediate_responses_in_final=option).judge(case, answer)
        parts = dict(model.asked[0].parts)
        assert (parts["output"], parts["golden answer"]) == (output, output)


async def test_grades_are_means_and_adks_one_to_five_is_nought_to_one() -> None:
    judge = adk("adk:response_evaluation_score", by_sample("4"), threshold=4.0)
    assert (judge.samples, judge.threshold) == (1, 0.75)
    (score,) = await judge.judge(case_of(Turn(prompt="a")), answer_of("x"))  # type: ignore[misc]
    assert (score.value, score.passed) == (0.75, True)
    hallucination_judge = adk(
        "adk:hallucinations_v1", by_sample("5", "1"), judge_model_options={"num_samples": 2}, threshold=0.5
    )
    (score,) = await hallucination_judge.judge(case_of(Turn(prompt="a")), answer_of(TurnAnswer(text="x", tools=())))  # type: ignore[misc]
    assert (score.value, score.passed) == (0.5, True)


async def test_a_mean_that_is_the_threshold_up_to_rounding_passes() -> None:
    judge = adk(
        "adk:hallucinations_v1",
        by_sample("4", "4", "4", "4", "3"),
        judge_model_options={"num_samples": 5},
        threshold=0.7,
    )
    case = case_of(Turn(prompt="a"), Turn(prompt="b"), Turn(prompt="c"))
    whole, *turns = await judge.judge(case, answer_of(*(TurnAnswer(text=text, tools=()) for text in "xyz")))  # type: ignore[misc]
    assert [score.passed for score in turns] == [True, True, True]
    assert (whole.value < 0.7, whole.passed) == (True, True)


@pytest.mark.parametrize(
    ("verdicts", "passed", "rationale"),
    [
        (("3",) * 5, True, "Mean of 5 verdicts. because 3"),
        (("5", "1", "1"), False, "Mean of 3 verdicts. because 1"),
        (("4",), True, "because 4"),
    ],
)
async def test_a_graded_part_has_a_rationale_for_its_mean(
    verdicts: tuple[str, ...], passed: bool, rationale: str
) -> None:
    options = {"judge_model_options": {"num_samples": len(verdicts)}, "threshold": 0.5}
    judge = adk("adk:hallucinations_v1", by_sample(*verdicts), **options)
    (score,) = await judge.judge(case_of(Turn(prompt="a")), answer_of(TurnAnswer(text="x", tools=())))  # type: ignore[misc]
    assert (score.passed, score.rationale) == (passed, rationale)


async def test_a_part_that_is_the_threshold_up_to_rounding_is_not_reported_as_failed() -> None:
    options = {"judge_model_options": {"num_samples": 5}, "threshold": 1.6}
    judge = adk("adk:response_evaluation_score", by_sample("1", "1", "1", "2", "3"), **options)
    (whole, *parts) = await judge.judge(case_of(Turn(prompt="a"), Turn(prompt="b")), answer_of("x", "y"))  # type: ignore[misc]
    assert (judge.threshold > 0.15, whole.passed, [part.passed for part in parts]) == (True, True, [True, True])
    assert whole.rationale == "mean of 2 parts"


async def test_rubrics_of_a_conversation_without_an_answer_are_not_applicable() -> None:
    case = case_of(Turn(prompt="a"), rubrics=(Rubric(text="books the flight", kind="TRAJECTORY_QUALITY"),))
    judge = adk("adk:rubric_based_multi_turn_trajectory_quality_v1", FakeJudge())
    assert isinstance(await judge.judge(case, answer_of()), NotApplicable)


@pytest.mark.parametrize(
    ("named", "model", "asked_for"),
    [
        ("gemini-2.5-flash", DEFAULT_MODEL, "gemini-2.5-flash"),
        ("claude-sonnet-4-6", DEFAULT_MODEL, "claude-sonnet-4-6"),
        ("gpt-4.1", DEFAULT_MODEL, "gpt-4.1"),
        ("bedrock/us.anthropic.claude-x", "us.anthropic.claude-x", ""),
        ("amazon.nova-pro-v1:0", "amazon.nova-pro-v1:0", ""),
        ("arn:aws:bedrock:eu-west-1:1:x", "arn:aws:bedrock:eu-west-1:1:x", ""),
    ],
)
async def test_a_model_that_bedrock_does_not_have_is_replaced_and_reported(
    named: str, model: str, asked_for: str
) -> None:
    evaluator = make_evaluator(EvaluatorChoice(name=MATCH, options={"judge_model_options": {"judge_model": named}}))
    assert isinstance(evaluator, AdkJudge)
    assert (evaluator.judge_of.model, evaluator.asked_for) == (model, asked_for)
    judge = replace(evaluator, judge_of=replace(evaluator.judge_of, model=FakeJudge()))
    (score,) = await judge.judge(case_of(Turn(prompt="a", expected_answer="one")), answer_of("one"))  # type: ignore[misc]
    assert (OTHER_MODEL in score.labels) == bool(asked_for)


@pytest.mark.parametrize("criterion", [*EXACT, *JUDGES, *WITHOUT_COUNTERPART])
def test_every_criterion_can_be_made_by_its_name(criterion: str) -> None:
    evaluator = make_evaluator(EvaluatorChoice(name=f"adk:{criterion}", threshold=0.5))
    assert evaluator.name == f"adk:{criterion}"
    assert evaluator.digest == make_evaluator(EvaluatorChoice(name=f"adk:{criterion}", threshold=0.5)).digest
    assert f"adk:{criterion}" in evaluator_plugins().names("evaluators")


@pytest.mark.parametrize("criterion", list(WITHOUT_COUNTERPART))
def test_what_has_no_counterpart_gives_the_reason(criterion: str) -> None:
    verdict = make_evaluator(f"adk:{criterion}").judge(CASE, answer_of("x", "y"))
    assert isinstance(verdict, NotApplicable)
    assert len(verdict.reason) > 20


def test_the_exact_criteria_take_adks_options() -> None:
    options = {"match_type": "ANY_ORDER", "ignore_args": True, "include_intermediate_responses_in_final": False}
    path = make_evaluator(EvaluatorChoice(name="adk:tool_trajectory_avg_score", options=options))
    assert (path.match, path.arguments) == ("ANY_ORDER", False)  # type: ignore[attr-defined]
    with pytest.raises(EvalError, match="include_intermediate"):
        make_evaluator(
            EvaluatorChoice(name="adk:response_match_score", options={"include_intermediate_responses_in_final": True})
        )


@pytest.mark.parametrize(
    ("name", "options", "named"),
    [
        ("adk:final_respons_match_v2", {}, "adk:final_response_match_v2"),
        ("adk:our_own_metric", {}, "as a function"),
        ("adk:our_own_metric(threshold=1)", {}, "as a function"),
        (MATCH, {"judge_model_options": {"num_samples": 0}}, "num_samples"),
        (MATCH, {"colour": "red"}, "colour"),
        (
            "adk:response_match_score",
            {"include_intermediate_responses_in_final": False, "colour": "red"},
            "colour",
        ),
        (RUBRICS, {"rubrics": [{"no": "rubric"}]}, "rubric"),
    ],
)
def test_what_nobody_knows_is_a_named_error_at_the_start(name: str, options: dict[str, Any], named: str) -> None:
    with pytest.raises(EvalError, match=named):
        make_evaluator(EvaluatorChoice(name=name, options=options))


async def test_without_a_model_it_is_a_failure_to_judge() -> None:
    with pytest.raises(JudgeFailedError):
        await make_evaluator(MATCH).judge(CASE, answer_of("one", "two"))


def test_strands_judges_take_the_options_that_strands_writes() -> None:
    options = {"system_prompt": "a", "assertion_system_prompt": "b", "version": "v0", "name": "goal", "model_id": "m.x"}
    judge = make_evaluator(EvaluatorChoice(name="strands:GoalSuccessRateEvaluator", options=options))
    plain = make_evaluator("strands:GoalSuccessRate")
    assert isinstance(judge, StrandsJudge)
    assert (judge.name, judge.model, judge.evaluator) == ("goal", "m.x", "GoalSuccessRate")
    assert dict(judge.options) == {"system_prompt": "a", "assertion_system_prompt": "b", "version": "v0"}
    assert judge.digest != plain.digest
    assert plain.name == "strands:GoalSuccessRate"
    with pytest.raises(ValueError, match="colour"):
        make_evaluator(EvaluatorChoice(name="strands:Helpfulness", options={"colour": "red"}))
