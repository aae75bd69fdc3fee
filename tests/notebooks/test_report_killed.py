"""A report killed in the middle leaves no half page, and its study goes on where it stopped."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from kernel_template import kernel_environment
from waiting import wait_until

import loomlib as loom
from loomlib import local
from loomlib.reports import run_report
from loomlib.settings import Settings
from loomlib.store import Store

pytestmark = pytest.mark.slow
REPOSITORY = Path(__file__).resolve().parents[2]
COUNTS = {"agent": "unhurried", "cold": "2", "warm": "3", "sticky": "40"}
AGENT = """
import time
from datetime import UTC, datetime

from bedrock_agentcore import BedrockAgentCoreApp

app = BedrockAgentCoreApp()


@app.entrypoint
def answer(payload):
    print(f"Agent invoked - Start time: {datetime.now(UTC).isoformat()}")
    time.sleep(0.4)
    return "answered"


app.run()
"""
"""Progress is reported every two seconds at most: after such a line, much of the study must still be ahead."""

SCRIPT = """
import sys
from loomlib.reports import run_report
from loomlib.settings import Settings
counts = dict(pair.split("=") for pair in sys.argv[3:])
settings = Settings.load(home=sys.argv[1])
run_report("latency_study", counts, sys.argv[2], settings=settings, say=lambda line: print(line, flush=True))
"""


def test_a_killed_report_resumes_by_its_study_id_and_no_half_page_stays(tmp_path: Path) -> None:
    home, out = tmp_path / "home", tmp_path / "out"
    (tmp_path / "unhurried.py").write_text(AGENT)
    with loom.connect(home=home) as bench:
        bench.deploy(tmp_path / "unhurried.py")
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    command = [
        sys.executable,
        "-c",
        SCRIPT,
        str(home),
        str(out),
        *(f"{name}={value}" for name, value in COUNTS.items()),
    ]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as report:
        assert report.stdout
        study_id, begun = "", False
        for line in report.stdout:
            if match := re.match(r"study_id=(\S+)", line):
                study_id = match[1]
            if begun := bool(re.match(r"latency study · .*(?:warm|sticky) [1-9]", line)):
                break
        assert study_id
        assert begun, "the study ended before it could be killed"
        everyone = [psutil.Process(report.pid), *psutil.Process(report.pid).children(recursive=True)]
        kernels = [process for process in everyone if "ipykernel" in " ".join(process.cmdline())]
        for process in (everyone[0], *kernels):
            process.kill()
    assert not out.exists() or list(out.iterdir()) == []
    before = _answered(home, study_id)
    assert 0 < len(before) < 45

    _wait_until_gone(kernels)
    outcome = run_report(
        "latency_study",
        {"agent": "unhurried", "study_id": study_id},
        str(out),
        settings=Settings(home=home),
        environment=kernel_environment(),
    )
    assert outcome.exit_code == 0, outcome.message
    after = _answered(home, study_id)
    assert len(after) == 45
    assert before.items() <= after.items(), "what was measured before is kept as it was"
    assert [row["n"] for row in outcome.summary["table"]] == ["2", "3", "40"]
    local.stop(home)


def _answered(home: Path, study_id: str) -> dict[int, float | None]:
    store = Store.open(f"sqlite:///{home / 'loom.db'}")
    try:
        rows = store.measurements.list(study_id)
        return {row.position: row.duration_ms for row in rows if row.state == "done"}
    finally:
        store.close()


def _wait_until_gone(processes: list[psutil.Process]) -> None:
    wait_until(
        lambda: not any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in processes)
    )
