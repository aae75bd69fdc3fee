"""Whole evaluations with judges that are chosen by name: they are connected, and say that they are simulated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import loomlib as loom
from loomlib import local
from loomlib.evals import EvalCase, EvalSet, ExpectedTool, Turn
from loomlib.evals.judges import SIMULATED_JUDGE
from loomlib.evals.judges.adk import OTHER_MODEL
from loomlib.evals.runs import rescore

DATA = Path(__file__).parents[2] / "data" / "evals"
JUDGES = ["judge:correctness", "agentcore:Builtin.Helpfulness", "strands:HelpfulnessEvaluator"]


@pytest.fixture(scope="module")
def bench(service: local.ServiceState, tmp_path_factory: pytest.TempPathFactory) -> Iterator[loom.Workbench]:
    database = tmp_path_factory.mktemp("store") / "loom.db"
    with loom.connect(home=service.home, database_url=f"sqlite:///{database}") as bench:
        yield bench


def test_judges_by_name_are_connected_to_the_agents_environment(bench: loom.Workbench) -> None:
    agent = bench.deploy("calculator")
    tools = (ExpectedTool(name="calculator"),)
    turn = Turn(prompt="What is 17 * 23?", expected_answer="391", expected_tools=tools)
    evalset = EvalSet(name="sums", cases=(EvalCase(id="sum", turns=(turn,)),))
    for _ in range(5):
        run = agent.evaluate(evalset, [*JUDGES, "trajectory"])
        if all(turn.tools_state == "found" for judged in run.judgements() for turn in judged.answer.turns):
            break  # on a busy machine the last spans may come after the trace was read
    scores = run.scores().set_index("evaluator")
    assert scores["state"].tolist() == ["scored"] * 4, run.failures().to_dict("records")
    assert scores.loc["trajectory", "value"] == 1.0
    assert scores.loc["trajectory", "labels"] == ()
    for name in run.evaluators[:3]:
        assert SIMULATED_JUDGE in scores.loc[name, "labels"]
    (judged,) = run.judgements()
    (helpful,) = judged.verdicts["agentcore:Builtin.Helpfulness"]  # type: ignore[misc]
    assert helpful.details["spans"] == "exported"  # type: ignore[union-attr]


def test_a_functions_judges_and_those_of_a_rescoring_are_connected_by_clients(bench: loom.Workbench) -> None:
    case = EvalCase(id="capital", turns=(Turn(prompt="The capital of France?", expected_answer="Paris"),))
    evalset = EvalSet(name="capitals", cases=(case,))
    alone = loom.evaluate(lambda _prompt: "Paris", evalset, "judge:correctness", store=bench.context.store)
    assert alone.failures()["kind"].tolist() == ["no_model"]
    run = loom.evaluate(
        lambda _prompt: "Paris", evalset, "judge:correctness", store=bench.context.store, clients=bench.clients
    )
    assert [(outcome.passed, outcome.state) for outcome in run.outcomes()] == [(True, "scored")]
    anew = rescore(run, ["judge:helpfulness"], clients=bench.clients)
    assert anew.scores()["labels"].tolist() == [(SIMULATED_JUDGE,)]


def shop(prompt: str) -> dict[str, object]:
    """An agent that knows the samples' order."""
    order = {"name": "lookup_order", "arguments": {"order_id": "7"}, "result": "shipped", "status": "success"}
    return {"text": "Order 7 is shipped.", "tools": [order] if "7" in prompt else []}


def test_adks_own_sample_is_evaluated_with_its_own_criteria(bench: loom.Workbench) -> None:
    evalset = EvalSet.read(DATA / "adk" / "orders.evalset.json")
    run = loom.evaluate(shop, evalset, store=bench.context.store, clients=bench.clients)
    assert set(run.failures()["kind"]) == {"no_user"}, run.failures().to_dict("records")
    scores = run.scores()[lambda frame: frame["case"] != "scenario"]
    assert set(scores["state"]) == {"scored"}, scores.to_dict("records")
    judged = scores[scores["evaluator"].str.startswith("adk:")]
    assert set(judged["evaluator"]) == {"adk:final_response_match_v2", "adk:rubric_based_final_response_quality_v1"}
    assert all(SIMULATED_JUDGE in labels for labels in judged["labels"])
    gemini = judged[judged["evaluator"] == "adk:final_response_match_v2"]
    assert all(OTHER_MODEL in labels for labels in gemini["labels"])


def test_strandss_own_sample_is_evaluated_with_its_own_evaluators(bench: loom.Workbench) -> None:
    evalset = EvalSet.read(DATA / "strands_experiment.json")
    run = loom.evaluate(shop, evalset, store=bench.context.store, clients=bench.clients)
    scores = run.scores().set_index("evaluator")
    assert run.failures().empty, run.failures().to_dict("records")
    assert scores["state"].tolist() == ["scored"] * 6
    assert scores["passed"].all(), scores.to_dict("records")
    for name in ("strands:Output", "strands:Trajectory", "strands:GoalSuccessRate"):
        assert scores.loc[name, "labels"] == (SIMULATED_JUDGE,)
