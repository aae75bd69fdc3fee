"""Alerts on real calls, from a notebook and from the command line."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from loom_command import LoomCommand

import loomlib as loom


@pytest.fixture(scope="module")
def failing(bench: loom.Workbench) -> loom.Agent:
    agent = bench.deploy("echo", name="alerts_echo")
    session = agent.invoke("fine").session_id
    for _ in range(20):
        assert not agent.invoke(payload=b"no json", session_id=session).ok
    return agent


def test_an_alarm_is_decided_kept_and_taken_away(bench: loom.Workbench, failing: loom.Agent) -> None:
    rule = bench.alerts.add("error_rate", above=0.3, agent=failing.name)
    bench.alerts.add("error_rate", above=0.3, agent="nobody", name="nobody")
    report = bench.alerts.check()
    assert {result.rule.name: result.state for result in report.checked} == {rule.name: "alarm", "nobody": "no data"}
    assert report.exit_code == 2
    assert rule.name in report._repr_html_().replace("\xa0", " ")
    assert "1 of 2 alerts in alarm" in repr(report)
    assert list(bench.alerts.table()["state"]) == ["alarm", "no data"]
    assert set(bench.alerts.history(rule.name)["kind"]) == {"state"}
    for name in (rule.name, "nobody"):
        bench.alerts.remove(name)
    with pytest.raises(loom.LoomError, match="There is no alert"):
        bench.alerts.remove("nobody")
    assert len(bench.alerts.table()) == 0


def test_the_command_line_adds_lists_checks_and_removes(
    home: Path, failing: loom.Agent, loom_command: LoomCommand
) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return loom_command.run("--home", str(home), "--json", "alerts", *arguments, environment=os.environ)

    added = run(
        *("add", "error_rate", "--above", "30%", "--agent", failing.name, "--name", "cli", "--window", "1h"),
        *("--notify", "nowhere"),
    )
    assert added.returncode == 0, added.stderr
    assert "set LOOM_ALERT_URL_NOWHERE" in added.stderr
    assert json.loads(added.stdout)["above"] == 0.3
    assert [row["alert"] for row in json.loads(run("list").stdout)] == ["cli"]
    checked = run("check")
    assert checked.returncode == 2, checked.stderr
    assert json.loads(checked.stdout)["alerts"][0]["state"] == "alarm"
    assert [row["kind"] for row in json.loads(run("history", "cli").stdout)] == ["not notified", "state"]
    assert run("remove", "cli").returncode == 0
    assert run("check").returncode == 0
    assert run("add", "error_rate", "--above", "5").returncode == 1
