"""The report on session starts, rendered against the local service."""

from __future__ import annotations

from pathlib import Path

from kernel_template import kernel_environment

from loomlib import local
from loomlib.reports import run_report
from loomlib.settings import Settings


def test_the_report_answers_first_and_compares_the_platforms(tmp_path: Path) -> None:
    home = tmp_path / ".loom"
    try:
        outcome = run_report(
            "start_up",
            {"agent": "echo", "sessions": "2", "later_calls": "1", "max_p75_ms": "0.001", "allow_overload": "true"},
            str(tmp_path / "out"),
            settings=Settings(home=home),
            environment=kernel_environment(),
            say=lambda _line: None,
        )
    finally:
        local.stop(home)
    assert outcome.exit_code == 2, outcome.message
    summary = outcome.summary
    assert summary["format"] == "loom.start-up-study/1"
    assert [gate["outcome"] for gate in summary["gates"]] == ["missed"]
    v1, v2 = summary["platforms"]
    assert (v1["n"], v2["n"], v1["failed"], v2["failed"]) == (2, 2, 0, 0)
    assert "imports" in [part["part"] for part in v1["parts"]]
    assert "restore" in [part["part"] for part in v2["parts"]]
    (process,) = summary["process"]
    assert (process["platform"], process["n"], process["failed"]) == ("process", 2, 0)
    page = Path(outcome.html).read_text("utf-8").replace("&nbsp;", " ")
    assert page.index("Where the time of a new session goes on V1") < page.index("The numbers")
    (label,) = [label for label in summary["labels"] if label.startswith("sessions: ")]
    note = f"Isolation of sessions: {label.removeprefix('sessions: ')}."
    assert summary["method"]["notes"].count(note) == 1
    assert note in page
    assert "<script src=" not in page
