"""Platform versions of runtimes and their warm-up hook, as the control plane answers them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError
from echo_agent import ECHO_AGENT


def hook(path: str, **port: int) -> dict[str, Any]:
    return {"build": {"warmup": {"action": {"httpPost": {"path": path, **port}}}}}


def test_a_runtime_without_a_platform_is_v2_by_default(aws: Any) -> None:
    assert aws.deploy("plain_platform")["platformVersion"] == "V2"


def test_a_service_may_keep_the_default_of_before(start_service: Callable[..., Any]) -> None:
    aws = start_service(platform_default="V1")
    assert aws.deploy("plain_platform")["platformVersion"] == "V1"
    assert aws.deploy("new_platform", platformVersion="V2")["platformVersion"] == "V2"


def test_a_version_that_cannot_serve_is_not_created(aws: Any) -> None:
    created = aws.create("fails_at_its_start", aws.upload({"agent.py": "print('no model'); raise SystemExit(3)"}))
    runtime = aws.settled(created["agentRuntimeId"])
    assert runtime["status"] == "CREATE_FAILED"
    for part in ("ended with exit code 3 before it served a request", "Last log lines:", "no model"):
        assert part in runtime["failureReason"]


def test_an_update_keeps_the_platform_of_the_version_before(aws: Any) -> None:
    first = aws.deploy("kept_platform", platformVersion="V2")
    assert first["platformVersion"] == "V2"
    aws.control.update_agent_runtime(
        agentRuntimeId=first["agentRuntimeId"],
        agentRuntimeArtifact=aws.upload({"agent.py": ECHO_AGENT}),
        roleArn="arn:aws:iam::123456789012:role/loom",
        networkConfiguration={"networkMode": "PUBLIC"},
    )
    again = aws.settled(first["agentRuntimeId"])
    assert (again["agentRuntimeVersion"], again["platformVersion"]) == ("2", "V2")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"platformVersion": "V3"}, "platformVersion 'V3' is not one of V1, V2"),
        ({"platformVersion": "V1", "hooksConfiguration": hook("/warmup")}, "requires platformVersion V2"),
        ({"hooksConfiguration": hook("/invocations")}, "must not be /invocations at port 8080"),
        ({"hooksConfiguration": hook("/ping", port=8080)}, "must not be /ping at port 8080"),
        ({"hooksConfiguration": hook("/mcp"), "protocolConfiguration": {"serverProtocol": "MCP"}}, "/mcp at port 8000"),
    ],
)
def test_a_platform_or_hook_that_cannot_be_is_a_validation_error(aws: Any, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ClientError, match=message) as refused:
        aws.create("refused_platform", aws.upload({"agent.py": ECHO_AGENT}), **given)
    assert refused.value.response["Error"]["Code"] == "ValidationException"
