"""The report on protocol overhead, rendered against the local service: one agent behind five servers."""

from __future__ import annotations

from pathlib import Path

from kernel_template import kernel_environment

from loomlib import local
from loomlib.reports import run_report
from loomlib.settings import Settings


def test_one_agent_gives_the_same_answer_in_nine_ways(tmp_path: Path) -> None:
    home = tmp_path / ".loom"
    try:
        outcome = run_report(
            "protocol_overhead",
            {"repeats": "2"},
            str(tmp_path / "out"),
            settings=Settings(home=home),
            environment=kernel_environment(),
            say=lambda _line: None,
        )
    finally:
        local.stop(home)
    assert outcome.exit_code == 0, outcome.message
    assert outcome.summary["format"] == "loom.protocol-overhead/1"
    assert outcome.summary["not_measured"] == []
    assert {way["way"]: way["failed"] for way in outcome.summary["ways"]} == dict.fromkeys(
        (
            "HTTP JSON", "HTTP SSE", "WebSocket", "MCP stateless", "MCP stateful", "A2A message/send",
            "A2A message/stream", "AG-UI SSE", "AG-UI WebSocket",
        ),
        0,
    )  # fmt: skip
    assert not [finding for finding in outcome.summary["findings"] if finding["kind"] == "different answers"]
    page = Path(outcome.html).read_text("utf-8").replace("&nbsp;", " ")
    assert page.index("HTTP JSON") < page.index("Bytes and events")
