"""The CloudFormation template of an agent's deployment, for teams that deploy by pipeline.

Source: AWS, "CloudFormation Template Reference": AWS::BedrockAgentCore::Runtime and RuntimeEndpoint.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from ...aws.runtime_requests import RuntimeRequest
from ...errors import NotSupportedError
from ..agent_file import looks_like_secret
from ..policies import AwsPlace, RolePolicy
from ..spec import AgentSpec
from ..triggers import agent_triggers
from ..triggers.values import OBJECTS
from .portable import portable
from .triggers import tag_list, trigger_resources
from .values import StackTemplate

_UNCHANGED: Final = frozenset({"environmentVariables", "tags"})
"""Members of a request whose keys are chosen by the agent's author."""
_NOT_IN_TYPE: Final = {"hooksConfiguration": "a warm-up hook"}
_MISSING_IN_BUCKET: Final = (
    "Turn on EventBridge notifications of the bucket {0}: CloudFormation cannot change a bucket that another stack or "
    "tool has made. aws s3api put-bucket-notification-configuration replaces its whole configuration, so give it what "
    "the bucket has as well."
)


def stack_template(
    spec: AgentSpec, request: RuntimeRequest, place: AwsPlace, *, policy: RolePolicy | None
) -> StackTemplate:
    """Return a template that creates the resources of a plan: the role, the runtime, its endpoints and its triggers.

    The package (or the image) must exist when the stack is created; its location is a parameter. ARNs of the plan's
    account and region are replaced by those of the stack.

    Args:
        spec: The agent's configuration.
        request: The runtime, as the plan creates it.
        place: The account and region of the plan.
        policy: The policy of the agent's role; None to use the role of the request.

    Raises:
        NotSupportedError: The CloudFormation type of runtimes does not have a property for a setting.
    """
    members = request.members()
    for member, description in _NOT_IN_TYPE.items():
        if member in members:
            raise NotSupportedError(
                f"AWS::BedrockAgentCore::Runtime has no property for {description}",
                on=spec.name,
                try_="plan.apply(), or remove it from loom-agent.toml and set it after the stack is created",
            )
    parameters, artifact = _artifact(request)
    properties = {
        "AgentRuntimeName": request.name,
        **{_capital(name): _property(name, value) for name, value in members.items() if name not in _UNCHANGED},
        "AgentRuntimeArtifact": artifact,
    }
    if "ProtocolConfiguration" in properties:  # the property is a string
        properties["ProtocolConfiguration"] = members["protocolConfiguration"]["serverProtocol"]
    if variables := members.get("environmentVariables"):
        properties["EnvironmentVariables"] = _variables(spec, variables, parameters)
    if request.tags:
        properties["Tags"] = dict(request.tags)
    resources: dict[str, Any] = {}
    if policy is not None:
        resources["Role"] = _role(policy, place, request.tags)
        properties["RoleArn"] = {"Fn::GetAtt": ["Role", "Arn"]}
    resources["Runtime"] = {"Type": "AWS::BedrockAgentCore::Runtime", "Properties": properties}
    conditions: dict[str, Any] = {}
    for endpoint in dict.fromkeys(spec.endpoints.values()):
        _add_endpoint(endpoint, resources, parameters, conditions, request.tags)
    triggers = agent_triggers(spec)
    resources |= trigger_resources(triggers, place, request.tags)
    content = {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": f"The agent {spec.name} on Amazon Bedrock AgentCore. Made by Loom.",
        "Parameters": parameters,
        **({"Conditions": conditions} if conditions else {}),
        "Resources": resources,
        "Outputs": _outputs(),
    }
    buckets = sorted({trigger.bucket for trigger in triggers if trigger.kind == OBJECTS})
    notes = tuple(_MISSING_IN_BUCKET.format(bucket) for bucket in buckets)
    return StackTemplate(content=content, capabilities=("CAPABILITY_IAM",) if policy or triggers else (), notes=notes)


