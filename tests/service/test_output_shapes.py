"""Whatever the local AgentCore answers has the form that botocore's service models promise."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import botocore.session
import pytest
from botocore.exceptions import ClientError
from botocore.validate import ParamValidator
from moto.core.utils import get_service_model
from waiting import wait_until

from loomlib import local
from loomlib.local.resources.declaration import bind
from loomlib.local.runtimes.resource import AGENT_RUNTIME, AGENT_RUNTIME_ENDPOINT

SERVICES = {"control": "bedrock-agentcore-control", "data": "bedrock-agentcore", "logs": "logs"}


def faults(shape: Any, value: Any, where: str = "answer") -> Iterator[str]:
    """Enums, patterns and lengths, which botocore itself does not check; required members and types, which it does."""
    if where == "answer":
        report = ParamValidator().validate(value, shape)
        if report.has_errors():
            yield report.generate_report()
    rules = shape.metadata
    if shape.type_name == "structure":
        if unknown := set(value) - set(shape.members):
            yield f"{where} has unknown members {unknown}"
        for name in set(value) & set(shape.members):
            yield from faults(shape.members[name], value[name], f"{where}.{name}")
    elif shape.type_name == "list":
        for item in value:
            yield from faults(shape.member, item, f"{where}[]")
    elif shape.type_name == "string":
        if "enum" in rules and value not in rules["enum"]:
            yield f"{where} is {value!r}, not one of {rules['enum']}"
        if "pattern" in rules and not re.fullmatch(rules["pattern"], value):
            yield f"{where} is {value!r}, not of {rules['pattern']}"
        if not rules.get("min", 0) <= len(value) <= rules.get("max", len(value)):
            yield f"{where} has {len(value)} characters, not {rules.get('min')} to {rules.get('max')}"


class Checked:
    """A boto3 client's calls, with each answer held against the model."""

    def __init__(self, aws: Any) -> None:
        self._aws = aws
        self._session = botocore.session.get_session()
        self.called: set[str] = set()

    def call(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:
        self.called.add(operation)
        model = self._session.get_service_model(SERVICES[service]).operation_model(operation)
        method = re.sub(r"(?<!^)(?=[A-Z])", "_", operation).lower()
        answer = getattr(self._aws.client(SERVICES[service]), method)(**parameters)
        members = {name: value for name, value in answer.items() if name != "ResponseMetadata"}
        assert answer["ResponseMetadata"].get("RequestId") or operation in ("DescribeLogStreams", "GetLogEvents")
        if model.has_streaming_output:
            members["response"] = members["response"].read()
        if model.output_shape is not None:
            assert not list(faults(model.output_shape, members)), operation
        assert answer["ResponseMetadata"]["HTTPStatusCode"] == model.http.get("responseCode", 200)
        return members


@pytest.fixture
def checked(aws: Any) -> Checked:
    return Checked(aws)


def test_every_answer_of_a_runtime_s_lifetime_has_its_shape(aws: Any, checked: Checked) -> None:
    control = lambda operation, **parameters: checked.call("control", operation, **parameters)  # noqa: E731
    definition = {
        "agentRuntimeArtifact": aws.upload(
            {
                "agent.py": "from bedrock_agentcore import BedrockAgentCoreApp\napp = BedrockAgentCoreApp()\n"
                "@app.entrypoint\ndef answer(payload):\n    print('spoken')\n    return payload\napp.run()\n"
            }
        ),
        "roleArn": "arn:aws:iam::123456789012:role/loom",
        "networkConfiguration": {"networkMode": "PUBLIC"},
        "environmentVariables": {"A": "b"},
        "lifecycleConfiguration": {"idleRuntimeSessionTimeout": 120},
        "requestHeaderConfiguration": {"requestHeaderAllowlist": ["X-Team"]},
        "protocolConfiguration": {"serverProtocol": "HTTP"},
    }
    created = control("CreateAgentRuntime", agentRuntimeName="contract", **definition)
    runtime_id, arn = created["agentRuntimeId"], created["agentRuntimeArn"]
    control("GetAgentRuntime", agentRuntimeId=runtime_id)
    aws.settled(runtime_id)
    control("GetAgentRuntime", agentRuntimeId=runtime_id, agentRuntimeVersion="1")
    control("UpdateAgentRuntime", agentRuntimeId=runtime_id, description="second", **definition)
    control("ListAgentRuntimeVersions", agentRuntimeId=runtime_id)
    aws.settled(runtime_id)
    control("ListAgentRuntimes")
    control("ListAgentRuntimeVersions", agentRuntimeId=runtime_id)
    control("CreateAgentRuntimeEndpoint", agentRuntimeId=runtime_id, name="prod", agentRuntimeVersion="1")
    for name in ("prod", "DEFAULT"):
        control("GetAgentRuntimeEndpoint", agentRuntimeId=runtime_id, endpointName=name)
    control("UpdateAgentRuntimeEndpoint", agentRuntimeId=runtime_id, endpointName="prod", agentRuntimeVersion="2")
    control("ListAgentRuntimeEndpoints", agentRuntimeId=runtime_id, maxResults=1)
    control("TagResource", resourceArn=arn, tags={"a": "b"})
    control("ListTagsForResource", resourceArn=arn)
    control("UntagResource", resourceArn=arn, tagKeys=["a"])
    session_id = "contract-" * 5
    invoked = checked.call(
        "data", "InvokeAgentRuntime", agentRuntimeArn=arn, runtimeSessionId=session_id, payload=b'{"a": 1}'
    )
    assert invoked["response"] == b'{"a": 1}'
    checked.call("data", "StopRuntimeSession", agentRuntimeArn=arn, runtimeSessionId=session_id)
    group = f"/aws/bedrock-agentcore/runtimes/{runtime_id}-DEFAULT"
    logs = aws.client("logs")
    wait_until(
        lambda: (
            logs.describe_log_groups(logGroupNamePrefix=group)["logGroups"]
            and logs.filter_log_events(logGroupName=group)["events"]
        )
    )
    assert checked.call("logs", "FilterLogEvents", logGroupName=group, limit=1)["events"]
    stream = checked.call("logs", "DescribeLogStreams", logGroupName=group)["logStreams"][0]["logStreamName"]
    checked.call("logs", "GetLogEvents", logGroupName=group, logStreamName=stream)
    control("DeleteAgentRuntimeEndpoint", agentRuntimeId=runtime_id, endpointName="prod")
    control("DeleteAgentRuntime", agentRuntimeId=runtime_id)
    assert operations_on_runtimes() <= checked.called


def operations_on_runtimes() -> set[str]:
    """Names of the control plane's operations on runtimes, their endpoints and tags."""
    model = get_service_model("bedrock-agentcore-control")
    bound = [bind(resource, model).operations for resource in (AGENT_RUNTIME, AGENT_RUNTIME_ENDPOINT)]
    tagging = {"TagResource", "UntagResource", "ListTagsForResource"}
    return {name for operations in bound for name in operations.values()} | tagging


def test_a_failed_runtime_has_its_shape_too(aws: Any, checked: Checked) -> None:
    runtime_id = aws.create("contract_failed", aws.upload({"other.py": ""}))["agentRuntimeId"]
    assert aws.settled(runtime_id)["status"] == "CREATE_FAILED"
    assert checked.call("control", "GetAgentRuntime", agentRuntimeId=runtime_id)["failureReason"]
    endpoint = checked.call("control", "GetAgentRuntimeEndpoint", agentRuntimeId=runtime_id, endpointName="DEFAULT")
    assert endpoint["status"] == "CREATE_FAILED"


@pytest.mark.parametrize(
    ("operation", "parameters"),
    [
        ("GetAgentRuntime", {"agentRuntimeId": "missing-1234567890"}),
        ("GetAgentRuntime", {"agentRuntimeId": "malformed"}),
        ("DeleteAgentRuntime", {"agentRuntimeId": "missing-1234567890"}),
        ("ListAgentRuntimes", {"maxResults": 1000}),
        ("CreateAgentRuntimeEndpoint", {"agentRuntimeId": "missing-1234567890", "name": "prod"}),
    ],
)
def test_every_error_is_one_that_the_model_declares(aws: Any, operation: str, parameters: dict[str, Any]) -> None:
    client = aws.client(SERVICES["control"], parameter_validation=False)
    model = client.meta.service_model.operation_model(operation)
    method = re.sub(r"(?<!^)(?=[A-Z])", "_", operation).lower()
    with pytest.raises(ClientError) as caught:
        getattr(client, method)(**parameters)
    declared = {shape.name: shape for shape in model.error_shapes}
    response = caught.value.response
    shape = declared[response["Error"]["Code"]]
    assert response["ResponseMetadata"]["HTTPStatusCode"] == shape.metadata["error"]["httpStatusCode"]
    present = {name for name in shape.members if response.get(name) or response["Error"].get(name.capitalize())}
    assert set(shape.metadata.get("required", ())) <= present


def test_the_service_is_the_one_that_was_started(service: local.ServiceState) -> None:
    assert local.find(service.home) == service
