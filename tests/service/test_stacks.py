"""CloudFormation stacks with AgentCore's resources."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError, WaiterError
from echo_agent import ECHO_AGENT
from waiting import wait_until


def template(artifact: dict[str, Any], name: str, **more: Any) -> dict[str, Any]:
    place = artifact["codeConfiguration"]["code"]["s3"]
    return {
        "Parameters": {"Colour": {"Type": "String", "Default": "blue"}, "Days": {"Type": "Number", "Default": "30"}},
        "Resources": {
            "Agent": {
                "Type": "AWS::BedrockAgentCore::Runtime",
                "Properties": {
                    "AgentRuntimeName": name,
                    "RoleArn": "arn:aws:iam::123456789012:role/loom",
                    "NetworkConfiguration": {"NetworkMode": "PUBLIC"},
                    "ProtocolConfiguration": "HTTP",
                    "EnvironmentVariables": {
                        "Colour": {"Ref": "Colour"},
                        "MEMORY": {"Fn::GetAtt": ["Notes", "MemoryId"]},
                    },
                    "AgentRuntimeArtifact": {
                        "CodeConfiguration": {
                            "Code": {"S3": {"Bucket": place["bucket"], "Prefix": place["prefix"]}},
                            "EntryPoint": ["agent.py"],
                            "Runtime": "PYTHON_3_11",
                        }
                    },
                    **more,
                },
            },
            "Live": {
                "Type": "AWS::BedrockAgentCore::RuntimeEndpoint",
                "Properties": {"AgentRuntimeId": {"Ref": "Agent"}, "Name": "live", "AgentRuntimeVersion": "1"},
            },
            "Notes": {
                "Type": "AWS::BedrockAgentCore::Memory",
                "Properties": {
                    "Name": f"{name}_notes",
                    "EventExpiryDuration": {"Ref": "Days"},
                    "MemoryStrategies": [{"SemanticMemoryStrategy": {"Name": "facts", "Namespaces": ["/{actorId}"]}}],
                },
            },
        },
        "Outputs": {
            "Arn": {"Value": {"Fn::GetAtt": ["Agent", "AgentRuntimeArn"]}},
            "Live": {"Value": {"Ref": "Live"}},
            "Memory": {"Value": {"Ref": "Notes"}},
        },
    }


def test_a_stack_makes_changes_and_deletes_a_runtime_an_endpoint_and_a_memory(aws: Any) -> None:
    stacks, artifact = aws.client("cloudformation"), aws.upload({"agent.py": ECHO_AGENT})
    body = template(artifact, "stacked")
    stacks.create_stack(StackName="agents", TemplateBody=json.dumps(body))
    stacks.get_waiter("stack_create_complete").wait(StackName="agents", WaiterConfig={"Delay": 1})
    (stack,) = stacks.describe_stacks(StackName="agents")["Stacks"]
    outputs = {item["OutputKey"]: item["OutputValue"] for item in stack["Outputs"]}
    runtime_id = outputs["Arn"].rpartition("/")[2]
    described = aws.control.get_agent_runtime(agentRuntimeId=runtime_id)
    memory_id = outputs["Memory"].rpartition("/")[2]
    assert described["environmentVariables"] == {"Colour": "blue", "MEMORY": memory_id}
    assert aws.invoke(outputs["Arn"])[0]["statusCode"] == 200
    assert aws.invoke(outputs["Arn"], qualifier="live")[0]["statusCode"] == 200
    memory = aws.control.get_memory(memoryId=memory_id)["memory"]
    assert (memory["eventExpiryDuration"], [item["name"] for item in memory["strategies"]]) == (30, ["facts"])
    body["Resources"]["Agent"]["Properties"]["Description"] = "changed"
    stacks.update_stack(StackName="agents", TemplateBody=json.dumps(body))
    changed = aws.control.get_agent_runtime(agentRuntimeId=runtime_id)
    assert (changed["description"], changed["agentRuntimeVersion"]) == ("changed", "2")
    stacks.delete_stack(StackName="agents")
    for missing in (
        lambda: aws.control.get_agent_runtime(agentRuntimeId=runtime_id),
        lambda: aws.control.get_memory(memoryId=memory_id),
    ):
        wait_until(lambda: _is_gone(aws, missing), what="the deletion")  # noqa: B023


def _is_gone(aws: Any, read: Callable[[], object]) -> bool:
    try:
        read()
    except aws.control.exceptions.ResourceNotFoundException:
        return True
    return False


def test_a_stack_whose_runtime_is_refused_fails_and_names_the_reason(aws: Any) -> None:
    stacks, artifact = aws.client("cloudformation"), aws.upload({"agent.py": "pass"})
    body = template(artifact, "refused")
    body["Resources"]["Agent"]["Properties"]["AgentRuntimeArtifact"]["CodeConfiguration"]["Runtime"] = "NODE_22"
    stacks.create_stack(StackName="refused", TemplateBody=json.dumps(body))
    with pytest.raises(WaiterError):
        stacks.get_waiter("stack_create_complete").wait(StackName="refused", WaiterConfig={"Delay": 1})
    events = stacks.describe_stack_events(StackName="refused")["StackEvents"]
    reasons = [event["ResourceStatusReason"] for event in events if event["ResourceStatus"] == "CREATE_FAILED"]
    assert any("AWS::BedrockAgentCore::Runtime" in reason and "NODE_22" in reason for reason in reasons)
    stacks.delete_stack(StackName="refused")
    names = [item["name"] for item in aws.control.list_memories()["memories"] if "name" in item]
    assert "refused_notes" not in names


def test_a_property_that_the_type_does_not_have_is_named(aws: Any) -> None:
    stacks = aws.client("cloudformation")
    body = template(aws.upload({"agent.py": "pass"}), "misspelt", Colour="red")
    stacks.create_stack(StackName="misspelt", TemplateBody=json.dumps(body))
    events = stacks.describe_stack_events(StackName="misspelt")["StackEvents"]
    assert any("unsupported property Colour" in event.get("ResourceStatusReason", "") for event in events)
    stacks.delete_stack(StackName="misspelt")


@pytest.mark.parametrize("kind", ["AWS::BedrockAgentCore::BrowserCustom", "AWS::Cognito::UserPoolClient"])
def test_other_types_are_refused_by_name(aws: Any, kind: str) -> None:
    body = {"Resources": {"Other": {"Type": kind, "Properties": {"Name": "b"}}}}
    with pytest.raises(ClientError, match=rf"Unrecognized resource types: \[{kind}\]") as refused:
        aws.client("cloudformation").create_stack(StackName=kind.replace("::", "-"), TemplateBody=json.dumps(body))
    assert refused.value.response["Error"]["Code"] == "ValidationError"


def test_cdk_s_own_resource_makes_nothing(aws: Any) -> None:
    stacks = aws.client("cloudformation")
    bucket = {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "of-a-stack"}}
    body = {
        "Resources": {"CDKMetadata": {"Type": "AWS::CDK::Metadata", "Properties": {"Analytics": "v2"}}, "B": bucket}
    }
    stacks.create_stack(StackName="cdk", TemplateBody=json.dumps(body))
    assert stacks.describe_stacks(StackName="cdk")["Stacks"][0]["StackStatus"] == "CREATE_COMPLETE"
    assert aws.client("s3").head_bucket(Bucket="of-a-stack")
