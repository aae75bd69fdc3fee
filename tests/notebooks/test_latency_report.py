"""The latency report against the local AgentCore: a real agent, a real kernel, a gate that is missed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from kernel_template import kernel_environment

from loomlib import local
from loomlib.reports import ReportOutcome, run_report
from loomlib.settings import Settings

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def missed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ReportOutcome, list[str]]]:
    place = tmp_path_factory.mktemp("latency")
    lines: list[str] = []
    outcome = run_report(
        "latency_study",
        {"agent": "echo", "cold": "3", "warm": "10", "sticky": "3", "max_p90_ms": "0.01", "allow_overload": "true"},
        str(place / "out"),
        settings=Settings(home=place / "home"),
        environment=kernel_environment(),
        say=lines.append,
    )
    yield outcome, lines
    local.stop(place / "home")


def test_a_missed_gate_is_exit_code_2_and_the_pages_first_line(missed: tuple[ReportOutcome, list[str]]) -> None:
    outcome, _ = missed
    assert outcome.exit_code == 2, outcome.message
    assert re.match(
        r"Gate missed by [\d.,]+ ms: p90 of warm calls .* limit 0\.01 ms, confidence .*, since ", outcome.message
    )
    page = unescape(Path(outcome.html).read_text()).replace("\u00a0", " ")
    box = page[page.index('<section class="answer">') :]
    sentences = re.findall(r"<p [^>]*>(.*?)</p>", box)
    assert sentences[0] == outcome.message
    assert "No failures in 16 calls." in sentences


def test_progress_is_reported_line_by_line(missed: tuple[ReportOutcome, list[str]]) -> None:
    _, lines = missed
    assert any(re.match(r"latency study · cold 3/3 · warm 10/10 · sticky 3/3 · 0 failed", line) for line in lines)


def test_the_summary_holds_what_a_program_needs(missed: tuple[ReportOutcome, list[str]]) -> None:
    outcome, _ = missed
    summary = json.loads(Path(outcome.summary_path).read_text())
    assert summary["schema"] == "loom.report/1"
    assert summary["agent"]["name"] == "echo"
    assert any("local" in label for label in summary["labels"])
    assert [row["scenario"] for row in summary["table"]] == ["cold", "warm", "sticky"]
    assert summary["scenarios"][1]["p50_ms"]["value"] > 0
    assert summary["gates"][0]["outcome"] == "missed"
    assert summary["gates"][0]["by_ms"] > 0
    assert summary["study_id"]
    assert summary["findings"] is not None
    assert summary["parameters"]["warm"] == 10
    assert "-p max_p90_ms=0.01" in summary["command"]
    assert summary["versions"]["plotly"]


def test_the_page_shows_its_charts_and_states_that_the_place_is_local(missed: tuple[ReportOutcome, list[str]]) -> None:
    outcome, _ = missed
    page = Path(outcome.html).read_text()
    assert page.count('class="figure"') == 4
    assert "local AgentCore" in page
    assert len(page) < 6_000_000
