"""`loom deploy`: the plan, the file that it writes, and what it refuses."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loom_command import LoomCommand

import loomlib as loom
from loomlib import local
from loomlib.deploy import read_agent_file
from loomlib.errors import DeployError


@pytest.fixture(scope="module")
def deploy(service: local.ServiceState, loom_command: LoomCommand) -> Callable[..., Any]:
    """Runs `loom deploy` against the shared local AgentCore."""
    environment = {**os.environ, "LOOM_HOME": str(service.home)}

    def run(*words: str | Path) -> Any:
        return loom_command.run("deploy", *map(str, words), environment=environment)

    return run


@pytest.fixture(scope="module")
def bench(service: local.ServiceState):
    with loom.connect(home=service.home) as opened:
        yield opened


def version_of(bench: loom.Workbench, name: str) -> str:
    return str(bench.agent(name).refresh().entry.raw_metadata["agentRuntimeVersion"])


def test_a_plan_is_printed_and_nothing_is_made(deploy, bench: loom.Workbench, make_agent) -> None:
    folder = make_agent("thought")
    printed = deploy(folder, "--where", "local", "--plan", "--env", "API_KEY=hush", "--idle-timeout", "120")
    assert printed.returncode == 0, printed.stderr
    assert "+ create runtime thought" in printed.stdout
    assert "platform.idle_timeout_s: 120" in printed.stdout
    assert "environment: API_KEY" in printed.stdout
    plan = json.loads(deploy(folder, "--plan", "--json").stdout)
    assert [step["action"] for step in plan["steps"] if step["kind"] == "runtime"] == ["create"]
    assert plan["cost"]["items"][0]["assumption"]
    assert sorted(path.name for path in folder.iterdir()) == ["agent.py"]
    assert "hush" not in printed.stdout + printed.stderr
    with pytest.raises(loom.errors.AgentNotFoundError):
        bench.agent("thought")


def test_deploying_writes_a_file_that_the_next_deployment_reads(deploy, bench: loom.Workbench, make_agent) -> None:
    folder = make_agent("filed")
    first = deploy(folder, "--platform", "V1", "--idle-timeout", "120", "--env", "WORD=lamp", "--env", "API_KEY=hush")
    assert first.returncode == 0, first.stderr
    assert f"wrote {folder / 'loom-agent.toml'}" in first.stderr
    assert "left out of it, as they look like secrets: API_KEY" in first.stderr
    spec = read_agent_file(folder)
    assert (spec.name, spec.entry_point, spec.environment) == ("filed", "agent.py", {"WORD": "lamp"})
    assert (spec.platform.version, spec.platform.idle_timeout_s) == ("V1", 120)
    assert "hush" not in (folder / "loom-agent.toml").read_text()

    with_secret = deploy(folder, "--env", "API_KEY=hush")
    assert with_secret.returncode == 0, with_secret.stderr
    assert "wrote" not in with_secret.stderr
    assert version_of(bench, "filed") == "1"
    assert bench.plan(folder, environment={"API_KEY": "hush"}).value.is_empty


def test_no_file_is_written_where_none_is_wanted(deploy, make_agent) -> None:
    folder = make_agent("unfiled")
    assert deploy(folder, "--platform", "V1", "--no-file").returncode == 0
    assert sorted(path.name for path in folder.iterdir()) == ["agent.py"]
    undone = deploy(folder, "--no-file", "--rollback")
    assert "there is nothing to undo" in undone.stderr


def test_a_wrong_file_is_one_error(deploy, make_agent) -> None:
    folder = make_agent("wrong")
    (folder / "loom-agent.toml").write_text('[agent]\nname = "wrong"\nprotocl = "HTTP"\n')
    refused = deploy(folder, "--plan")
    assert refused.returncode == 1
    assert "Unknown key: protocl" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_role_of_the_agents_own_is_tried_here(bench: loom.Workbench, make_agent) -> None:
    folder = make_agent("modest")
    agent = bench.deploy(folder, platform_version="V1", role="own")
    assert agent.entry.raw_metadata["roleArn"].endswith(":role/loom-modest-us-east-1")
    assert agent.invoke("hello").ok
    with pytest.raises(loom.errors.LoomError, match="runs as an existing role"):
        bench.plan(folder, role="arn:aws:iam::123456789012:role/theirs").policy()


def test_two_deployments_of_one_agent_at_once_are_refused(bench: loom.Workbench, make_agent) -> None:
    folder = make_agent("contested")
    refusals: list[DeployError] = []

    def deploy_again(_line: str) -> None:
        if not refusals:
            with pytest.raises(DeployError, match="contested is being deployed by process") as caught:
                bench.deploy(folder, platform_version="V1")
            refusals.append(caught.value)

    plan = bench.plan(folder, platform_version="V1")
    assert plan.apply(progress=deploy_again).status == "READY"
    assert refusals
