"""The migration report against the local AgentCore: one agent that moved right, and one that did not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path

import pytest
from kernel_template import kernel_environment
from parity_agents import PROMPTS, deploy_successor, make_weather_agent

import loomlib as loom
from loomlib import local
from loomlib.reports import ReportOutcome, run_report
from loomlib.settings import Settings

pytestmark = pytest.mark.slow
Report = Callable[..., ReportOutcome]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Report]:
    """Runs the report in a home with two Bedrock agents: Loom's import of one, and a wrong successor of the other."""
    place = tmp_path_factory.mktemp("migration")
    with loom.connect(home=place / "home") as bench:
        make_weather_agent(bench, "weather", place)
        function = make_weather_agent(bench, "forecast", place)
        code = bench.bedrock.agents.get("weather").snapshot("live").generate(place / "generated")
        bench.plan(code.folder).apply()
        deploy_successor(bench, "forecast_wrong", place, function, ALWAYS="Quito")
        cases = place / "cases"
        cases.mkdir()
        (cases / "weather.txt").write_text("\n".join(PROMPTS[:6]))
        (cases / "forecast.txt").write_text("\n".join(PROMPTS[:6]))

        def run(**parameters: str) -> ReportOutcome:
            return run_report(
                "migration", {"cases": str(cases), **parameters}, str(place / "out"),
                settings=Settings(home=place / "home"), environment=kernel_environment(),
                say=lambda _line: None,
            )  # fmt: skip

        yield run
    local.stop(place / "home")


@pytest.fixture(scope="module")
def both(report: Report) -> ReportOutcome:
    return report(agents="weather, forecast=forecast_wrong, nobody", repeats="1", migration_id="migration-test")


def test_each_agent_has_a_gate_and_a_missed_one_fails_the_report(both: ReportOutcome) -> None:
    assert both.exit_code == 2, both.message
    gates = {gate["name"]: gate for gate in both.summary["gates"]}
    assert {name: gate["outcome"] for name, gate in gates.items()} == {"weather": "unclear", "forecast": "missed"}
    assert gates["weather"]["alike"] == gates["weather"]["judged"] == 6
    assert "more cases decide it" in gates["weather"]["sentence"]
    assert both.summary["not_compared"][0]["agent"] == "nobody"
    assert both.summary["headline"].startswith("3 agents: forecast missed its gate; weather is unclear")


def test_the_page_begins_with_the_verdict_and_shows_what_differs(both: ReportOutcome) -> None:
    page = unescape(Path(both.html).read_text()).replace("\u00a0", " ")
    assert page.index("forecast missed its gate") < page.index("One row for each; missed gates first")
    assert page.index("Behaves like the old agent") < page.index("Cases that differ") < page.index("What is left to do")
    assert 'get_weather(city="Paris")' in page
    assert "Quito: sunny, 14 degrees" in page
    assert "orchestration (approximated)" in page
    assert "nobody was not compared" in page
    assert "loom report migration" in page, "how to run it again"
    assert "The new agent behaves like the old one if it calls the same tools with the same arguments" in page


def test_the_summary_holds_what_a_program_needs(both: ReportOutcome) -> None:
    summary = json.loads(Path(both.summary_path).read_text())
    assert (summary["schema"], summary["state"], summary["migration_id"]) == (
        "loom.report/1", "partial", "migration-test",
    )  # fmt: skip
    agent = next(item for item in summary["agents"] if item["agent"] == "forecast")
    assert {change["name"] for change in agent["changes"]} == {"duration", "time to first text", "cost", "tokens"}
    assert len(agent["differing"]) == 6
    assert agent["differing"][0]["parts"] == ["answer"], "the same call, under its own name"
    assert any("simulated" in label for label in summary["labels"])


def test_the_report_resumes_and_judges_by_another_rule(report: Report, both: ReportOutcome) -> None:
    outcome = report(agents="weather", migration_id="migration-test")
    assert outcome.exit_code == 0, outcome.message
    first = next(item for item in both.summary["agents"] if item["agent"] == "weather")
    assert outcome.summary["agents"][0]["runs"] == first["runs"]
    assert outcome.summary["agents"][0]["gate"] == first["gate"]
