"""The `loom` command as a person types it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest
from loom_command import LoomCommand

from loomlib import local

LOOM = Path(sys.executable).with_name("loom")


Loom = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def loom(loom_command: LoomCommand) -> Loom:
    def call(*arguments: str, home: Path, code: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
        ran = loom_command.run(*arguments, environment={**os.environ, "LOOM_HOME": str(home), **variables})
        assert ran.returncode == code, ran.stdout + ran.stderr
        assert "Traceback" not in ran.stderr
        return ran

    return call


@pytest.fixture(scope="module")
def up(loom, tmp_path_factory):
    home = tmp_path_factory.mktemp("cli") / "home"
    loom("up", home=home)
    yield home
    loom("down", home=home)


def test_up_prints_the_address_and_up_again_reports_that_it_was_running(loom, up):
    again = loom("up", home=up)
    assert "127.0.0.1" in again.stderr
    assert "was already up" in again.stderr


def test_export_prints_only_shell_lines(loom, up):
    lines = loom("up", "--export", home=up).stdout.splitlines()
    assert lines
    assert all(re.fullmatch(r"export \w+=\S+|unset [\w ]+", line) for line in lines)
    ask = "import boto3; print(boto3.client('sts').get_caller_identity()['Account'])"
    script = 'eval "$("$0" up --export)"; exec "$1" -c "$2"'
    ran = subprocess.run(
        ["sh", "-c", script, str(LOOM), sys.executable, ask],
        env={**os.environ, "LOOM_HOME": str(up)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ran.stdout.strip().isdigit()


@pytest.fixture(scope="module")
def deployed(loom, up):
    """The output of `loom deploy calculator`."""
    return loom("deploy", "calculator", home=up)


def test_deploy_invoke_logs_and_latency_follow_each_other(loom, up, deployed):
    assert "READY" in deployed.stderr
    assert "calculator" in loom("agents", home=up).stdout
    answer = loom("invoke", "calculator", "What is 6*7?", home=up)
    assert "42" in answer.stdout
    assert "simulated" in answer.stderr
    assert "Start time" in loom("logs", "calculator", home=up).stdout
    for minutes in ("30", "1e12", "inf"):
        assert "Start time" in loom("logs", "calculator", "--minutes", minutes, home=up).stdout
    assert "ms" in loom("latency", "calculator", home=up).stderr


WARMED = """
from bedrock_agentcore import BedrockAgentCoreApp
from starlette.responses import PlainTextResponse
from starlette.routing import Route

app = BedrockAgentCoreApp()
app.router.routes.append(Route("/warmup", lambda request: PlainTextResponse("warm"), methods=["POST"]))
app.entrypoint(lambda payload: "done")
app.run()
"""


def described(home: Path, name: str) -> dict[str, Any]:
    """What GetAgentRuntime answers about a runtime."""
    state = local.status(home).state
    control = boto3.client(
        "bedrock-agentcore-control", endpoint_url=state.url, region_name=state.region,
        aws_access_key_id=state.access_key, aws_secret_access_key=state.secret_key,
    )  # fmt: skip
    with contextlib.closing(control):
        runtimes = control.list_agent_runtimes()["agentRuntimes"]
        (runtime_id,) = [runtime["agentRuntimeId"] for runtime in runtimes if runtime["agentRuntimeName"] == name]
        return control.get_agent_runtime(agentRuntimeId=runtime_id)


def test_settings_of_deploy_reach_the_runtime(loom, up, tmp_path):
    (tmp_path / "agent.py").write_text(WARMED)
    loom(
        "deploy", str(tmp_path), "--name", "set", "--platform", "V2", "--warmup", "/warmup", "--idle-timeout", "120",
        "--max-lifetime", "600", "--protocol", "AGUI", home=up,
    )  # fmt: skip
    runtime = described(up, "set")
    assert runtime["platformVersion"] == "V2"
    assert runtime["hooksConfiguration"] == {"build": {"warmup": {"action": {"httpPost": {"path": "/warmup"}}}}}
    assert runtime["lifecycleConfiguration"] == {"idleRuntimeSessionTimeout": 120, "maxLifetime": 600}
    assert runtime["protocolConfiguration"] == {"serverProtocol": "AGUI"}


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="session storage is bound by bubblewrap")
def test_a_platform_and_storage_of_deploy_reach_the_runtime(loom, up):
    loom("deploy", "calculator", "--name", "stored", "--platform", "V1", "--storage", "/mnt/notes", home=up)
    runtime = described(up, "stored")
    assert runtime["platformVersion"] == "V1"
    assert runtime["filesystemConfigurations"] == [{"sessionStorage": {"mountPath": "/mnt/notes"}}]


@pytest.mark.usefixtures("deployed")
def test_json_output_is_json(loom, up):
    status = json.loads(loom("--json", "status", home=up).stdout)
    assert status["running"] is True
    assert "key" not in json.dumps(status).lower()
    assert json.loads(loom("--json", "invoke", "calculator", "What is 2+2?", home=up).stdout)["status"] == "complete"


def test_an_error_is_one_line_with_something_to_try(loom, up):
    ran = loom("invoke", "nobody", "hello", home=up, code=1)
    assert len(ran.stderr.strip().splitlines()) == 1
    assert "nobody" in ran.stderr
    assert "Try" in ran.stderr


def test_a_parameter_of_a_report_that_stands_alone_is_named_with_its_option(loom, tmp_path):
    ran = loom("report", "latency_study", "counts=5", home=tmp_path / "home", code=2)
    assert "loom report latency_study -p counts=5" in ran.stderr


def test_advice_in_a_terminal_is_a_command_and_no_python(loom, tmp_path):
    home = tmp_path / "home"
    loom("up", home=home)
    try:
        errors = loom("invoke", "calculator", "hello", home=home, code=1).stderr
        assert "loom deploy calculator" in errors
        arn = "arn:aws:bedrock-agentcore:eu-west-1:999999999999:runtime/other-AbC123dEf4"
        errors += loom("register", arn, home=home, code=1).stderr
        assert "loom --where aws --region eu-west-1 register" in errors
        assert "bench." not in errors
        assert "loom.connect" not in errors
    finally:
        loom("down", home=home)


def test_status_without_a_service_tells_how_to_start_one(loom, tmp_path):
    assert "loom up" in loom("status", home=tmp_path / "home", code=1).stderr
    assert "no local AgentCore" in loom("down", home=tmp_path / "home").stderr


def test_doctor_finds_all_well_and_plugins_none_broken(loom, up):
    assert "all checks passed" in loom("doctor", home=up).stderr
    loom("plugins", home=up)


def test_an_agents_control_characters_do_not_reach_the_terminal(loom, up, tmp_path):
    (tmp_path / "agent.py").write_text(
        "from bedrock_agentcore import BedrockAgentCoreApp\napp = BedrockAgentCoreApp()\n\n"
        "@app.entrypoint\ndef answer(payload):\n    return {'result': '\\x1b]0;owned\\x07 done'}\n\napp.run()\n"
    )
    loom("deploy", str(tmp_path), "--name", "rude", home=up)
    ran = loom("invoke", "rude", "hello", home=up)
    assert "done" in ran.stdout
    assert "\x1b" not in ran.stdout + ran.stderr
