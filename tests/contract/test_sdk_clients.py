"""What every client class of AgentCore's SDK does after `eval "$(loom up --export)"`, and that no class is left out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from loomlib import local
from loomlib.local.find_chromium import find_chromium

SCRIPTS = Path(__file__).parent / "scripts"
NOT_IMPLEMENTED = "501 NotImplementedException"
BROWSER = "READY wss://bedrock-agentcore.us-east-1.amazonaws.com/browser-streams/aws.browser.v1"
REFUSED_BY_THE_SDK = "InvalidRegionError"
"""The SDK takes no gateway whose host is not of AWS."""

EXPECTED = {
    "AgentCoreRuntimeClient.list_agent_runtimes": "answered",
    "AgentCoreRuntimeClient.get_aggregated_status": "answered",
    "AgentCoreRuntimeClient.invoke_agent_runtime": "answered",
    "AgentCoreRuntimeClient.generate_ws_connection": "answered",
    "AgentCoreRuntimeClient.generate_presigned_url": "answered",
    "AgentCoreRuntimeClient.generate_ws_connection_oauth": "answered",
    "AgentCoreRuntimeClient.connect_shell": "answered",
    "AgentCoreRuntimeClient.connect_shell_presigned": "answered",
    "MemoryClient.list_memories": "answered",
    "MemoryControlPlaneClient.list_memories": "answered",
    "MemorySessionManager.list_actors": "404 ResourceNotFoundException",
    "AgentCoreMemorySessionManager.list_messages": "answered",
    "IdentityClient.create_workload_identity": "answered",
    "GatewayClient.list_gateways": "answered",
    "EvaluationClient.get_evaluator_level": "TRACE",
    "EvaluationClient.list_batch_evaluations": NOT_IMPLEMENTED,
    "RecommendationClient.list_recommendations": NOT_IMPLEMENTED,
    "DatasetClient.list_datasets": NOT_IMPLEMENTED,
    "ResourcePolicyClient.get_resource_policy": "answered",
    "PolicyEngineClient.list_policy_engines": NOT_IMPLEMENTED,
    "KnowledgeBaseClient.list_knowledge_bases": "answered",
    "ConfigBundleClient.list_configuration_bundles": NOT_IMPLEMENTED,
    "BrowserClient.browser_session": BROWSER if find_chromium() else NOT_IMPLEMENTED,
    "BrowserClient.list_browsers": "answered",
    "CodeInterpreter.code_session": "42 the answer",
    "CodeInterpreter.strands_tool": "[{'type': 'text', 'text': '42'}]",
    "CodeInterpreter.list_code_interpreters": "answered",
    "WebSearchClient": REFUSED_BY_THE_SDK,
    "PaymentClient.list_payment_managers": NOT_IMPLEMENTED,
    "PaymentManager.list_payment_instruments": NOT_IMPLEMENTED,
}


@pytest.fixture(scope="module")
def service_of_the_sdk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[local.ServiceState]:
    home = tmp_path_factory.mktemp("sdk") / "home"
    state, _ = local.start(home, persistent=True)
    yield state
    local.stop(home)


def run(service: local.ServiceState, script: str, *arguments: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    process = subprocess.run(
        [sys.executable, str(SCRIPTS / script), *arguments],
        env=environment | local.shell_environment(service, {}),
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout.splitlines()[-1]


def test_each_client_class_of_the_sdk_answers_or_is_refused_in_aws_s_form(
    service_of_the_sdk: local.ServiceState,
) -> None:
    arn = run(service_of_the_sdk, "deploy.py")
    result = json.loads(run(service_of_the_sdk, "sdk_clients.py", arn))
    assert result["answers"] == EXPECTED
    assert result["untried"] == []  # a class that a new release of the SDK adds
