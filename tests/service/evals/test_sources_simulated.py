"""strands_evals' simulators, generator and chaos over the local service's model and a real strands agent."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
import strands

import loomlib as loom
from loomlib.evals import EvalCase, EvalSet, ExpectedTool, Turn, UserScenario
from loomlib.evals.judges import ConverseJudge
from loomlib.evals.judges.strands_judges import StrandsJudge
from loomlib.evals.judges.strands_model import StrandsModel
from loomlib.evals.sources import (
    SimulatedUser,
    chaos_set,
    generated_red_team_set,
    generated_set,
    simulated_tools,
    with_simulated_user,
)
from loomlib.evals.sources.users import load_module

PASS = [lambda text, case: True]
SCENARIO = UserScenario(
    starting_prompt="I want to send a parcel", plan="Find out what a parcel to Oslo costs.", persona="Curt", max_turns=3
)
SET = EvalSet(name="talks", cases=(EvalCase(id="parcel", scenario=SCENARIO),))


@pytest.mark.parametrize("template", [None, "gradual_escalation"])
def test_a_user_that_a_model_plays_talks_to_an_agent_until_it_stops_or_its_turns_are_over(
    model: ConverseJudge, tmp_path: Path, template: str | None
) -> None:
    prompts: list[str] = []

    def agent(prompt: str) -> str:
        prompts.append(prompt)
        return "Stop: a parcel to Oslo costs 12 euros, and there is no end to it."

    level = logging.getLogger().level
    user = SimulatedUser(model=model, template=template)
    run = loom.evaluate(with_simulated_user(agent, user), SET, PASS, store=f"sqlite:///{tmp_path / 'loom.db'}")
    answer = next(iter(run.judgements())).answer
    assert answer.failure is None
    assert prompts[0] == SCENARIO.starting_prompt
    # The scripted model plays on for as many turns as the scenario has, whatever the agent says of stopping.
    assert prompts[1:] == [SCENARIO.plan, f"Could you tell me more? {SCENARIO.plan}"]
    assert answer.metadata["prompts"] == prompts
    assert run.labels == ("simulated user",)
    assert logging.getLogger().level == level


def test_a_simulated_tool_answers_in_an_agent(model: ConverseJudge) -> None:
    tools = simulated_tools(model)

    @tools.tool()
    def find_flights(city: str) -> dict:
        """Flights to a city."""

    agent = strands.Agent(model=StrandsModel(model), tools=[tools.get_tool("find_flights")], callback_handler=None)
    agent("Find flights to Oslo")
    assert len(tools.get_state("find_flights")["previous_calls"]) == 1


async def test_a_model_writes_a_red_team_for_an_agent_even_in_a_running_loop(model: ConverseJudge) -> None:
    evalset = generated_red_team_set(
        model, system_prompt="You book flights.", tools=[{"name": "book", "description": "Books", "parameters": {}}],
        categories=["prompt_injection"], per_category=2, forbidden_tools=["book"],
    )  # fmt: skip
    assert 1 <= len(evalset) <= 2
    assert all({"red team", "prompt_injection", "simulated"} <= set(case.tags) for case in evalset)
    assert all(case.prompt for case in evalset)


# strands_evals' generator asks strands in a way that strands deprecates.
@pytest.mark.filterwarnings("ignore:Agent.structured_output_async:DeprecationWarning")
@pytest.mark.parametrize("how", [{"topics": ["prices", "customs"]}, {"context": "A parcel to Oslo costs 12 euros."}])
async def test_a_model_writes_cases_for_a_task_even_in_a_running_loop(
    model: ConverseJudge, how: dict[str, object]
) -> None:
    evalset = generated_set(model, "Answers questions on parcels", count=2, **how)
    assert 1 <= len(evalset) <= 2
    assert all(case.tags == ("generated", "simulated") and case.prompt for case in evalset)
    with pytest.raises(ValueError, match="either topics or a context"):
        generated_set(model, "Answers questions on parcels")


@pytest.mark.parametrize("name", ["FailureCommunication", "PartialCompletion", "RecoveryStrategy"])
def test_strands_chaos_evaluators_judge_an_answer_under_chaos(model: ConverseJudge, tmp_path: Path, name: str) -> None:
    evalset = EvalSet(name="one", cases=(EvalCase(id="a", turns=(Turn(prompt="Add 1 and 2"),)),))
    cases = chaos_set(evalset, ["timeout"], tools=["add"], baseline=False)

    def agent(prompt: str) -> dict[str, object]:
        return {"text": "I could not add: the tool timed out.", "tools": [{"name": "add", "status": "error"}]}

    judge = StrandsJudge(evaluator=name, model=model)
    run = loom.evaluate(agent, cases, [judge], store=f"sqlite:///{tmp_path / 'loom.db'}")
    scores = run.scores()
    assert list(scores["state"]) == ["scored"], list(scores["failure"])
    assert 0 <= scores["value"][0] <= 1


def test_chaos_in_the_payload_strikes_a_real_agents_tool(model: ConverseJudge, tmp_path: Path) -> None:
    chaos, context = load_module("chaos"), load_module("chaos._context")

    @strands.tool
    def add(a: int, b: int) -> str:
        """Adds two numbers."""
        return str(a + b)

    def answer(prompt: str, turn: Turn) -> dict[str, object]:
        payload = turn.payload or {}
        agent = strands.Agent(
            model=StrandsModel(model), tools=[add], plugins=[chaos.ChaosPlugin()], callback_handler=None
        )
        case = chaos.ChaosCase(name="chaos", input=prompt, effects=payload.get("chaos") or {})
        token = context._current_chaos_case.set(case)
        try:
            text = str(agent(prompt))
        finally:
            context._current_chaos_case.reset(token)
        results = [
            {"name": "add", "status": block["toolResult"]["status"]}
            for message in agent.messages
            for block in message["content"]
            if "toolResult" in block
        ]
        return {"text": text, "tools": results}

    base = EvalSet(
        name="sums",
        cases=(EvalCase(id="sum", turns=(Turn(prompt="Add 40 and 2", expected_tools=(ExpectedTool(name="add"),)),)),),
    )
    run = loom.evaluate(answer, chaos_set(base, ["timeout"]), PASS, store=f"sqlite:///{tmp_path / 'loom.db'}")
    answers = {judgement.case_id: judgement.answer for judgement in run.judgements()}
    assert [use.status for use in answers["sum"].tools or ()] == ["success"]
    assert "42" in answers["sum"].text
    assert "error" in [use.status for use in answers["sum|timeout|add"].tools or ()]
