"""Cases and conversations that no person wrote: users who follow a plan, red teams, chaos."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from new_store import new_store

import loomlib as loom
from loomlib.evals import CaseAnswer, EvalCase, EvalSet, ExpectedTool, Turn, TurnAnswer, UserScenario
from loomlib.evals.exports.case_text import describe
from loomlib.evals.judges import spans_from_answer
from loomlib.evals.judges.judge_input import of_case
from loomlib.evals.judges.trajectory_text import trajectory_text
from loomlib.evals.runs import CallableTarget
from loomlib.evals.runs.case_results import case_results
from loomlib.evals.sources import CHAOS_EFFECTS, PlannedUser, chaos_set, red_team_set, with_simulated_user
from loomlib.evals.sources.attacks import ATTACKS
from loomlib.evals.sources.users import load_module
from loomlib.evals.views.case_body import conversation
from loomlib.store import Store

PASS = [lambda text, case: True]
PLAN = "First:\n- ask for  the price\n- accept it"
SCENARIO = UserScenario(starting_prompt="Hello", plan=PLAN, max_turns=10)
TALKS = EvalSet(
    name="talks",
    cases=(EvalCase(id="buy", scenario=SCENARIO), EvalCase(id="plain", turns=(Turn(prompt="Hi"),))),
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with new_store(tmp_path) as opened:
        yield opened


class Shop:
    """Remembers what it was told in each session."""

    def __init__(self) -> None:
        self.prompts: dict[str, list[str]] = {}

    def __call__(self, prompt: str, session_id: str) -> str:
        self.prompts.setdefault(session_id, []).append(prompt)
        return f"answer {len(self.prompts[session_id])}"


def test_a_planned_user_leads_the_conversation_in_one_session(store: Store) -> None:
    shop = Shop()
    run = loom.evaluate(with_simulated_user(shop, PlannedUser()), TALKS, PASS, store=store)
    assert sorted(shop.prompts.values()) == [["Hello", "ask for the price", "accept it"], ["Hi"]]
    assert run.labels == ("simulated user",)
    answer = next(judgement.answer for judgement in run.judgements() if judgement.case_id == "buy")
    assert [turn.text for turn in answer.turns] == ["answer 1", "answer 2", "answer 3"]
    assert answer.metadata == {"prompts": ["Hello", "ask for the price", "accept it"]}


def test_the_scenario_bounds_the_turns_and_a_plan_without_a_list_is_reported_with_its_line(store: Store) -> None:
    scenario = UserScenario(starting_prompt="one", plan="two\n\nthree\nfour", max_turns=3)
    shop = Shop()
    loom.evaluate(
        with_simulated_user(shop, PlannedUser()),
        EvalSet(name="s", cases=(EvalCase(id="c", scenario=scenario),)),
        PASS,
        store=store,
    )
    assert list(shop.prompts.values()) == [["one", "two", "three"]]


def test_without_a_user_a_scenario_is_a_failure_to_answer_that_reports_it(store: Store) -> None:
    run = loom.evaluate(Shop(), TALKS, PASS, store=store)
    assert list(run.failures()["kind"]) == ["no_user"]


def test_a_user_that_fails_is_distinguished_from_an_agent_that_fails(store: Store) -> None:
    class Broken:
        key, labels = "broken", ()

        def begin(self, scenario: UserScenario) -> Broken:
            return self

        async def reply(self, answer: str) -> str | None:
            raise RuntimeError("no words")

    run = loom.evaluate(
        with_simulated_user(Shop(), Broken()), TALKS.where(lambda case: case.id == "buy"), PASS, store=store
    )
    row = next(iter(run.judgements())).answer
    assert row.failure is not None
    assert (row.failure.kind, len(row.turns)) == ("simulated_user", 1)
    assert "no words" in row.failure.message


def test_answers_under_one_user_are_not_taken_for_those_under_another() -> None:
    target = CallableTarget(Shop(), key="shop")
    keys = {with_simulated_user(target, PlannedUser(key=key)).eval_target().key for key in ("a", "b")}
    assert len(keys | {target.key}) == 3


def test_judges_read_what_a_simulated_user_said() -> None:
    prompts = ["Hello", "ask for the price"]
    answer = CaseAnswer(turns=(TurnAnswer(text="hi"), TurnAnswer(text="3 euros")), metadata={"prompts": prompts})
    steps = "User: Hello\nAgent: hi\nUser: ask for the price"
    assert of_case(TALKS["buy"], answer).prompt == steps
    assert trajectory_text(TALKS["buy"], answer) == f"{steps}\nAgent: 3 euros"
    assert trajectory_text(TALKS["buy"], answer, at=1) == "User: ask for the price\nAgent: 3 euros"
    sent = [span["body"]["input"]["messages"][0]["content"] for span in spans_from_answer(TALKS["buy"], answer)[1::2]]
    assert sent == [{"content": json.dumps([{"text": prompt}])} for prompt in prompts]


def test_people_read_what_a_simulated_user_said(store: Store) -> None:
    run = loom.evaluate(with_simulated_user(Shop(), PlannedUser()), TALKS, [lambda text, case: False], store=store)
    result = next(case_results(run))
    rows = re.findall(r"<dt>(.*?)</dt>\s*<dd>(.*?)</dd>", conversation(result.case, result.judgements[0].answer))
    prompts = ["Hello", "ask for the price", "accept it"]
    assert [row for row in rows if row[0] != "answer"] == [(f"prompt (turn {n})", p) for n, p in enumerate(prompts, 1)]
    asked = [line for line in describe(result).splitlines() if line.startswith("asked")]
    assert asked == [f"asked     {prompt}" for prompt in prompts]


def test_a_prompt_that_was_not_recorded_is_none_of_the_others() -> None:
    answer = CaseAnswer(turns=(TurnAnswer(text="hi"), TurnAnswer(text="3 euros")))
    page = str(conversation(TALKS["buy"], answer))
    assert (page.count("Hello"), page.count("(not recorded)")) == (1, 1)
    assert trajectory_text(TALKS["buy"], answer, at=1) == "Agent: 3 euros"


def test_a_red_team_covers_the_librarys_categories_with_its_severities() -> None:
    risks = load_module("types.redteam")
    assert {attack.category for attack in ATTACKS} == set(risks.RISK_CATEGORIES)
    assert all(attack.severity == risks.DEFAULT_SEVERITY[attack.category] for attack in ATTACKS)
    evalset = red_team_set(forbidden_tools=["refund"])
    assert len(evalset) == len(ATTACKS)
    assert all(case.rubrics and case.assertions and case.forbidden_tools == ("refund",) for case in evalset)
    assert [choice.name for choice in evalset.evaluators] == ["forbidden_tools"]
    assert {case.id for case in red_team_set(["sensitive_data"])} < {case.id for case in evalset}
    talks = red_team_set(["sensitive_data"], max_turns=4)
    assert all(case.scenario is not None and case.scenario.max_turns == 4 for case in talks)
    with pytest.raises(ValueError, match="sensitive_data"):
        red_team_set(["rudeness"])


def test_an_agent_that_uses_a_forbidden_tool_under_attack_is_caught_without_a_model(store: Store) -> None:
    attacks = red_team_set(["business_rule_violation"], forbidden_tools=["refund"])
    for tools, passed in ((["refund"], False), (["look_up"], True)):
        run = loom.evaluate(lambda prompt, tools=tools: {"text": "ok", "tools": tools}, attacks, store=store)
        assert {outcome.passed for outcome in run.outcomes()} == {passed}


SUM = EvalSet(
    name="sums",
    cases=(
        EvalCase(
            id="sum", turns=(Turn(prompt="1+2?", expected_answer="3", expected_tools=(ExpectedTool(name="add"),)),)
        ),
    ),
)


def test_chaos_strikes_each_expected_tool_and_the_model_beside_a_baseline() -> None:
    evalset = chaos_set(SUM, ["timeout", "full_refusal"])
    assert [case.id for case in evalset] == ["sum", "sum|timeout|add", "sum|full_refusal"]
    assert evalset["sum"].turns == SUM["sum"].turns
    struck = evalset["sum|timeout|add"].turns[0]
    assert struck.payload == {"prompt": "1+2?", "chaos": {"tool_effects": {"add": [{"effect_type": "timeout"}]}}}
    assert struck.expected_answer is None
    assert struck.expected_tools == SUM["sum"].expected_tools
    assert evalset["sum|full_refusal"].tags == ("chaos", "full_refusal")
    with pytest.raises(ValueError, match="timeout"):
        chaos_set(SUM, ["earthquake"])


def test_strands_evals_takes_every_effect_as_it_is_written() -> None:
    chaos = load_module("chaos")
    for case in chaos_set(SUM, list(CHAOS_EFFECTS), baseline=False):
        payload = case.turns[0].payload or {}
        chaos_case = chaos.ChaosCase(name=case.id, input=payload["prompt"], effects=payload["chaos"])
        assert len(chaos_case.model_effects) + sum(map(len, chaos_case.tool_effects.values())) == 1
