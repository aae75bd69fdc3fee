"""The report on snapshot safety, rendered against the local service."""

from __future__ import annotations

from pathlib import Path

from kernel_template import kernel_environment

from loomlib import local
from loomlib.reports import run_report
from loomlib.settings import Settings

AGENT = """
import uuid
from bedrock_agentcore import BedrockAgentCoreApp

RUN_ID = str(uuid.uuid4())
app = BedrockAgentCoreApp()


@app.entrypoint
def answer(payload):
    return {"run": RUN_ID}


app.run()
"""


def test_the_page_names_the_line_and_its_repair_and_the_gate_is_missed(tmp_path: Path) -> None:
    home, code = tmp_path / ".loom", tmp_path / "shop"
    code.mkdir()
    (code / "agent.py").write_text(AGENT)
    try:
        outcome = run_report(
            "snapshot_check",
            {"agent": str(code), "max_findings": "0"},
            str(tmp_path / "out"),
            settings=Settings(home=home),
            environment=kernel_environment(),
            say=lambda _line: None,
        )
    finally:
        local.stop(home)
    assert outcome.exit_code == 2, outcome.message
    summary = outcome.summary
    assert (summary["format"], summary["is_safe"]) == ("loom.snapshot-check/1", False)
    assert [finding["where"] for finding in summary["findings"]] == ["agent.py:5"]
    assert [gate["outcome"] for gate in summary["gates"]] == ["missed"]
    page = Path(outcome.html).read_text("utf-8").replace("&nbsp;", " ")
    assert page.index("All sessions have the same id") < page.index("Method and limitations")
    assert "Create the id in the request" in page
    assert "<script src=" not in page
