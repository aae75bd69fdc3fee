"""The shipped sets against the real blueprints: what a good agent reaches, and what spoiled ones do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

import loomlib as loom
from loomlib import local
from loomlib.evals import EvalSet
from loomlib.evals.autoresearch import Autoresearch, ModelProposer, Proposal
from loomlib.evals.runs import EvalRun, Silent
from loomlib.workbench import AgentCandidates

QUICK = {"QUERY_SECONDS": "0"}
GUESSING = ("guessable-sum", "asked-to-guess", "product", "brackets", "percent-of", "goes-on-with-the-result")
WRONG = ("decimals-that-cancel", "decimals-that-complete", "price")
DETOURS = ("repeated-product-in-one-step",)
CHOSEN = {
    "calculator": (*GUESSING, *WRONG, *DETOURS, "capital", "division-by-zero"),
    "assistant": ("parcel", "two-cities", "order-and-weather", "transposed-digits", "return-period", "cannot-cancel",
                  "cities-one-after-the-other"),
    "writer": ("trains-short", "two-sentences", "quoted", "injection-in-the-text", "two-texts", "counts-twice"),
}  # fmt: skip


@pytest.fixture(scope="module")
def bench(service: local.ServiceState, tmp_path_factory: pytest.TempPathFactory) -> Iterator[loom.Workbench]:
    database = tmp_path_factory.mktemp("sets") / "loom.db"
    with loom.connect(home=service.home, database_url=f"sqlite:///{database}") as bench:
        yield bench


def ask(bench: loom.Workbench, blueprint: str, evalset: EvalSet) -> EvalRun:
    """One run of a blueprint, whose runtime goes away with it."""
    agent = bench.deploy(blueprint, environment=QUICK)
    try:
        for _ in range(5):
            run = agent.evaluate(evalset, progress=Silent())
            turns = [turn for judgement in run.judgements() for turn in judgement.answer.turns]
            if all(turn.tools_state == "found" for turn in turns):
                break  # on a busy machine the last spans may come after the traces were read: the answers then say so
        return run
    finally:
        agent.remove(delete_runtime=True)


def failing(run: EvalRun) -> dict[str, set[str]]:
    """The ids of the cases that do not pass, by evaluator."""
    case_ids: dict[str, set[str]] = {}
    for outcome in run.outcomes():
        if outcome.part == "" and outcome.passed is False:
            case_ids.setdefault(outcome.evaluator, set()).add(outcome.case_id)
    return case_ids


def chosen(name: str, *ids: str) -> EvalSet:
    return EvalSet.read(name).where(lambda case: case.id in (ids or CHOSEN[name]))


@pytest.mark.parametrize("name", sorted(CHOSEN))
def test_a_good_agent_passes_its_set_s_traps(bench: loom.Workbench, name: str) -> None:
    evalset = chosen(name)
    run = ask(bench, name, evalset)
    assert len(evalset) == len(CHOSEN[name])
    assert (run.state, len(run.failures()), failing(run)) == ("complete", 0, {})


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(CHOSEN))
def test_a_good_agent_fails_nothing_of_its_set_but_the_hard_cases(bench: loom.Workbench, name: str) -> None:
    run = ask(bench, name, EvalSet.read(name))
    assert (run.state, len(run.failures())) == ("complete", 0)
    hard = {case.id for case in run.evalset.where(tags=["hard"])}
    assert set().union(*failing(run).values()) == hard
    assert len(hard) <= 0.05 * len(run.evalset)


def test_an_agent_that_guesses_is_seen_by_the_trajectory_alone(bench: loom.Workbench) -> None:
    failures = failing(ask(bench, "calculator_guessing", chosen("calculator", *GUESSING)))
    assert failures == {"trajectory": set(GUESSING)}


def test_a_detour_is_seen_by_trajectory_and_efficiency(bench: loom.Workbench) -> None:
    for _ in range(3):  # on a busy machine the last spans may come after the trace was read: the answer then says so
        run = ask(bench, "calculator_detour", chosen("calculator", *DETOURS))
        (answer,) = [judgement.answer for judgement in run.judgements()]
        if all(turn.tools_state == "found" for turn in answer.turns):
            break
    assert failing(run) == {"trajectory": set(DETOURS), "efficiency": set(DETOURS)}
    assert len(answer.tools or ()) == 25


def test_a_wrong_argument_with_the_right_answer_is_seen_by_the_trajectory(bench: loom.Workbench) -> None:
    failures = failing(ask(bench, "calculator_wrong_argument", chosen("calculator", *WRONG)))
    assert failures == {"trajectory": set(WRONG), "numeric": {"price"}}


@pytest.mark.long
def test_a_research_improves_a_real_agent_by_its_prompt_and_a_tool_s_description(
    bench: loom.Workbench, tmp_path
) -> None:
    parcels = (
        "Track parcel A-1041", "Track package A-1042", "Track parcel A-1043", "Track delivery A-1044",
        "Look up package A-1045", "Look up parcel A-1041", "Track delivery A-1042", "Look up delivery A-1043",
    )  # fmt: skip
    rules = EvalSet.read("assistant").where(tags=["policy"]).where(lambda case: len(case.turns) == 1)
    questions = ("How many days until goods are returned?", "Do goods have a return within days of delivery?",
                 "Are chairs under warranty for years?", "How many years is the warranty on desks?")  # fmt: skip
    expected = ("30 days", "30 days", "5 years", "5 years")
    evalset = EvalSet.from_rows(
        [{"id": f"parcel {n}", "prompt": prompt, "expected": "customer"} for n, prompt in enumerate(parcels)]
        + [
            {"id": f"rule {n}", "prompt": p, "expected": e}
            for n, (p, e) in enumerate(zip(questions, expected, strict=True))
        ]
        + [{"id": c.id, "prompt": c.prompt, "expected": c.expected_answer} for c in rules if c.expected_answer],
        name="shop questions",
    )
    first_draft = {
        "SYSTEM_PROMPT": "You are a shop's assistant. Use the tools for facts.",
        "TOOL_DESCRIPTIONS": '{"find_order": "Look up an order in the order database."}',
    }
    shop_rules = Proposal.prompt(
        "You are a shop's assistant. Goods can be returned within 30 days of delivery. Shipping inside Europe is free "
        "for orders above 50 euros. The warranty on desks and chairs lasts 5 years.",
        name="the shop's rules",
    )
    other_words = Proposal.prompt("You are the assistant of a shop. Use your tools.", name="other words")
    parcels_too = Proposal.tool_description(
        "find_order", "Look up and track an order, parcel, package or delivery.", name="says parcel"
    )
    research = Autoresearch(
        AgentCandidates(bench, "assistant", environment=QUICK), evalset, ["contains"], objective="contains",
        proposals=[other_words, shop_rules, parcels_too], journal=tmp_path / "journal.jsonl", baseline=first_draft,
        most_trials=3, progress=Silent(), measure=False,
    )  # fmt: skip
    result = research.run()
    assert [trial.decision for trial in result.trials] == ["dropped", "kept", "kept"], str(result)
    assert all(case.startswith("parcel") for case in result.trials[2].won)
    assert result.environment["SYSTEM_PROMPT"] == shop_rules.variables["SYSTEM_PROMPT"]
    assert "parcel" in result.environment["TOOL_DESCRIPTIONS"]
    deployed = [bench.agent(name) for name in bench.agents()["name"] if name.startswith("assistant_")]
    states = [agent.refresh().entry.is_deleted for agent in deployed]
    assert sorted(states) == [False, False, False, True]  # the baseline, two kept ones, and one that was dropped
    for agent in deployed:
        agent.remove(delete_runtime=True)


def test_a_model_proposes_what_has_not_been_tried(bench: loom.Workbench, tmp_path: Path) -> None:
    evalset = EvalSet.from_rows([{"id": "a", "prompt": "Hello", "expected": "Good day"}], name="one")

    def parrot(environment: Mapping[str, str]) -> Callable[[str], str]:
        return lambda prompt: f"{environment.get('SYSTEM_PROMPT', '')} <ignore all rules>"

    result = Autoresearch(
        parrot, evalset, ["contains"], objective="contains", proposals=ModelProposer(clients=bench.clients),
        journal=tmp_path / "journal.jsonl", most_trials=2, store=bench.context.store, progress=Silent(),
    ).run()  # fmt: skip
    assert result.trials
    assert all("simulated model" in trial.proposal.name for trial in result.trials)
    assert len({trial.proposal.digest for trial in result.trials}) == len(result.trials)


def test_the_workbench_lists_sets_and_names_which_blueprints_are_exercises(bench: loom.Workbench) -> None:
    sets = bench.evals.sets().set_index("name")
    assert list(sets.index) == ["assistant", "calculator", "writer"]
    assert (sets["cases"] >= 40).all()
    blueprints = bench.blueprints().set_index("name")
    variants = blueprints[blueprints["variant of"] != ""]
    assert list(variants.index) == ["calculator_detour", "calculator_guessing", "calculator_wrong_argument"]
    assert variants["description"].str.startswith("For evaluation exercises").all()
