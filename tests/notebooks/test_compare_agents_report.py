"""The comparison of two agents, rendered against the local service."""

from __future__ import annotations

from pathlib import Path

from kernel_template import kernel_environment

from loomlib import local
from loomlib.reports import run_report
from loomlib.settings import Settings


def test_the_report_says_first_which_agent_is_faster_and_by_how_much(tmp_path: Path) -> None:
    home = tmp_path / ".loom"
    try:
        outcome = run_report(
            "compare_agents",
            {"agents": "calculator, calculator_detour", "calls": "20", "prompt": "What is 2 + 2?"},
            str(tmp_path / "out"),
            settings=Settings(home=home),
            environment=kernel_environment(),
            say=lambda _line: None,
        )
    finally:
        local.stop(home)
    assert outcome.exit_code == 0, outcome.message
    assert outcome.summary["format"] == "loom.comparison/1"
    (first, *_) = [s for s in outcome.summary["sentences"] if not s.startswith("The machine was overloaded")]
    # The detour asks its model and a tool more often before it answers.
    assert first.startswith("calculator is faster than calculator_detour"), first
    (other,) = [agent for agent in outcome.summary["agents"] if agent["agent"] == "calculator_detour"]
    assert other["p50_difference_ms"]["low"] > 0
    assert outcome.summary["part_differences_ms"]["calculator_detour"]["model"]["n"] == 20
    page = Path(outcome.html).read_text("utf-8").replace("&nbsp;", " ")
    assert page.index("calculator is faster than calculator_detour") < page.index("The numbers")