def _artifact(request: RuntimeRequest) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters for the location of the code, and the property that uses them."""
    code = request.code
    if code.image:
        parameter = {"Type": "String", "Description": "The image, by its digest", "Default": code.image}
        return {"ImageUri": parameter}, {"ContainerConfiguration": {"ContainerUri": {"Ref": "ImageUri"}}}
    parameters = {
        "CodeBucket": {"Type": "String", "Description": "The bucket with the package", "Default": code.bucket},
        "CodeKey": {"Type": "String", "Description": "The package's key in the bucket", "Default": code.key},
    }
    configuration = {
        "Code": {"S3": {"Bucket": {"Ref": "CodeBucket"}, "Prefix": {"Ref": "CodeKey"}}},
        "EntryPoint": list(code.artifact()["codeConfiguration"]["entryPoint"]),
        "Runtime": code.python,
    }
    return parameters, {"CodeConfiguration": configuration}


def _variables(spec: AgentSpec, variables: Mapping[str, str], parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the environment variables; a value that looks like a secret becomes a parameter of the stack."""
    environment: dict[str, Any] = {}
    for name, value in variables.items():
        environment[name] = value
        if name not in spec.secrets and looks_like_secret(name, value):
            start = f"Variable{''.join(part.title() for part in name.split('_'))}"
            key = next(key for key in _numbered(start) if key not in parameters)
            parameters[key] = {"Type": "String", "NoEcho": True, "Description": f"The environment variable {name}"}
            environment[name] = {"Ref": key}
    return environment


def _numbered(start: str) -> Iterator[str]:
    """Yield a name, then the name with 2, 3 and so on."""
    yield start
    yield from (f"{start}{number}" for number in itertools.count(2))


def _role(policy: RolePolicy, place: AwsPlace, tags: Mapping[str, str]) -> dict[str, Any]:
    return {
        "Type": "AWS::IAM::Role",
        "Metadata": {"Reasons": {statement.sid: statement.reason for statement in policy.statements}},
        "Properties": {
            "Description": "The role of an agent on AgentCore; made by Loom",
            "AssumeRolePolicyDocument": portable(policy.trust, place),
            "Policies": [{"PolicyName": "loom", "PolicyDocument": portable(policy.document(), place)}],
            "Tags": tag_list(tags),
        },
    }


def _add_endpoint(
    name: str,
    resources: dict[str, Any],
    parameters: dict[str, Any],
    conditions: dict[str, Any],
    tags: Mapping[str, str],
) -> None:
    """Add an endpoint for the version in a parameter; if it is empty, for the version that the stack creates."""
    # Names may differ only in underscores and in case.
    starts = _numbered("".join(part.title() for part in name.split("_")))
    start = next(start for start in starts if f"{start}Version" not in parameters)
    parameters[f"{start}Version"] = {
        "Type": "String",
        "Default": "",
        "AllowedPattern": "([1-9][0-9]{0,4})?",
        "Description": f"The version of the endpoint {name}; empty for the newest",
    }
    conditions[f"Has{start}Version"] = {"Fn::Not": [{"Fn::Equals": [{"Ref": f"{start}Version"}, ""]}]}
    newest = {"Fn::GetAtt": ["Runtime", "AgentRuntimeVersion"]}
    resources[f"{start}Endpoint"] = {
        "Type": "AWS::BedrockAgentCore::RuntimeEndpoint",
        "Properties": {
            "AgentRuntimeId": {"Fn::GetAtt": ["Runtime", "AgentRuntimeId"]},
            "Name": name,
            "AgentRuntimeVersion": {"Fn::If": [f"Has{start}Version", {"Ref": f"{start}Version"}, newest]},
            **({"Tags": dict(tags)} if tags else {}),
        },
    }


def _outputs() -> dict[str, Any]:
    attributes = {"AgentArn": "AgentRuntimeArn", "AgentId": "AgentRuntimeId", "AgentVersion": "AgentRuntimeVersion"}
    return {name: {"Value": {"Fn::GetAtt": ["Runtime", attribute]}} for name, attribute in attributes.items()}


def _property(name: str, value: Any) -> Any:
    """Return a member of a request as a property: its names begin with capital letters."""
    if isinstance(value, Mapping):
        items = cast("Mapping[str, Any]", value)
        return {_capital(key): _property(key, item) for key, item in items.items()}
    if isinstance(value, list):
        return [_property(name, item) for item in cast("list[Any]", value)]
    return value


def _capital(name: str) -> str:
    return {"customJWTAuthorizer": "CustomJWTAuthorizer"}.get(name, name[:1].upper() + name[1:])
