"""The evaluation report against the local AgentCore: a good agent passes, one that guesses is caught by its path."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path

import pytest
from kernel_template import kernel_environment

from loomlib import local
from loomlib.evals import EvalSet
from loomlib.reports import ReportOutcome, run_report
from loomlib.settings import Settings

pytestmark = pytest.mark.slow
Report = Callable[..., ReportOutcome]
COUNT = 12
"""The fewest cases of which all pass that show a share of more than 70 percent."""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Report]:
    """Runs evaluation reports on sums of the shipped set, in one home."""
    place = tmp_path_factory.mktemp("evaluations")
    whole = EvalSet.read("calculator")
    cases = [case for case in whole.cases if len(case.turns) == 1 and case.tags == ("arithmetic",)][:COUNT]
    if len(cases) < COUNT:
        cases = [case for case in whole.cases if len(case.turns) == 1 and case.expected_tools][:COUNT]
    ids = {case.id for case in cases}
    evalset = place / "sums.json"
    whole.where(lambda case: case.id in ids).write(evalset)

    def run(name: str = "eval_set", **parameters: str) -> ReportOutcome:
        report_parameters = {"evalset": str(evalset), **parameters} if name == "eval_set" else parameters
        return run_report(
            name, report_parameters, str(place / "out"), settings=Settings(home=place / "home"),
            environment=kernel_environment(), say=lambda _line: None,
        )  # fmt: skip

    local.start(place / "home", persistent=True)
    yield run
    local.stop(place / "home")


@pytest.fixture(scope="module")
def good(report: Report) -> ReportOutcome:
    return report(agent="calculator", min_pass_percent="70")


@pytest.fixture(scope="module")
def guessing(report: Report, good: ReportOutcome) -> ReportOutcome:
    return report(agent="calculator_guessing", min_pass_percent="70", baseline_run="last")


def test_a_good_agent_passes(good: ReportOutcome) -> None:
    assert good.exit_code == 0, good.message
    gates = {gate["evaluator"].split("(")[0]: gate["outcome"] for gate in good.summary["gates"]}
    assert gates["numeric"] == gates["trajectory"] == "passed"


def test_an_agent_that_guesses_is_caught_by_its_path(guessing: ReportOutcome) -> None:
    assert guessing.exit_code == 2
    missed = [gate["evaluator"] for gate in guessing.summary["gates"] if gate["outcome"] == "missed"]
    assert missed == ["trajectory", "trajectory"], "under the limit, and worse than the baseline"
    page = unescape(Path(guessing.html).read_text()).replace("\u00a0", " ")
    assert page.index("Gate missed: trajectory") < page.index("The numbers")
    assert "The paths differ from step 1" in page


def test_scoring_its_answers_alone_finds_nothing(report: Report, guessing: ReportOutcome) -> None:
    outcome = report(
        agent="calculator_guessing", min_pass_percent="70", baseline_run=guessing.summary["comparison"]["run_ids"][1],
        gate_evaluators="numeric", run_id=guessing.summary["run_id"],
    )  # fmt: skip
    assert outcome.exit_code == 0, outcome.message
    assert {gate["outcome"] for gate in outcome.summary["gates"]} <= {"passed", "unclear"}
    assert outcome.summary["gates"][0]["outcome"] == "passed"


def test_the_summary_holds_what_a_program_needs(guessing: ReportOutcome) -> None:
    summary = json.loads(Path(guessing.summary_path).read_text())
    assert summary["schema"] == "loom.report/1"
    assert summary["state"] == "complete"
    assert summary["set"]["cases"] == COUNT
    assert summary["comparison"]["evaluators"]
    assert any("simulated" in label for label in summary["labels"])


def test_two_stored_runs_are_compared_case_by_case(report: Report, guessing: ReportOutcome) -> None:
    outcome = report("compare_runs")
    assert outcome.exit_code == 2, outcome.message
    assert outcome.summary["run_a"] == guessing.summary["run_id"]
    assert "Against calculator, calculator_guessing is worse on trajectory" in outcome.summary["headline"]


def test_an_agent_that_nobody_knows_is_a_broken_report_not_a_passed_one(report: Report) -> None:
    outcome = report(agent="nobody-of-that-name")
    assert outcome.exit_code == 1
    assert "nobody-of-that-name" in outcome.message
