"""Scripts written from AWS's documentation run unchanged: only environment variables say where AWS is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from loomlib import local

SCRIPTS = Path(__file__).parent / "scripts"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[local.ServiceState]:
    home = tmp_path_factory.mktemp("documented") / "home"
    state, _ = local.start(home, persistent=True)
    yield state
    local.stop(home)


def run(service: local.ServiceState, script: str, *arguments: str) -> list[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    ran = subprocess.run(
        [sys.executable, str(SCRIPTS / script), *arguments],
        env=kept | service.environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


@pytest.fixture(scope="module")
def arn(service: local.ServiceState) -> str:
    return run(service, "deploy.py")[-1]


def test_the_deployment_script_gives_a_runtime_of_awss_form(arn):
    assert arn.startswith("arn:aws:bedrock-agentcore:us-east-1:")
    assert ":runtime/documented-" in arn


def test_the_invocation_script_reads_json_and_a_stream(service, arn):
    assert run(service, "invoke.py", arn, "hello there") == ["{'result': 'You said: hello there'}"]
    assert run(service, "invoke.py", arn, "hello there", "stream") == ['"hello"', '"there"']


def test_converse_its_stream_and_a_strands_agent_with_a_tool_work(service):
    assert run(service, "converse.py")[-3:] == ["True True", "True", "True 1"]


def test_endpoints_sessions_logs_and_deletion_follow_the_documentation(service, arn):
    assert run(service, "endpoints.py", arn) == [
        "['DEFAULT', 'prod']",
        "True 200",
        "200",
        "True 1",
        "True",
        "DELETING",
    ]
