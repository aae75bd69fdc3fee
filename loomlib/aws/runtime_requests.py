"""The requests that create and update a runtime, and what an update would change."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from .connection import Clients
from .errors import translated
from .runtime_settings import RuntimeSettings
from .runtimes import RuntimeDescription, described

HIDDEN: Final = "(not shown)"

_UNMANAGED: Final = (
    "requestHeaderConfiguration",
    "metadataConfiguration",
    "capacityProviderConfiguration",
    "allowedPorts",
    "resourceConfigurations",
)
"""Members of UpdateAgentRuntime without an option in Loom; an update keeps the values that another tool has set."""

_NAMES: Final[Mapping[str, str]] = {
    "agentRuntimeArtifact.codeConfiguration.code.s3.bucket": "code.bucket",
    "agentRuntimeArtifact.codeConfiguration.code.s3.prefix": "code.key",
    "agentRuntimeArtifact.codeConfiguration.code.s3.versionId": "code.version_id",
    "agentRuntimeArtifact.codeConfiguration.runtime": "agent.python",
    "agentRuntimeArtifact.codeConfiguration.entryPoint": "agent.entry_point",
    "agentRuntimeArtifact.containerConfiguration.containerUri": "code.image",
    "authorizerConfiguration.customJWTAuthorizer.discoveryUrl": "authorizer.discovery_url",
    "authorizerConfiguration.customJWTAuthorizer.allowedAudience": "authorizer.allowed_audience",
    "authorizerConfiguration.customJWTAuthorizer.allowedClients": "authorizer.allowed_clients",
    "authorizerConfiguration.customJWTAuthorizer.allowedScopes": "authorizer.allowed_scopes",
    "authorizerConfiguration.customJWTAuthorizer.customClaims": "authorizer.claims",
    "description": "agent.description",
    "filesystemConfigurations": "platform.storage",
    "hooksConfiguration.build.warmup.action.httpPost.path": "platform.warmup",
    "hooksConfiguration.build.warmup.action.httpPost.port": "platform.warmup_port",
    "lifecycleConfiguration.idleRuntimeSessionTimeout": "platform.idle_timeout_s",
    "lifecycleConfiguration.maxLifetime": "platform.max_lifetime_s",
    "networkConfiguration.networkMode": "network.mode",
    "networkConfiguration.networkModeConfig.securityGroups": "network.security_groups",
    "networkConfiguration.networkModeConfig.subnets": "network.subnets",
    "platformVersion": "platform.version",
    "protocolConfiguration.serverProtocol": "agent.protocol",
    "roleArn": "role",
}
"""Displayed name of a member: its key in `loom-agent.toml`, if it has one."""

_DEFAULTS: Final[Mapping[str, str]] = {
    "hooksConfiguration.build.warmup.action.httpPost.port": "8080",
    "lifecycleConfiguration.idleRuntimeSessionTimeout": "900",
    "lifecycleConfiguration.maxLifetime": "28800",
    "networkConfiguration.networkMode": "PUBLIC",
    "protocolConfiguration.serverProtocol": "HTTP",
}
"""Default values that AgentCore returns for settings that were not given."""


INSTRUMENT: Final = "opentelemetry-instrument"
"""The program that starts an agent with OpenTelemetry; AgentCore accepts it before the file to start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeCode:
    """A runtime's code: a zip file in S3, or a container image.

    Attributes:
        bucket: The zip file's bucket; "" for an image.
        key: The zip file's key.
        python: The interpreter as AgentCore names it, such as PYTHON_3_13.
        entry_point: The file to start, optionally prefixed with "opentelemetry-instrument ".
        image: The image's URI; "" for a zip file.
    """

    bucket: str = ""
    key: str = ""
    python: str = ""
    entry_point: str = ""
    image: str = ""

    def artifact(self) -> dict[str, Any]:
        """Return the `agentRuntimeArtifact` of a request."""
        if self.image:
            return {"containerConfiguration": {"containerUri": self.image}}
        script = self.entry_point.removeprefix(f"{INSTRUMENT} ")
        return {
            "codeConfiguration": {
                "code": {"s3": {"bucket": self.bucket, "prefix": self.key}},
                "runtime": self.python,
                "entryPoint": [INSTRUMENT, script] if script != self.entry_point else [script],
            }
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeRequest:
    """The desired settings of a runtime.

    Attributes:
        name: Its name.
        code: Its code.
        role_arn: The role that its sessions run as.
        environment: Its environment variables.
        description: Its description.
        settings: Its further settings.
        tags: The tags to set when it is created.
    """

    name: str
    code: RuntimeCode
    role_arn: str
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    description: str = ""
    settings: RuntimeSettings = field(default_factory=RuntimeSettings)
    tags: Mapping[str, str] = field(default_factory=dict[str, str])

    def members(self) -> dict[str, Any]:
        """Return the members that CreateAgentRuntime and UpdateAgentRuntime share."""
        members: dict[str, Any] = {
            "agentRuntimeArtifact": self.code.artifact(),
            "roleArn": self.role_arn,
            **self.settings.members(),
        }
        if self.environment:
            members["environmentVariables"] = dict(self.environment)
        if self.description:
            members["description"] = self.description
        return members


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    """A setting that an update changes; "" means none. Values of environment variables are not shown."""

    setting: str
    before: str
    after: str


def create_runtime(clients: Clients, request: RuntimeRequest) -> str:
    """Create a runtime and return its id; it becomes READY later (`wait_until_ready`).

    Args:
        clients: The AWS clients of a connection.
        request: The runtime.

    Raises:
        ConflictError: The account already has a runtime with that name.
        AwsError: AgentCore rejects the request.
    """
    members = request.members() | ({"tags": dict(request.tags)} if request.tags else {})
    with translated("Creating the runtime", on=request.name):
        return str(clients.control().create_agent_runtime(agentRuntimeName=request.name, **members)["agentRuntimeId"])


def update_runtime(clients: Clients, runtime_id: str, request: RuntimeRequest) -> None:
    """Create a new version of a runtime; it becomes READY later. Settings without an option in Loom are unchanged.

    Args:
        clients: The AWS clients of a connection.
        runtime_id: The runtime.
        request: The desired settings; its name and tags are ignored.

    Raises:
        AwsError: AgentCore rejects the request.
    """
    control = clients.control()
    with translated("Reading the runtime", on=runtime_id):
        answer: dict[str, Any] = control.get_agent_runtime(agentRuntimeId=runtime_id)
    unmanaged = {name: answer[name] for name in _UNMANAGED if answer.get(name)}
    with translated("Updating the runtime", on=runtime_id):
        control.update_agent_runtime(agentRuntimeId=runtime_id, **unmanaged, **request.members())


def restore_version(clients: Clients, runtime_id: str, version: str) -> None:
    """Create a new version of a runtime that equals an earlier one; it becomes READY later.

    Args:
        clients: The AWS clients of a connection.
        runtime_id: The runtime.
        version: The number of the earlier version.

    Raises:
        AwsError: There is no such version, or AgentCore rejects the request.
    """
    control = clients.control()
    with translated("Reading a version of the runtime", on=f"{runtime_id}, version {version}"):
        answer: dict[str, Any] = control.get_agent_runtime(agentRuntimeId=runtime_id, agentRuntimeVersion=version)
    accepted = control.meta.service_model.operation_model("UpdateAgentRuntime").input_shape.members
    members = {name: value for name, value in answer.items() if name in accepted and name != "agentRuntimeId"}
    if not str(members.get("description") or "").strip():
        members.pop("description", None)
    with translated("Restoring a version of the runtime", on=f"{runtime_id}, version {version}"):
        control.update_agent_runtime(agentRuntimeId=runtime_id, **members)


def runtime_changes(
    clients: Clients, runtime_id: str, request: RuntimeRequest
) -> tuple[RuntimeDescription, tuple[SettingChange, ...]]:
    """Return a runtime's current state, and the changes that an update to `request` would make.

    Args:
        clients: The AWS clients of a connection.
        runtime_id: The runtime.
        request: The desired settings.

    Raises:
        ResourceNotFoundError: There is no such runtime.
    """
    with translated("Reading the runtime", on=runtime_id):
        answer: dict[str, Any] = clients.control().get_agent_runtime(agentRuntimeId=runtime_id)
    members = request.members()
    if "platformVersion" not in members:  # an update without it keeps the runtime's value
        answer.pop("platformVersion", None)
    before = dict(_leaves({name: answer.get(name) for name in _managed(answer)}))
    after = dict(_leaves(members))
    changes = [
        SettingChange(setting=_NAMES.get(path, path), before=before.get(path, ""), after=after.get(path, ""))
        for path in dict.fromkeys((*after, *before))
        if before.get(path, "") != after.get(path, "")
    ]
    changes += _variable_changes(answer.get("environmentVariables") or {}, request.environment)
    return described(answer, runtime_id), tuple(changes)


def _managed(answer: Mapping[str, Any]) -> list[str]:
    names = {path.partition(".")[0] for path in _NAMES}
    return [name for name in answer if name in names]


def _variable_changes(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[SettingChange]:
    for name in sorted({*before, *after}):
        if before.get(name) != after.get(name):
            yield SettingChange(
                setting=f"environment.{name}",
                before=HIDDEN if name in before else "",
                after=HIDDEN if name in after else "",
            )


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the leaves of a request or description by their path, without default values."""
    if path == "environmentVariables":
        return
    if isinstance(value, Mapping):
        for name, member in cast("Mapping[str, Any]", value).items():
            yield from _leaves(member, f"{path}.{name}" if path else name)
        return
    if isinstance(value, list | tuple):
        between = " " if path.endswith(".entryPoint") else ", "
        text = between.join(_item(path, item) for item in cast("list[Any]", value))
    else:
        text = "" if value is None or value is False else str(value).strip()
    if text and _DEFAULTS.get(path) != text:
        yield path, text


def _item(path: str, item: Any) -> str:
    if path == "filesystemConfigurations" and isinstance(item, Mapping):
        mount: object = cast("Mapping[str, Any]", item).get("sessionStorage")
        if isinstance(mount, Mapping):
            return str(cast("Mapping[str, Any]", mount).get("mountPath", "")).rstrip("/")
    return item if isinstance(item, str) else json.dumps(item, sort_keys=True, default=str)
