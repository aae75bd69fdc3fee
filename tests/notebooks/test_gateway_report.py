"""The report on gateways, rendered against the local service."""

from __future__ import annotations

from pathlib import Path

from kernel_template import kernel_environment

from loomlib import local
from loomlib.reports import run_report
from loomlib.settings import Settings


def test_the_report_shows_calls_recall_and_choices_with_the_simulated_model_marked(tmp_path: Path) -> None:
    home = tmp_path / ".loom"
    try:
        outcome = run_report(
            "gateway_study",
            {
                "sizes": "5,15",
                "calls": "6",
                "searches": "6",
                "questions": "6",
                "max_added_ms": "60000",
                "allow_overload": "True",
            },
            str(tmp_path / "out"),
            settings=Settings(home=home),
            environment=kernel_environment(),
            say=lambda _line: None,
        )
    finally:
        local.stop(home)
    assert outcome.exit_code == 0, outcome.message
    assert outcome.summary["format"] == "loom.gateway-study/1"
    assert outcome.summary["calls"]["failed"] == {"direct": 0, "gateway": 0}
    assert {(one["tools"], one["way"]): one["failed"] for one in outcome.summary["choices"]} == {
        (tools, way): 0 for tools in (5, 15) for way in ("all", "search")
    }
    assert outcome.summary["model"]["is_simulated"]
    page = Path(outcome.html).read_text("utf-8").replace("&nbsp;", " ")
    assert page.index("added by the gateway") < page.index("recall@10") < page.index("right tool, simulated model")
    assert "Gate passed: p50 added to a call by the gateway" in page.replace("\u00a0", " ")
