from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError
from echo_agent import ECHO_AGENT

from loomlib import local


def code_of(caught: pytest.ExceptionInfo[ClientError]) -> str:
    return caught.value.response["Error"]["Code"]


def test_a_created_runtime_has_aws_s_form_and_becomes_ready(aws: Any) -> None:
    created = aws.create("shape", aws.upload({"agent.py": ECHO_AGENT}), description="d", tags={"team": "loom"})
    assert created["status"] == "CREATING"
    assert re.fullmatch(r"shape-[a-zA-Z0-9]{10}", created["agentRuntimeId"])
    assert created["agentRuntimeArn"] == (
        f"arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/{created['agentRuntimeId']}"
    )
    assert created["agentRuntimeVersion"] == "1"
    runtime = aws.settled(created["agentRuntimeId"])
    assert runtime["status"] == "READY"
    assert runtime["description"] == "d"
    assert runtime["lifecycleConfiguration"] == {"idleRuntimeSessionTimeout": 900, "maxLifetime": 28800}
    assert aws.control.list_tags_for_resource(resourceArn=created["agentRuntimeArn"])["tags"] == {"team": "loom"}


def test_the_default_endpoint_follows_the_newest_version_and_a_named_one_stays(aws: Any) -> None:
    runtime_id = aws.deploy("versions")["agentRuntimeId"]
    aws.control.create_agent_runtime_endpoint(agentRuntimeId=runtime_id, name="prod", description="stays")
    updated = aws.control.update_agent_runtime(
        agentRuntimeId=runtime_id,
        agentRuntimeArtifact=aws.upload({"agent.py": ECHO_AGENT}),
        roleArn="arn:aws:iam::123456789012:role/loom",
        networkConfiguration={"networkMode": "PUBLIC"},
    )
    assert (updated["agentRuntimeVersion"], updated["status"]) == ("2", "UPDATING")
    assert aws.settled(runtime_id)["agentRuntimeVersion"] == "2"
    endpoints = aws.control.list_agent_runtime_endpoints(agentRuntimeId=runtime_id)["runtimeEndpoints"]
    assert {item["name"]: (item["liveVersion"], item["status"]) for item in endpoints} == {
        "DEFAULT": ("2", "READY"),
        "prod": ("1", "READY"),
    }
    listed = aws.control.list_agent_runtime_versions(agentRuntimeId=runtime_id)["agentRuntimes"]
    assert [item["agentRuntimeVersion"] for item in listed] == ["2", "1"]
    aws.control.update_agent_runtime_endpoint(agentRuntimeId=runtime_id, endpointName="prod", agentRuntimeVersion="2")
    moved = aws.control.get_agent_runtime_endpoint(agentRuntimeId=runtime_id, endpointName="prod")
    assert (moved["liveVersion"], moved["description"]) == ("2", "stays")
    aws.control.delete_agent_runtime(agentRuntimeId=runtime_id, agentRuntimeVersion="1")
    aws.control.delete_agent_runtime_endpoint(agentRuntimeId=runtime_id, endpointName="prod")
    endpoints = aws.control.list_agent_runtime_endpoints(agentRuntimeId=runtime_id)["runtimeEndpoints"]
    assert [item["name"] for item in endpoints] == ["DEFAULT"]


def test_a_failed_update_leaves_the_default_endpoint_where_it_was(aws: Any) -> None:
    runtime = aws.deploy("failing")
    aws.control.update_agent_runtime(
        agentRuntimeId=runtime["agentRuntimeId"],
        agentRuntimeArtifact=aws.upload({"other.py": "pass"}),
        roleArn="arn:aws:iam::123456789012:role/loom",
        networkConfiguration={"networkMode": "PUBLIC"},
    )
    description = aws.settled(runtime["agentRuntimeId"])
    assert description["status"] == "UPDATE_FAILED"
    assert "agent.py is not in the package" in description["failureReason"]
    endpoint = aws.control.get_agent_runtime_endpoint(agentRuntimeId=runtime["agentRuntimeId"], endpointName="DEFAULT")
    assert (endpoint["liveVersion"], endpoint["targetVersion"], endpoint["status"]) == ("1", "2", "UPDATE_FAILED")
    _, body = aws.invoke(runtime["agentRuntimeArn"])
    assert b"echo" in body


def test_a_name_is_taken_once(aws: Any) -> None:
    artifact = aws.upload({"agent.py": "pass"})
    token = "t" * 40
    first = aws.create("once", artifact, clientToken=token)
    assert aws.create("once", artifact, clientToken=token)["agentRuntimeId"] == first["agentRuntimeId"]
    with pytest.raises(ClientError) as caught:
        aws.create("once", artifact)
    assert code_of(caught) == "ConflictException"


@pytest.mark.parametrize("name", ["1st", "has-hyphen", "x" * 49, "ä"])
def test_a_bad_name_is_a_validation_error(aws: Any, name: str) -> None:
    with pytest.raises(ClientError, match="agentRuntimeName must match") as caught:
        aws.create(name, aws.upload({"agent.py": "pass"}))
    assert code_of(caught) == "ValidationException"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"runtime": "COBOL"}, "must be one of PYTHON_3_10"),
        ({"entryPoint": ["agent.js"]}, "must end with a .py file"),
        ({"entryPoint": ["../agent.py"]}, "must end with a .py file"),
        ({"entryPoint": ["gunicorn", "agent.py"]}, "must begin with opentelemetry-instrument"),
        ({"code": {"s3": {"bucket": "loom-code", "prefix": "missing.zip"}}}, "loom-code/missing.zip"),
        ({"code": {"s3": {"bucket": "no-such-bucket", "prefix": "missing.zip"}}}, "no-such-bucket"),
    ],
)
def test_what_cannot_run_here_is_refused_with_a_reason(aws: Any, change: dict[str, Any], message: str) -> None:
    artifact = aws.upload({"agent.py": "pass"})
    artifact["codeConfiguration"] |= change
    with pytest.raises(ClientError, match=message) as caught:
        aws.create("refused", artifact)
    assert code_of(caught) == "ValidationException"


