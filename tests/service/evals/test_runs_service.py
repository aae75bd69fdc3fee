"""Evaluations of real agents of the local AgentCore: sessions, traces, what is asked again and what is not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from plain_agents import PLAIN_APP

import loomlib as loom
from loomlib.evals import EvalCase, EvalSet, ExpectedTool, Turn

CALCULATE = ExpectedTool(name="calculator")

COUNTER = (
    PLAIN_APP
    + """
app = PlainApp()
asked = []

@app.entrypoint
def answer(payload, context):
    asked.append(payload.get("prompt"))
    return {"count": len(asked), "state": payload.get("state"), "session": context.session_id}

if __name__ == "__main__":
    app.run()
"""
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[loom.Workbench]:
    with loom.connect(home=tmp_path_factory.mktemp("home")) as bench:
        yield bench


@pytest.fixture(scope="module")
def counter(bench: loom.Workbench, tmp_path_factory: pytest.TempPathFactory) -> loom.Agent:
    code: Path = tmp_path_factory.mktemp("counter") / "agent.py"
    code.write_text(COUNTER)
    return bench.deploy(code, name="counter")


def test_an_endpoints_answers_are_those_of_the_version_that_it_serves(
    bench: loom.Workbench, counter: loom.Agent
) -> None:
    arn = counter.entry.arn
    control = bench.clients.control(arn.region)
    control.create_agent_runtime_endpoint(agentRuntimeId=arn.runtime_id, name="prod", agentRuntimeVersion="1")
    prod = bench.register(str(arn)).at("prod")
    first, second = prod.targets.eval_target().key, counter.targets.eval_target().key
    assert " version 1 " in first
    assert "prod" in first
    assert first != second
    cases = EvalSet(name="one", cases=(EvalCase(id="a", turns=(Turn(prompt="hello"),)),))
    runs = [prod.evaluate(cases, [lambda text, case: True], measure=False) for _ in range(2)]
    assert [list(run.rows()["reused"]) for run in runs] == [[False], [True]]
    control.delete_agent_runtime_endpoint(agentRuntimeId=arn.runtime_id, endpointName="prod")
    assert prod.targets.eval_target().key == ""  # nobody says what it serves: its answers are its run's own


def test_an_agents_tools_tokens_and_time_are_shown_beside_its_quality(bench: loom.Workbench) -> None:
    agent = bench.deploy("calculator")
    cases = tuple(
        EvalCase(id=f"{n}", turns=(Turn(prompt=f"What is {n}+{n}?", expected_answer=str(2 * n), expected_tools=tools),))
        for n, tools in ((1, (CALCULATE,)), (21, ()))
    )
    for _ in range(5):
        run = agent.evaluate(EvalSet(name="sums", cases=cases), ["contains", "trajectory(arguments=False)"])
        if all(turn.tools_state == "found" for judged in run.judgements() for turn in judged.answer.turns):
            break  # on a busy machine the last spans may come after the traces were read
    rows = run.rows().set_index("case")
    assert run.state == "complete", run.reason
    assert rows["contains"].tolist() == [1.0, 1.0]
    assert rows["tool_calls"].tolist() == [1, 1]
    assert (rows["input_tokens"] > 0).all()
    assert (rows["duration_ms"] >= rows["ttft_ms"]).all()
    assert rows.loc["21", run.evaluators[1]] == 0.0
    assert {outcome.trace_id for outcome in run.outcomes()} == set(rows["trace_id"])
    assert any("simulated" in label for label in run.labels)
    call_count = len(agent.history.table())
    again = agent.evaluate(EvalSet(name="sums", cases=cases), ["contains"])
    assert again.rows()["reused"].all()
    assert len(agent.history.table()) == call_count
    assert bench.evals.run(run.id).summary() == run.summary()
    assert set(bench.evals.runs()["id"]) >= {run.id, again.id}


def test_turns_share_a_session_repeats_do_not_and_all_are_ended(bench: loom.Workbench, counter: loom.Agent) -> None:
    case = EvalCase(id="talk", turns=(Turn(prompt="one"), Turn(prompt="two")), initial_state={"user": "Ada"})

    run = counter.evaluate(EvalSet(name="talks", cases=(case,)), lambda _answer, _case: True, repeats=3, measure=False)
    answers = [[json.loads(turn.text) for turn in judgement.answer.turns] for judgement in run.judgements()]
    assert [[(turn["count"], turn["state"]) for turn in turns] for turns in answers] == [
        [(1, {"user": "Ada"}), (2, None)]
    ] * 3
    assert len({turn.session_id for judgement in run.judgements() for turn in judgement.answer.turns}) == 3
    assert bench.telemetry.session_count() == 0


async def test_it_is_awaited_inside_a_running_loop(counter: loom.Agent) -> None:
    evalset = EvalSet(name="hello", cases=(EvalCase(id="hello", turns=(Turn(prompt="hello"),)),))
    run = await loom.aevaluate(counter, evalset, lambda answer, _case: "count" in answer, measure=False)
    assert run.outcomes()[0].passed


def test_a_new_deployment_is_asked_again(bench: loom.Workbench, tmp_path: Path) -> None:
    code = tmp_path / "agent.py"
    evalset = EvalSet(name="hello", cases=(EvalCase(id="hello", turns=(Turn(prompt="hello"),)),))
    verdicts = []
    for version in ("first", "second"):
        code.write_text(COUNTER.replace('"count": len(asked)', f'"version": "{version}"'))
        agent = bench.deploy(code, name="redeployed")
        run = agent.evaluate(evalset, lambda answer, _case: version in answer, measure=False)  # noqa: B023 - used here
        verdicts.append(run.outcomes()[0].passed)
    assert verdicts == [True, True]
