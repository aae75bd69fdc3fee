"""JUnit XML and JSON: what a build server reads, whatever an agent said."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shown_runs import bad, good, run_of, sums_with_tools

from loomlib.evals import EvalSet
from loomlib.evals.compare.gate_requests import GateRequest, judge_gates
from loomlib.evals.exports import run_document, write_json, write_junit
from loomlib.evals.exports.junit import _attribute, _text
from loomlib.evals.runs import Budget, EvalRun, Silent, evaluate
from loomlib.evals.values.choices import default_evaluators, split_evaluators


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[EvalRun, EvalRun]:
    place, evalset = tmp_path_factory.mktemp("exported"), sums_with_tools(8)
    return run_of(good, evalset, place), run_of(bad, evalset, place)


def test_junit_tells_failures_errors_and_skips_apart_and_has_one_test_case_a_case(
    runs: tuple[EvalRun, EvalRun], tmp_path: Path
) -> None:
    suite = ElementTree.parse(write_junit(runs[1], tmp_path / "deep" / "out.xml")).getroot()
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "9", "failures": "3", "errors": "1", "skipped": "1",
    }  # fmt: skip
    cases = {
        case.get("name"): [child.tag for child in case if child.tag != "properties"] for case in suite.iter("testcase")
    }
    assert cases["sum 0"] == []
    assert cases["sum 1"] == ["failure"]
    assert cases["sum 3"] == ["error"]
    assert cases["small talk"] == ["skipped"]


def test_a_failure_states_its_rationale_and_shows_the_path(runs: tuple[EvalRun, EvalRun], tmp_path: Path) -> None:
    suite = ElementTree.parse(write_junit(runs[1], tmp_path / "out.xml")).getroot()
    failure = suite.find(".//testcase[@name='sum 1']/failure")
    assert failure is not None
    assert "The paths differ from step 1" in (failure.get("message") or "")
    assert "- missing   1      add(a=1, b=1)" in (failure.text or "")


def test_a_gate_is_a_test_case_of_its_own(runs: tuple[EvalRun, EvalRun], tmp_path: Path) -> None:
    before, run = runs
    gates = judge_gates(
        before.summary(), [GateRequest(limit=0.3, evaluator="contains")], run.compare(before, margin=0.0)
    )
    suite = ElementTree.parse(write_junit(run, tmp_path / "out.xml", gates)).getroot()
    assert [case.get("name") for case in suite.iterfind(".//testcase[@classname='loom.gates']")] == [
        "gate: contains", "gate: contains", "gate: trajectory",
    ]  # fmt: skip


@given(st.text(st.characters()))
def test_any_text_is_xml_that_has_the_same_content_where_xml_can(text: str) -> None:
    element = ElementTree.fromstring(f"<a b={_attribute(text)}>{_text(text)}</a>")
    allowed = "".join(
        char if char in "\t\n\r" or 0x20 <= ord(char) <= 0xD7FF or 0xE000 <= ord(char) <= 0xFFFD or ord(char) > 0xFFFF
        else "\ufffd"
        for char in text
    )  # fmt: skip
    assert element.get("b") == allowed
    assert (element.text or "") == allowed


def test_json_holds_every_case_and_is_ascii(runs: tuple[EvalRun, EvalRun], tmp_path: Path) -> None:
    before, run = runs
    document = json.loads(
        write_json(run, tmp_path / "out.json", comparison=run.compare(before)).read_bytes().decode("ascii")
    )
    assert document["schema"] == "loom.evaluation/1"
    assert [case["state"] for case in document["cases"]][:4] == ["passed", "failed", "failed", "not answered"]
    assert document["cases"][1]["repeats"][0]["verdicts"]["trajectory"]["scores"][0]["details"]["alignment"]
    assert document["comparison"]["evaluators"][1]["lost"] == ["sum 1", "sum 4"]
    assert "cases" not in run_document(run, cases=False)


def test_a_case_with_repeats_fails_when_one_of_them_does(tmp_path: Path) -> None:
    answers = iter(["0", "no", "0"])
    evalset = EvalSet(name="one", cases=sums_with_tools(1).cases[:1])
    run = run_of(lambda prompt: {"text": next(answers), "tools": [{"name": "add", "arguments": {"a": 0, "b": 0}}]},
                 evalset, tmp_path, repeats=3)  # fmt: skip
    suite = ElementTree.parse(write_junit(run, tmp_path / "out.xml")).getroot()
    failure = suite.find(".//failure")
    assert suite.get("tests") == "1"
    assert failure is not None
    assert "in 1 of 3 repeats" in (failure.get("message") or "")


@pytest.mark.parametrize(("repeats", "passed"), [(1, 2), (2, 0)])
def test_what_a_stopped_run_never_asked_is_an_error(tmp_path: Path, repeats: int, passed: int) -> None:
    evalset = EvalSet(name="five", cases=sums_with_tools(5).cases[:5])
    run = evaluate(
        lambda prompt: {**good(prompt), "cost": 0.1}, evalset, ["contains"], repeats, concurrency=1,
        budget=Budget(money=0.25), store=str(tmp_path / "loom.db"), progress=Silent(),
    )  # fmt: skip
    assert (run.state, len(list(run.judgements()))) == ("stopped", 2)
    suite = ElementTree.parse(write_junit(run, tmp_path / "out.xml")).getroot()
    assert (suite.get("tests"), suite.get("errors")) == ("5", str(5 - passed))
    error = suite.find(".//testcase[@name='sum 4']/error")
    assert error is not None
    assert (error.get("message") or "").startswith("not asked: another answer would exceed the budget")


def test_evaluators_are_split_at_the_commas_between_them() -> None:
    assert split_evaluators("exact, contains(texts=['a', 'b']) ,, trajectory:any_order") == [
        "exact", "contains(texts=['a', 'b'])", "trajectory:any_order",
    ]  # fmt: skip
    assert default_evaluators(sums_with_tools(1)) == ["contains", "trajectory"]


@pytest.mark.parametrize(
    ("text", "limit", "evaluator"),
    [("95%", 0.95, ""), ("0.9", 0.9, ""), ("trajectory>=95%", 0.95, "trajectory"), ("a >= b>=.5", 0.5, "a >= b")],
)
def test_a_gate_is_read_as_it_is_written(text: str, limit: float, evaluator: str) -> None:
    assert GateRequest.read(text) == GateRequest(limit=limit, evaluator=evaluator)


@pytest.mark.parametrize("text", ["", "high", "trajectory", "95", "trajectory>=195%", "<script>"])
def test_an_invalid_gate_is_refused_with_the_notation(text: str) -> None:
    with pytest.raises(ValueError, match="write a gate as"):
        GateRequest.read(text)


def test_a_gate_may_leave_an_evaluators_options_out_and_not_name_another(runs: tuple[EvalRun, EvalRun]) -> None:
    with pytest.raises(ValueError, match="the run has contains, trajectory"):
        judge_gates(runs[0].summary(), [GateRequest(limit=0.9, evaluator="exact")])
