"""Watching a deployed agent: its studies know the version and the code that they measured."""

from __future__ import annotations

from pathlib import Path

import pytest
from own_bench import bench, home
from plain_agents import PLAIN_APP

import loomlib as loom
from loomlib.latency import Silent

__all__ = ["bench", "home"]

CODE = '''"""Answers after a delay."""

import time

from plain_app import PlainApp

app = PlainApp()


@app.entrypoint
def answer(payload):
    time.sleep({delay_s})
    return {{"result": "done"}}


app.run()
'''


@pytest.fixture(scope="module")
def watched(bench: loom.Workbench, tmp_path_factory: pytest.TempPathFactory) -> loom.Agent:
    """An agent with a study of its first version, and one of its second, which takes longer."""
    folder: Path = tmp_path_factory.mktemp("watched")
    for delay_s in (0.0, 1.0):  # much more than the median of six calls varies on a busy machine
        (folder / "plain_app.py").write_text(PLAIN_APP)
        (folder / "agent.py").write_text(CODE.format(delay_s=delay_s))
        agent = bench.deploy(str(folder), name="watched")
        loom.LatencyStudy(agent, cold=0, warm=0, sticky=6, find_starts=False).run(Silent())
    return agent


def test_the_studies_of_two_versions_are_two_nights_with_version_and_code(watched: loom.Agent) -> None:
    result = watched.releases.watch(metrics=["p50"], allow_overload=True)
    (history,) = result.histories
    assert history.versions == ("1", "2")
    assert history.values[1] - history.values[0] > 30
    assert result.exit_code == 1
    assert "Too few nights: 2 nights under the same conditions" in repr(result)
    codes = [row.environment["agent_code"] for row in watched.context.store.studies.list(str(watched.entry.arn))]
    assert len(set(codes)) == 2


def test_the_command_needs_no_service(watched: loom.Agent, home: Path, loom_command) -> None:
    ended = loom_command.run("--home", str(home), "watch", "watched", "--allow-overload", environment={})
    assert ended.returncode == 1
    assert ended.stdout.startswith("Too few nights: 2 nights"), ended.stderr
