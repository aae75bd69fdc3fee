"""Real invocations of a real agent become cases of a set, and the agent passes them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from whole_traces import traced

import loomlib as loom
from loomlib.cli.main import cli
from loomlib.errors import LoomError
from loomlib.evals import EvalSet

EMPTY = EvalSet(name="captured", cases=())


def test_an_invocation_becomes_a_case_with_the_tools_of_its_trace_which_the_agent_passes(
    calculator: loom.Agent, tmp_path: Path
) -> None:
    inv = traced(calculator.invoke("What is 17 * 23? Mail it to ann@example.org"))
    evalset = EMPTY.capture(inv, tags=["sums"])
    case = evalset.cases[0]
    assert case.prompt == "What is 17 * 23? Mail it to [email 1]"
    assert [tool.name for tool in case.expected_tools or ()] == ["calculator"]
    assert "391" in (case.expected_answer or "")
    assert case.metadata["captured"]["invocations"] == [inv.record.id]
    assert inv.evals.case(tags=["sums"]) == case
    assert EMPTY.capture(inv.trace()).cases[0].turns == case.turns
    assert EMPTY.capture(inv.trace().trace).cases[0].turns == case.turns
    evalset.write(tmp_path / "set.json")
    run = calculator.evaluate(EvalSet.read(tmp_path / "set.json"), ["contains(texts=['391'])", "trajectory"])
    assert all(outcome.passed for outcome in run.outcomes())


def test_a_session_becomes_one_case_of_all_its_turns(calculator: loom.Agent) -> None:
    first = traced(calculator.invoke("What is 2 + 3?"))
    traced(calculator.invoke("What is 4 + 5?", session_id=first.session_id))
    case = calculator.evals.capture(EMPTY, session_id=first.session_id).cases[0]
    assert [turn.prompt for turn in case.turns] == ["What is 2 + 3?", "What is 4 + 5?"]
    assert [len(turn.expected_tools or ()) for turn in case.turns] == [1, 1]
    assert calculator.evals.capture(EMPTY, first).cases[0].prompt == "What is 2 + 3?"
    assert calculator.evals.capture(EMPTY).cases[0].prompt == "What is 4 + 5?"
    with pytest.raises(LoomError, match="No invocation"):
        calculator.evals.capture(EMPTY, session_id="nobody")


def test_calls_since_a_time_are_collected_and_evaluations_are_not(
    bench: loom.Workbench, calculator: loom.Agent
) -> None:
    begin = datetime.now(UTC)
    invocations = [traced(calculator.invoke(f"What is {n} + 1?")) for n in range(100, 103)]
    broken = calculator.invoke(payload={"nothing": "to ask"})
    calculator.evaluate(EMPTY.capture(invocations[0]), ["exact"], reuse=False)
    collection = bench.evals.collect(EMPTY, "calculator", since=begin, successes=1.0)
    assert [conversation.session_id for conversation in collection.looked_at] == [
        inv.session_id for inv in (*invocations, broken)
    ]
    assert len(collection.evalset) == 4
    sums = [case for case in collection.evalset if case.prompt.startswith("What is")]
    assert [[tool.name for tool in case.expected_tools or ()] for case in sums] == [["calculator"]] * 3
    assert not bench.evals.collect(
        collection.evalset, "calculator", since=timedelta(hours=1), successes=0.0, failures=0.0
    ).taken


def test_agents_that_were_asked_in_the_same_session_are_each_collected_with_their_own_tools(
    bench: loom.Workbench, calculator: loom.Agent
) -> None:
    begin = datetime.now(UTC)
    other = bench.deploy("calculator", name="calculator_of_the_same_session")
    first = traced(calculator.invoke("What is 6 * 7?"))
    second = traced(other.invoke("What is 6 * 9?", session_id=first.session_id))
    evalset = bench.evals.collect(EMPTY, calculator.name, other.name, since=begin, successes=1.0).evalset
    assert {case.prompt: [dict(tool.arguments or {}) for tool in case.expected_tools or ()] for case in evalset} == {
        "What is 6 * 7?": [{"expression": "6 * 7"}],
        "What is 6 * 9?": [{"expression": "6 * 9"}],
    }
    assert second.trace().trace.spans


def test_cases_are_not_collected_since_a_time_without_a_time_zone(bench: loom.Workbench) -> None:
    with pytest.raises(ValueError, match="since needs a time zone"):
        bench.evals.collect(EMPTY, since=datetime(2026, 1, 1))


def test_a_set_grows_by_the_command_line_and_reports_what_it_took(
    calculator: loom.Agent, home: Path, tmp_path: Path
) -> None:
    def command(*arguments: str) -> object:
        result = CliRunner().invoke(cli, ["--home", str(home), "--json", "evals", *arguments])
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    file = str(tmp_path / "set.json")
    inv = calculator.invoke("What is 40 + 2, ann@example.org?")
    id = str(inv.record.id)
    added = command("capture", "calculator", "--into", file, "--invocation", id, "--tag", "sums")
    case = EvalSet.read(file).cases[0]
    assert added == {"path": file, "cases": 1, "added": [case.id]}
    assert (case.prompt, case.tags) == ("What is 40 + 2, [email 1]?", ("captured", "sums"))
    again = command("capture", "calculator", "--into", file, "--invocation", id)
    assert again == {"path": file, "cases": 1, "added": []}
    report = command("collect", "calculator", "--into", file, "--since", "1h", "--successes", "1")
    assert isinstance(report, dict)
    assert {
        conversation["taken"] for conversation in report["looked_at"] if inv.record.id in conversation["invocation_ids"]
    } == {False}
    assert report["cases"] == len(EvalSet.read(file))
    wrong = CliRunner().invoke(cli, ["--home", str(home), "evals", "collect", "--into", file, "--since", "soon"])
    assert wrong.exit_code == 2
    assert "30m" in wrong.output
