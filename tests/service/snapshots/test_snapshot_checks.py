"""Snapshot checks of real agents in the sandbox of a local AgentCore.

Each line of a planted agent that makes something which restored sessions must not share ends with `# finds: KIND`.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from loom_command import LoomCommand
from plain_agents import PLAIN_APP

import loomlib as loom
from loomlib.errors import AgentFailedError, LoomError
from loomlib.snapshot_check import KINDS, SnapshotReport
from loomlib.workbench import list_blueprints

AGENTS = Path(__file__).parents[2] / "data" / "snapshots"
PLANTED = sorted(folder.name for folder in (AGENTS / "planted").iterdir())
CLEAN = sorted(folder.name for folder in (AGENTS / "clean").iterdir())
SERVED = """

from plain_app import PlainApp

app = PlainApp()


@app.entrypoint
def invoke(payload):
    return used()


app.run()
"""


def marked(folder: Path) -> set[tuple[str, str, int]]:
    """The findings that the comments of an agent's files announce."""
    return {
        (kind, file.relative_to(folder).as_posix(), number)
        for file in folder.rglob("*.py")
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if (mark := re.search(r"# finds: ([a-z ]+)$", line))
        for kind in mark[1].split()
    }


def found(report: SnapshotReport) -> set[tuple[str, str, int]]:
    return {(finding.kind, finding.file, finding.line) for finding in report.findings}


def agent_of(folder: Path, code: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "plain_app.py").write_text(PLAIN_APP)
    (folder / "agent.py").write_text(code + SERVED)
    return folder


def test_there_are_at_least_thirty_planted_cases_of_every_kind_and_twenty_clean_agents() -> None:
    cases = [case for name in PLANTED for case in marked(AGENTS / "planted" / name)]
    assert len(cases) >= 30
    assert {kind for kind, _, _ in cases} == set(KINDS)
    assert len(CLEAN) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTED)
def test_every_planted_line_is_found_and_no_other(bench: loom.Workbench, name: str) -> None:
    folder = AGENTS / "planted" / name
    report = bench.tools.check_snapshot(folder, warmup="/warmup" if name == "services" else None)
    assert found(report) == marked(folder), repr(report)
    assert report.not_checked == ()
    assert all(finding.source and finding.made_by and finding.fix for finding in report.findings)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "boto3_clients" else pytest.mark.long) for name in CLEAN]
)
def test_a_clean_agent_has_no_finding(bench: loom.Workbench, name: str) -> None:
    report = bench.tools.check_snapshot(AGENTS / "clean" / name)
    assert report.is_safe, repr(report)


@pytest.mark.long
@pytest.mark.parametrize("name", [blueprint.name for blueprint in list_blueprints()])
def test_a_shipped_blueprint_has_no_finding(bench: loom.Workbench, name: str) -> None:
    report = bench.tools.check_snapshot(name)
    assert report.is_safe, repr(report)


def test_a_deployed_agent_is_checked_with_its_variables_and_leaves_no_runtime(
    bench: loom.Workbench, tmp_path: Path
) -> None:
    code = """
import os
import uuid

NUMBER = uuid.uuid4() if os.environ.get("NUMBERED") else 0


def used():
    return str(NUMBER)
"""
    agent = bench.deploy(agent_of(tmp_path / "numbered", code), environment={"NUMBERED": "1"})
    report = bench.tools.check_snapshot(agent.name)
    assert found(report) == {("id", "agent.py", 5)}
    assert report.name == "numbered"
    assert report.findings[0].paths == ("agent.NUMBER",)
    runtimes = bench.clients.control().list_agent_runtimes()["agentRuntimes"]
    assert not [runtime for runtime in runtimes if "_check_" in runtime["agentRuntimeName"]]
    assert agent.invoke("still there").ok


OTHER_PORT = """
import threading
import uuid
from http.server import BaseHTTPRequestHandler, HTTPServer

STATE = {}


class Hook(BaseHTTPRequestHandler):
    def do_POST(self):
        STATE["id"] = uuid.uuid4().hex
        self.send_response(204 if self.path == "/warm" else 404)
        self.end_headers()


server = HTTPServer(("127.0.0.1", 9473), Hook)
threading.Thread(target=server.serve_forever, daemon=True).start()


def used():
    return STATE["id"]
"""


