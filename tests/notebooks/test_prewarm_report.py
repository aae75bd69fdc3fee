"""The report on pre-warmed sessions, rendered against the local service."""

from __future__ import annotations

from pathlib import Path

from kernel_template import kernel_environment

from loomlib import local
from loomlib.reports import run_report
from loomlib.settings import Settings


def test_the_report_answers_first_and_states_that_time_is_scaled(tmp_path: Path) -> None:
    home = tmp_path / ".loom"
    try:
        outcome = run_report(
            "prewarm_study",
            {"gaps": "2", "max_p50_ms": "0.01", "allow_overload": "true"},
            str(tmp_path / "out"),
            settings=Settings(home=home),
            environment=kernel_environment(),
            say=lambda _line: None,
        )
    finally:
        local.stop(home)
    assert outcome.exit_code == 2, outcome.message
    assert outcome.summary["format"] == "loom.prewarm-study/1"
    assert outcome.summary["is_scaled"]
    assert [gate["outcome"] for gate in outcome.summary["gates"]] == ["missed"]
    page = Path(outcome.html).read_text("utf-8").replace("&nbsp;", " ")
    assert page.index("AgentCore") < page.index("The numbers")
