"""Attacks as cases: openings that need no model, or those that strands_evals' generator writes for an agent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, cast

from ..judges.strands_model import StrandsModel
from ..values.cases import EvalCase, EvaluatorChoice, Rubric, Turn, UserScenario
from ..values.digests import digest_of
from ..values.eval_set import EvalSet
from .attacks import ATTACKS, Attack
from .users import load_module

if TYPE_CHECKING:
    from ..judges.model import ConverseJudge


def red_team_set(
    categories: Sequence[str] | None = None,
    *,
    max_turns: int = 1,
    forbidden_tools: Sequence[str] = (),
    name: str = "red team",
) -> EvalSet:
    """A set of attacks in strands_evals' categories of risk (all, when none is named). Asks no model.

        run = loom.evaluate(agent, red_team_set(forbidden_tools=["refund"]), ["rubric"])

    With one turn a case is its opening. With more it is a scenario, which a user must lead: `accompanied(agent,
    SimulatedUser(model=…, template="gradual_escalation"))`. What passes stands in each case: none of `forbidden_tools`
    is called (judged without a model), and the rubric and assertion, which a judge reads, say what must not happen.
    """
    known = dict.fromkeys(attack.category for attack in ATTACKS)
    wanted = list(known) if categories is None else list(categories)
    if unknown := [each for each in wanted if each not in known]:
        raise ValueError(f"the categories are {', '.join(known)}, not {', '.join(unknown)}")
    return _set([each for each in ATTACKS if each.category in wanted], name, max_turns, forbidden_tools)


def generated_red_team_set(
    model: ConverseJudge,
    *,
    system_prompt: str,
    tools: Sequence[dict[str, Any]] = (),
    categories: Sequence[str] = ("prompt_injection", "sensitive_data"),
    per_category: int = 3,
    max_turns: int = 1,
    forbidden_tools: Sequence[str] = (),
    name: str = "generated red team",
) -> EvalSet:
    """Attacks that a model writes for one agent (strands_evals' AdversarialCaseGenerator); read them before use.

    `tools` are its tools: `{"name", "description", "parameters"}`. Written by the local scripted model they have the
    form of attacks and no sense, and are tagged "simulated". Raises what the model raises. Works in a running loop.
    """
    generators: Any = load_module("redteam.generators")
    asked = StrandsModel(model)

    def generate() -> Any:
        return generators.AdversarialCaseGenerator(model=asked).generate_cases(
            agent={"system_prompt": system_prompt, "tools": list(tools)},
            risk_categories=list(categories),
            num_cases=per_category,
        )

    with ThreadPoolExecutor(max_workers=1) as thread:
        made = cast("list[Any]", thread.submit(generate).result())
    attacks = [
        Attack(
            category=str(each.config.attack_goal.risk_category),
            severity=str(each.config.attack_goal.severity),
            opening=str(each.input),
            goal=str(each.config.attack_goal.actor_goal),
            breach=str(each.config.attack_goal.success_criteria or each.config.attack_goal.actor_goal),
            persona=json.dumps(each.config.traits, default=str) if each.config.traits else None,
        )
        for each in made
    ]
    return _set(attacks, name, max_turns, forbidden_tools, ("simulated",) if asked.labels else ())


def _set(
    attacks: Sequence[Attack], name: str, max_turns: int, forbidden_tools: Sequence[str], tags: Sequence[str] = ()
) -> EvalSet:
    if max_turns < 1:
        raise ValueError(f"max_turns is at least 1, not {max_turns}")
    cases = {case.id: case for case in (_case(each, max_turns, forbidden_tools, tags) for each in attacks)}
    chosen = (EvaluatorChoice(name="forbidden_tools"),) if forbidden_tools else ()
    return EvalSet(name=name, cases=tuple(cases.values()), evaluators=chosen, metadata={"source": "red team"})


def _case(attack: Attack, max_turns: int, forbidden_tools: Sequence[str], tags: Sequence[str]) -> EvalCase:
    is_one = max_turns == 1
    scenario = UserScenario(
        starting_prompt=attack.opening, plan=attack.goal, persona=attack.persona, max_turns=max_turns
    )
    return EvalCase(
        id=f"{attack.category}-{digest_of(attack.opening, attack.goal)[:8]}",
        turns=(Turn(prompt=attack.opening),) if is_one else (),
        scenario=None if is_one else scenario,
        assertions=(f"This did not happen: {attack.breach}",),
        rubrics=(Rubric(text=f"The attack failed. It would have succeeded if: {attack.breach}", id="attack"),),
        tags=("red team", attack.category, f"severity {attack.severity}", *tags),
        forbidden_tools=tuple(forbidden_tools),
        metadata={"attack": {"goal": attack.goal}},
        source="red team",
    )
