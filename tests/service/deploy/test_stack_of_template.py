"""The template of a deployment, created as a stack of the local AgentCore."""

from __future__ import annotations

import json
from typing import Any

from echo_agent import ECHO_AGENT

from loomlib.aws.runtime_requests import RuntimeCode, RuntimeRequest
from loomlib.aws.runtime_settings import RuntimeSettings
from loomlib.deploy.cloudformation import stack_template
from loomlib.deploy.code_uses import CodeUses
from loomlib.deploy.policies import AwsPlace, role_policy
from loomlib.deploy.spec import AgentSpec, ResourceBinding, ResourceSpec, TriggerSpec

SPEC = AgentSpec(
    name="templated",
    resources=ResourceSpec(models=(ResourceBinding(resource="amazon.nova-lite-v1:0"),)),
    triggers=(
        TriggerSpec(schedule="rate(1 day)", prompt="good morning"),
        TriggerSpec(s3="templated-documents/new/", suffix=".txt", prompt="Read {key} of {bucket}"),
    ),
    endpoints={"prod": "prod"},
)


def test_the_stack_makes_the_agent_its_role_its_endpoint_and_its_triggers(aws: Any) -> None:
    place = AwsPlace(account="123456789012", region=aws.state.region)
    s3 = aws.upload({"agent.py": ECHO_AGENT})["codeConfiguration"]["code"]["s3"]
    code = RuntimeCode(bucket=s3["bucket"], key=s3["prefix"], python="PYTHON_3_11", entry_point="agent.py")
    request = RuntimeRequest(
        name="templated", code=code, role_arn="", settings=RuntimeSettings(), tags={"loom:agent": "templated"}
    )
    policy = role_policy(SPEC, CodeUses(), place)
    template = stack_template(SPEC, request, place, policy=policy)
    stacks = aws.client("cloudformation")
    stacks.create_stack(StackName="templated", TemplateBody=template.yaml(), Capabilities=["CAPABILITY_IAM"])
    stacks.get_waiter("stack_create_complete").wait(StackName="templated", WaiterConfig={"Delay": 1})
    (stack,) = stacks.describe_stacks(StackName="templated")["Stacks"]
    outputs = {item["OutputKey"]: item["OutputValue"] for item in stack["Outputs"]}
    arn = outputs["AgentArn"]
    _, body = aws.invoke(arn, b'{"prompt": "hello"}', qualifier="prod")
    assert json.loads(body)["echo"] == {"prompt": "hello"}

    described = aws.control.get_agent_runtime(agentRuntimeId=outputs["AgentId"])
    role = described["roleArn"].rpartition("/")[2]
    document = aws.client("iam").get_role_policy(RoleName=role, PolicyName="loom")["PolicyDocument"]
    assert document == policy.document()

    schedule = aws.client("scheduler").get_schedule(Name="loom-templated-schedule-1")
    assert json.loads(schedule["Target"]["Input"])["AgentRuntimeArn"] == arn

    event = {
        "detail": {"bucket": {"name": "templated-documents"}, "object": {"key": "new/a.txt", "size": 3, "etag": "e"}}
    }
    answer = aws.client("lambda", read_timeout=120).invoke(
        FunctionName="loom-templated-s3-1", Payload=json.dumps(event).encode()
    )
    result = json.loads(answer["Payload"].read())
    assert "FunctionError" not in answer, result
    assert json.loads(result["answer"])["echo"] == {
        "prompt": "Read new/a.txt of templated-documents",
        "s3": {"bucket": "templated-documents", "key": "new/a.txt", "size": 3, "etag": "e"},
    }
    stacks.delete_stack(StackName="templated")
    assert not [item for item in aws.client("scheduler").list_schedules()["Schedules"] if "templated" in item["Name"]]
