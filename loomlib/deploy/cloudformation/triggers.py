"""The resources of triggers in a template."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..policies import AwsPlace, trust_document
from ..triggers import AgentTrigger
from ..triggers.requests import (
    FUNCTION_RUNTIME,
    FUNCTION_TIMEOUT_S,
    event_pattern,
    function_code,
    function_variables,
    invoke_policy,
    schedule_input,
    schedule_target,
)
from ..triggers.values import SCHEDULE
from .portable import portable, substituted

RUNTIME_ARN: Final = {"Fn::GetAtt": ["Runtime", "AgentRuntimeArn"]}
_ENDPOINT_ARN: Final = {"Fn::Sub": "${Runtime.AgentRuntimeArn}/runtime-endpoint/DEFAULT"}
_MARK: Final = "the-agents-arn"


def trigger_resources(
    triggers: Sequence[AgentTrigger], place: AwsPlace, tags: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """Return the resources of triggers, by their names in the template.

    Args:
        triggers: The triggers.
        place: The account and region for which the policies are created.
        tags: The tags of the resources.
    """
    resources: dict[str, dict[str, Any]] = {}
    for trigger in triggers:
        start = "".join(part.title() for part in trigger.name.split("-"))
        if trigger.kind == SCHEDULE:
            resources |= _schedule(trigger, start, place, tags)
        else:
            resources |= _objects(trigger, start, place, tags)
    return resources


def tag_list(tags: Mapping[str, str]) -> list[dict[str, str]]:
    """Return tags in the form that most resource types use."""
    return [{"Key": name, "Value": value} for name, value in tags.items()]


def _role(service: str, place: AwsPlace, statements: Mapping[str, Any], tags: Mapping[str, str]) -> dict[str, Any]:
    return {
        "Type": "AWS::IAM::Role",
        "Properties": {
            "AssumeRolePolicyDocument": portable(trust_document(place, service=service), place),
            "Policies": [{"PolicyName": "loom", "PolicyDocument": statements}],
            "Tags": tag_list(tags),
        },
    }


def _schedule(trigger: AgentTrigger, start: str, place: AwsPlace, tags: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    text = substituted(json.dumps(schedule_input(trigger, _MARK), ensure_ascii=False))
    target = schedule_target(
        trigger,
        partition="aws",
        role_arn={"Fn::GetAtt": [f"{start}Role", "Arn"]},
        input_={"Fn::Sub": text.replace(_MARK, "${Runtime.AgentRuntimeArn}")},
    )
    target["Arn"] = {"Fn::Sub": target["Arn"].replace("arn:aws:", "arn:${AWS::Partition}:")}
    return {
        f"{start}Role": _role("scheduler.amazonaws.com", place, invoke_policy(RUNTIME_ARN, _ENDPOINT_ARN), tags),
        start: {
            "Type": "AWS::Scheduler::Schedule",
            "Properties": {
                "Name": trigger.resource_name,
                "Description": f"Invokes the agent {trigger.agent}; made by Loom",
                "ScheduleExpression": trigger.spec.schedule,
                "FlexibleTimeWindow": {"Mode": "OFF"},
                "Target": target,
            },
        },
    }


def _objects(trigger: AgentTrigger, start: str, place: AwsPlace, tags: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    function = {"Fn::GetAtt": [f"{start}Function", "Arn"]}
    policy = invoke_policy(RUNTIME_ARN, _ENDPOINT_ARN)
    group = f"log-group:/aws/lambda/{trigger.resource_name}:*"
    policy["Statement"].append(
        {
            "Sid": "OwnLogs",
            "Effect": "Allow",
            "Action": ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"],
            "Resource": [portable(place.arn("logs", group), place)],
        }
    )
    return {
        f"{start}Role": _role("lambda.amazonaws.com", place, policy, tags),
        f"{start}Function": {
            "Type": "AWS::Lambda::Function",
            "Properties": {
                "FunctionName": trigger.resource_name,
                "Description": f"Invokes the agent {trigger.agent} for new objects; made by Loom",
                "Runtime": FUNCTION_RUNTIME,
                "Handler": "index.handle",
                "Code": {"ZipFile": function_code()},
                "Role": {"Fn::GetAtt": [f"{start}Role", "Arn"]},
                "Timeout": FUNCTION_TIMEOUT_S,
                "Environment": {"Variables": function_variables(trigger, RUNTIME_ARN)},
                "Tags": tag_list(tags),
            },
        },
        f"{start}Retries": {
            "Type": "AWS::Lambda::EventInvokeConfig",
            "Properties": {
                "FunctionName": {"Ref": f"{start}Function"},
                "Qualifier": "$LATEST",
                "MaximumRetryAttempts": 0,
            },
        },
        f"{start}Rule": {
            "Type": "AWS::Events::Rule",
            "Properties": {
                "Name": trigger.resource_name,
                "Description": f"New objects for the agent {trigger.agent}; made by Loom",
                "EventPattern": event_pattern(trigger),
                "Targets": [{"Id": "agent", "Arn": function}],
            },
        },
        f"{start}Permission": {
            "Type": "AWS::Lambda::Permission",
            "Properties": {
                "FunctionName": function,
                "Action": "lambda:InvokeFunction",
                "Principal": "events.amazonaws.com",
                "SourceArn": {"Fn::GetAtt": [f"{start}Rule", "Arn"]},
            },
        },
    }
