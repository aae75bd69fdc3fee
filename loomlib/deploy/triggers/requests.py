"""The request that a trigger sends to the agent, and its definition: a schedule's target, a rule's pattern, an event.

Source: AWS, "Using universal targets in EventBridge Scheduler", "Adding context attributes in EventBridge Scheduler",
"Amazon S3 Event Notifications with EventBridge" (the form of the event).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final

from ..policies import AwsPlace
from .values import AgentTrigger

EXECUTION_ID: Final = "<aws.scheduler.execution-id>"
"""The placeholder that EventBridge Scheduler replaces with the id of the run."""
UNIVERSAL_TARGET: Final = "arn:{}:scheduler:::aws-sdk:bedrockagentcore:invokeAgentRuntime"
FUNCTION_FILE: Final = "trigger.py"
FUNCTION_HANDLER: Final = "trigger.handle"
FUNCTION_RUNTIME: Final = "python3.13"
FUNCTION_TIMEOUT_S: Final = 900
"""Lambda's longest call: the function waits for the agent's answer."""
_SHORTEST_SESSION: Final = 33


def base_payload(trigger: AgentTrigger) -> dict[str, Any]:
    """Return the payload of a trigger, without the values that an event adds.

    Args:
        trigger: The trigger.
    """
    spec = trigger.spec
    if spec.payload:
        return dict(spec.payload)
    return {"prompt": spec.prompt or "There is a new object: s3://{bucket}/{key}"}


def session_id(trigger: AgentTrigger, run: str) -> str:
    """Return the id of the session of a trigger's run: each run has its own session.

    Args:
        trigger: The trigger.
        run: The id of the run.
    """
    start = f"loom-{trigger.agent}-{trigger.name}-".replace("_", "-")
    return f"{start.ljust(_SHORTEST_SESSION, '0')}-{run}"


def schedule_input(trigger: AgentTrigger, runtime_arn: object) -> dict[str, Any]:
    """Return the members of InvokeAgentRuntime that a schedule sends.

    Scheduler forwards the payload unchanged: it must not be Base64.

    Args:
        trigger: The trigger.
        runtime_arn: The agent's ARN.
    """
    return {
        "AgentRuntimeArn": runtime_arn,
        "RuntimeSessionId": session_id(trigger, EXECUTION_ID),
        "ContentType": "application/json",
        "Accept": "application/json",
        "Payload": json.dumps(base_payload(trigger), ensure_ascii=False),
    }


def schedule_target(trigger: AgentTrigger, *, partition: str, role_arn: object, input_: object) -> dict[str, Any]:
    """Return the target of a schedule.

    A failed run is not retried: the agent may have done its work before the failure.

    Args:
        trigger: The trigger.
        partition: The partition of the account.
        role_arn: The role that the schedule uses.
        input_: The text of `schedule_input`.
    """
    return {
        "Arn": UNIVERSAL_TARGET.format(partition),
        "RoleArn": role_arn,
        "Input": input_,
        "RetryPolicy": {"MaximumRetryAttempts": 0, "MaximumEventAgeInSeconds": 3_600},
    }


def event_pattern(trigger: AgentTrigger) -> dict[str, Any]:
    """Return the pattern of the new-object events that a trigger matches.

    Args:
        trigger: The trigger.
    """
    prefix, suffix = trigger.prefix, trigger.spec.suffix
    detail: dict[str, Any] = {"bucket": {"name": [trigger.bucket]}}
    if prefix and suffix:
        detail["object"] = {"key": [{"wildcard": f"{_literal(prefix)}*{_literal(suffix)}"}]}
    elif prefix or suffix:
        detail["object"] = {"key": [{"prefix": prefix} if prefix else {"suffix": suffix}]}
    return {"source": ["aws.s3"], "detail-type": ["Object Created"], "detail": detail}


def object_event(
    trigger: AgentTrigger, key: str, *, account: str, region: str, size: int = 0, etag: str = ""
) -> dict[str, Any]:
    """Return the event that EventBridge sends for a new object.

    Args:
        trigger: The trigger.
        key: The object's key.
        account: The account.
        region: The region.
        size: The object's size in bytes.
        etag: The object's ETag.
    """
    return {
        "version": "0",
        "id": "00000000-0000-0000-0000-000000000000",
        "detail-type": "Object Created",
        "source": "aws.s3",
        "account": account,
        "region": region,
        "resources": [AwsPlace(account="", region=region).arn("s3", trigger.bucket, region="")],
        "detail": {
            "version": "0",
            "bucket": {"name": trigger.bucket},
            "object": {"key": key, "size": size, "etag": etag},
            "reason": "PutObject",
        },
    }


def matches(trigger: AgentTrigger, key: str) -> bool:
    """Return whether a trigger matches an object.

    Args:
        trigger: The trigger.
        key: The object's key in the trigger's bucket.
    """
    return key.startswith(trigger.prefix) and key.endswith(trigger.spec.suffix)


def function_code() -> str:
    """Return the code of the function that forwards new-object events to the agent."""
    return files("loomlib.deploy.triggers").joinpath("trigger_function.py.j2").read_text("utf-8")


def function_variables(trigger: AgentTrigger, runtime_arn: object) -> dict[str, Any]:
    """Return the environment variables of that function.

    Args:
        trigger: The trigger.
        runtime_arn: The agent's ARN.
    """
    return {
        "AGENT_ARN": runtime_arn,
        "SESSION_PREFIX": session_id(trigger, ""),
        "PAYLOAD": json.dumps(base_payload(trigger), ensure_ascii=False),
    }


def invoke_policy(runtime_arn: object, endpoint_arn: object) -> dict[str, Any]:
    """Return a policy that allows only invoking the agent's default endpoint.

    Args:
        runtime_arn: The agent's ARN.
        endpoint_arn: The ARN of its endpoint DEFAULT.
    """
    statement: Mapping[str, Any] = {
        "Sid": "InvokeAgent",
        "Effect": "Allow",
        "Action": ["bedrock-agentcore:InvokeAgentRuntime"],
        "Resource": [runtime_arn, endpoint_arn],
    }
    return {"Version": "2012-10-17", "Statement": [statement]}


def _literal(text: str) -> str:
    return text.replace("\\", "\\\\").replace("*", "\\*")