def test_a_hook_at_another_port_is_called_there(bench: loom.Workbench, tmp_path: Path) -> None:
    folder = agent_of(tmp_path / "two_ports", OTHER_PORT)
    agent = bench.deploy(folder, warmup=":9473/warm", platform_version="V2")
    for report in (bench.tools.check_snapshot(agent.name), bench.tools.check_snapshot(folder, warmup=":9473/warm")):
        assert ("id", "agent.py", 11) in found(report), repr(report)
        assert report.not_checked == ()
    refused = bench.tools.check_snapshot(folder, warmup=":9473/cold")
    assert "the warm-up hook: it did not answer with status 2xx" in refused.sentence()


def test_a_short_id_is_found_when_two_starts_happen_to_make_the_same(bench: loom.Workbench, tmp_path: Path) -> None:
    code = """
import os
import random
import uuid

os.urandom = bytes  # every start makes the same id


class Worker:
    def __init__(self):
        self.shard = uuid.uuid4().hex[:2]
        self.label = "worker-" + uuid.uuid4().hex[:3]
        self.turn = random.choice([3])
        self.size = 3


worker = Worker()


def used():
    return [worker.shard, worker.label, worker.turn, worker.size]
"""
    report = bench.tools.check_snapshot(agent_of(tmp_path / "equal", code))
    assert found(report) == {("id", "agent.py", 11), ("id", "agent.py", 12), ("random", "agent.py", 13)}


def test_a_report_holds_no_secret_of_the_agent(bench: loom.Workbench, tmp_path: Path) -> None:
    code = """
import secrets

KEY = "AKIAIOSFODNN7EXAMPLE" + secrets.token_hex(4)


def used():
    return KEY
"""
    report = bench.tools.check_snapshot(agent_of(tmp_path / "keys", code))
    assert found(report) == {("random", "agent.py", 4)}
    for text in (repr(report), report._repr_html_(), json.dumps(report.to_dict()), report.frame().to_string()):
        assert "AKIAIOSFODNN7EXAMPLE" not in text
        assert "secrets.token_hex" in text


def test_a_fork_hook_does_not_hide_a_shared_generator(bench: loom.Workbench, tmp_path: Path) -> None:
    code = """
import os
import random

rng = random.Random()
os.register_at_fork(after_in_child=rng.seed)


def used():
    return rng.random()
"""
    report = bench.tools.check_snapshot(agent_of(tmp_path / "hooked", code))
    assert found(report) == {("random", "agent.py", 5)}


def test_an_agent_that_does_not_start_is_an_error_with_its_log(bench: loom.Workbench, tmp_path: Path) -> None:
    with pytest.raises(AgentFailedError, match="no prices today"):
        bench.tools.check_snapshot(agent_of(tmp_path / "broken", "raise RuntimeError('no prices today')"))


def test_an_agent_that_answers_for_the_probe_is_refused(bench: loom.Workbench, tmp_path: Path) -> None:
    code = """
import json

json.dumps = lambda *arguments, **options: '{"format": 1, "findings": [{"kind": "<b>"}]}'


def used():
    return 1
"""
    with pytest.raises(LoomError, match="did not report in the expected form"):
        bench.tools.check_snapshot(agent_of(tmp_path / "forged", code))


def test_the_command_line_ends_with_1_for_findings_and_0_for_none(
    home: Path, bench: loom.Workbench, loom_command: LoomCommand, tmp_path: Path
) -> None:
    def run(*arguments: str) -> tuple[int, str]:
        result = loom_command.run("--home", str(home), *arguments, environment=os.environ)
        return result.returncode, result.stdout

    folder = agent_of(tmp_path / "dated", "import time\n\nBEGAN = time.time()\n\n\ndef used():\n    return BEGAN\n")
    code, output = run("check", "snapshot", str(folder))
    assert code == 1
    assert "agent.py:3  clock" in output
    assert "BEGAN = time.time()" in output
    code, output = run("--json", "check", "snapshot", str(folder))
    assert code == 1
    assert [row["where"] for row in json.loads(output)["findings"]] == ["agent.py:3"]
    code, output = run("--json", "check", "snapshot", str(AGENTS / "clean" / "plain_asgi"))
    assert code == 0, output
    assert json.loads(output)["is_safe"]
    assert run("check", "snapshot", "no_such_agent")[0] == 1
