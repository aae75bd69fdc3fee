"""Scripts written from AWS's documentation run unchanged: only environment variables say where AWS is."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from loomlib import local
from loomlib.local.find_chromium import find_chromium

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
    environment = {name: value for name, value in os.environ.items() if not name.upper().startswith(own)}
    process = subprocess.run(
        [sys.executable, str(SCRIPTS / script), *arguments],
        env=environment | local.shell_environment(service, environment),
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout.splitlines()


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
    (line,) = run(service, "memory_strands.py", "talk")
    memory_id, count, _, seen_orders = line.split(maxsplit=3)
    assert (int(count), seen_orders) == (8, "['A-1042']")
    assert run(service, "memory_strands.py", "restore", memory_id) == [line]


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


def test_a_lambda_function_is_called_versioned_and_deleted(service):
    assert run(service, "lambda_functions.py") == [
        "200 $LATEST {'order': '4711', 'status': 'shipped'}",
        "True",
        "lost shipped",
        "Unhandled KeyError 'order'",
        "202",
        "True",
        "deleted",
    ]


def test_a_gateway_is_used_by_the_sdks_client_the_mcp_sdk_and_strands(service):
    assert run(service, "gateway.py") == [
        "READY True",
        "READY True",
        "['orders___order_status', 'x_amz_bedrock_agentcore_search']",
        "['orders___order_status']",
        "The status of order 4711 is shipped.",
        "True ['orders___order_status']",
        "None",
    ]


def test_a_code_interpreter_is_used_by_the_sdks_session_and_strands_tool(service):
    assert run(service, "code_interpreter.py") == ["42", "2", "True True", "3", "42 READY", "success True"]


@pytest.mark.skipif(
    find_chromium() is None or importlib.util.find_spec("nest_asyncio") is None,
    reason="Chromium, or what Strands' tool needs, is not installed",
)
def test_a_browser_is_used_by_strands_tool(service):
    assert run(service, "browser_strands.py") == ["True"]


def test_a_guardrail_checks_texts_and_conversations(service):
    assert run(service, "guardrails.py") == [
        "DRAFT 1 READY",
        "GUARDRAIL_INTERVENED Write to {EMAIL} ('EMAIL', 'ann@example.org', 'ANONYMIZED')",
        "This question is blocked. ('project nightjar', 'BLOCKED')",
        "NONE",
        "guardrail_intervened This question is blocked.",
        "True",
        "This question is blocked.",
        "['guardrail_intervened']",
        "end_turn",
    ]


def test_a_knowledge_base_is_filled_searched_and_asked(service):
    assert run(service, "knowledge_base.py") == [
        "COMPLETE 2",
        "The warranty of a lamp lasts 36 months. True",
        "['Goods can be returned within 30 days.']",
        "True True True",
        "DELETING",
    ]


def test_models_answer_in_their_own_request_forms(service):
    assert run(service, "invoke_model.py") == [
        "assistant end_turn True",
        "True message_stop",
        "end_turn True",
        "stop True True",
        "256 True",
    ]