def test_a_container_is_refused_with_a_reason(aws: Any) -> None:
    image = {"containerConfiguration": {"containerUri": "123456789012.dkr.ecr.us-east-1.amazonaws.com/a:latest"}}
    with pytest.raises(ClientError, match="was not built here"):
        aws.create("container", image)


def test_another_python_is_accepted_and_noted_in_the_log(aws: Any) -> None:
    artifact = aws.upload({"agent.py": ECHO_AGENT})
    artifact["codeConfiguration"]["runtime"] = "PYTHON_3_14" if sys.version_info < (3, 14) else "PYTHON_3_10"
    runtime_id = aws.create("other_python", artifact)["agentRuntimeId"]
    assert aws.settled(runtime_id)["status"] == "READY"
    log = (aws.state.home / "service.log").read_text()
    assert f"{runtime_id} specifies {artifact['codeConfiguration']['runtime']}" in log


def test_a_deleted_runtime_is_gone_with_its_sessions_files_and_tags(aws: Any) -> None:
    runtime = aws.deploy("deleted", tags={"a": "b"})
    aws.invoke(runtime["agentRuntimeArn"])
    folder = aws.state.home / "runtimes" / runtime["agentRuntimeId"]
    assert folder.is_dir()
    assert aws.control.delete_agent_runtime(agentRuntimeId=runtime["agentRuntimeId"])["status"] == "DELETING"
    assert not folder.exists()
    assert runtime["agentRuntimeId"] not in {item.runtime_id for item in local.status(aws.state.home).sessions}
    for call in (
        lambda: aws.control.get_agent_runtime(agentRuntimeId=runtime["agentRuntimeId"]),
        lambda: aws.control.list_tags_for_resource(resourceArn=runtime["agentRuntimeArn"]),
        lambda: aws.invoke(runtime["agentRuntimeArn"]),
    ):
        with pytest.raises(ClientError) as caught:
            call()
        assert code_of(caught) == "ResourceNotFoundException"


def test_lists_come_in_pages(aws: Any) -> None:
    names = {f"paged_{number}" for number in range(5)}
    artifact = aws.upload({"agent.py": "pass"})
    for name in names:
        aws.create(name, artifact)
    pages = list(aws.control.get_paginator("list_agent_runtimes").paginate(PaginationConfig={"PageSize": 2}))
    assert all(len(page["agentRuntimes"]) <= 2 for page in pages)
    assert names <= {item["agentRuntimeName"] for page in pages for item in page["agentRuntimes"]}
    with pytest.raises(ClientError, match="nextToken"):
        aws.control.list_agent_runtimes(nextToken="nonsense")


def test_tags_are_added_and_taken_away(aws: Any) -> None:
    arn = aws.deploy("tagged")["agentRuntimeArn"]
    aws.control.tag_resource(resourceArn=arn, tags={"a": "1", "b": "2"})
    aws.control.untag_resource(resourceArn=arn, tagKeys=["a"])
    assert aws.control.list_tags_for_resource(resourceArn=arn)["tags"] == {"b": "2"}


def test_an_operation_that_nobody_implements_reports_it_and_is_not_repeated(aws: Any) -> None:
    for retries in ("legacy", "standard"):
        client = aws.client("bedrock-agentcore-control", retries={"mode": retries, "total_max_attempts": 3})
        with pytest.raises(
            ClientError, match="does not implement ListAgentRuntimeVersionsByCapacityProvider"
        ) as caught:
            client.list_agent_runtime_versions_by_capacity_provider(capacityProviderId="provider-1234567890")
        assert code_of(caught) == "NotImplementedException"
        assert caught.value.response["ResponseMetadata"]["RetryAttempts"] == 0


def test_what_moto_knows_of_agentcore_is_still_there(aws: Any) -> None:
    created = aws.control.create_memory(name="notes", eventExpiryDuration=30)
    assert created["memory"]["id"] in {item["id"] for item in aws.control.list_memories()["memories"]}


def test_runtimes_versions_and_endpoints_outlive_a_restart(start_service: Callable[..., Any]) -> None:
    first = start_service()
    runtime_id = first.deploy("kept", environmentVariables={"A": "b"}, tags={"k": "v"})["agentRuntimeId"]
    first.control.create_agent_runtime_endpoint(agentRuntimeId=runtime_id, name="prod")
    before = first.control.get_agent_runtime(agentRuntimeId=runtime_id)
    local.stop(first.state.home)
    again = start_service()
    after = again.control.get_agent_runtime(agentRuntimeId=runtime_id)
    for description in (before, after):
        del description["ResponseMetadata"]
    assert before == after
    endpoints = again.control.list_agent_runtime_endpoints(agentRuntimeId=runtime_id)["runtimeEndpoints"]
    assert {item["name"] for item in endpoints} == {"DEFAULT", "prod"}


def test_a_script_in_another_process_needs_the_environment_variables_alone(service: local.ServiceState) -> None:
    program = (
        "import boto3; print(boto3.client('sts').get_caller_identity()['Account'], "
        "'agentRuntimes' in boto3.client('bedrock-agentcore-control').list_agent_runtimes())"
    )
    result = subprocess.run([sys.executable, "-c", program], env=service.environment(), capture_output=True, check=True)
    assert result.stdout.decode().split() == ["123456789012", "True"]
