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
    """Run a script as a shell does after `eval "$(loom up --export)"`."""
    own = ("AWS_", "BEDROCK_", "HTTPS_PROXY", "WSS_PROXY", "ALL_PROXY", "NO_PROXY")
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith(own)}
    ran = subprocess.run(
        [sys.executable, str(SCRIPTS / script), *arguments],
        env=kept | local.shell_environment(service, kept),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def test_a_runtime_is_deployed_invoked_pinned_by_an_endpoint_and_deleted(service):
    arn = run(service, "deploy.py")[-1]
    assert arn.startswith("arn:aws:bedrock-agentcore:us-east-1:")
    assert ":runtime/documented-" in arn
    assert run(service, "invoke.py", arn, "hello there") == ["{'result': 'You said: hello there'}"]
    assert run(service, "invoke.py", arn, "hello there", "stream") == ['"hello"', '"there"']
    assert run(service, "endpoints.py", arn) == [
        "['DEFAULT', 'prod']",
        "True 200",
        "200",
        "True 1",
        "True",
        "DELETING",
    ]


def test_converse_its_stream_and_a_strands_agent_with_a_tool_work(service):
    assert run(service, "converse.py")[-3:] == ["True True", "True", "True 1"]


def test_every_memory_operation_follows_the_documentation(service):
    assert run(service, "memory_boto3.py") == [
        "ACTIVE ['facts', 'likes'] True",
        "True True True True {'stringValue': 'travel'}",
        "3",
        "['ana'] ['monday']",
        "The user is allergic to shellfish. True",
        "2 The shop opens at ten. 1 []",
        "[]",
        "no such job",
        "DELETING",
    ]


def test_the_sdks_memory_classes_work_as_documented(service):
    assert run(service, "memory_sdk.py") == [
        "True",
        "1 Where do I live? The user lives in Utrecht. tuesday",
        "['Where do I live?', 'Where do I live? The user lives in Utrecht.']",
        "['main', 'other'] 5",
        "['CUSTOM', 'CUSTOM', 'EPISODIC', 'SEMANTIC', 'SUMMARIZATION', 'USER_PREFERENCE']",
        "more facts False",
        "The user lives in Utrecht. ['elsewhere', 'main'] 2",
        "The user lives in Utrecht. 1",
        "['tuesday', 'wednesday'] ['ben']",
        "False",
    ]


def test_strands_session_manager_restores_a_session_in_another_process(service):
    (said,) = run(service, "memory_strands.py", "talk")
    memory_id, count, _, seen = said.split(maxsplit=3)
    assert (int(count), seen) == (8, "['A-1042']")
    assert run(service, "memory_strands.py", "restore", memory_id) == [said]


def test_an_mcp_server_asks_its_client_and_keeps_its_session(service):
    assert run(service, "runtime_mcp.py") == [
        "['plant']",
        "beans in 2 beds: water the beans",
        "beans, beans in 1 beds: water the beans",
        "beans, beans",
        "['1/2', '2/2', '1/1']",
    ]


def test_an_a2a_agent_is_found_by_its_card_and_streams_a_task(service):
    assert run(service, "runtime_a2a.py") == [
        "200 Word counter",
        "Word counter ['count']",
        "1 completed 4 words",
        "4 completed 4 words",
    ]


def test_an_agui_agent_streams_its_events(service):
    assert run(service, "runtime_agui.py") == [
        "text/event-stream",
        "['RUN_STARTED', 'STATE_SNAPSHOT', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_CONTENT', "
        "'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END', 'RUN_FINISHED']",
        "SAY IT ALOUD {'turns': 1} run-1",
    ]


def test_a_bedrock_agent_calls_a_function_and_returns_control(service):
    assert run(service, "bedrock_agents.py") == [
        "PREPARING PREPARED",
        "CREATING [{'agentVersion': '1'}]",
        "The order 4711 has been shipped.",
        "['modelInvocationInput', 'modelInvocationOutput', 'invocationInput', 'observation', 'modelInvocationInput', "
        "'modelInvocationOutput', 'observation']",
        "refund [('order_id', '4711')]",
        "The refund of order 4711 is on its way.",
        "DELETING",
    ]
