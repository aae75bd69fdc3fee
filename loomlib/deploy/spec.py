"""The configuration of an agent's deployment: the values of `loom-agent.toml`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ..aws.authorizers import JwtAuthorizer

PROTOCOLS: Final = ("HTTP", "MCP", "A2A", "AGUI")
BUILDS: Final = ("code", "container")
PYTHONS: Final = ("3.10", "3.11", "3.12", "3.13", "3.14")
"""Versions of Python that AgentCore's direct code deployment starts."""
PLATFORM_VERSIONS: Final = ("V1", "V2")
NETWORK_MODES: Final = ("PUBLIC", "VPC")
RESOURCE_KINDS: Final = (
    "models",
    "functions",
    "knowledge_bases",
    "guardrails",
    "memories",
    "gateways",
    "code_interpreters",
    "browsers",
    "buckets",
    "agents",
)

_NAME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9_]{0,47}")
_VARIABLE: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformSpec:
    """How AgentCore runs the sessions; None leaves a setting to AgentCore.

    Attributes:
        version: "V1" boots each session; "V2" restores it from a snapshot of the version.
        warmup: Path that is called once, with an empty POST, before the snapshot is taken (V2 only).
        idle_timeout_s: Seconds after which an idle session ends.
        max_lifetime_s: Seconds after which a session ends in any case.
        storage: Folder below /mnt that persists when a session is stopped.
    """

    version: str | None = None
    warmup: str | None = None
    idle_timeout_s: int | None = None
    max_lifetime_s: int | None = None
    storage: str | None = None

    def __post_init__(self) -> None:
        for name, value in (("idle_timeout_s", self.idle_timeout_s), ("max_lifetime_s", self.max_lifetime_s)):
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1 second, not {value}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceBinding:
    """A resource that the agent uses.

    Attributes:
        resource: Its id, name or ARN; for a bucket "bucket" or "bucket/prefix".
        variable: The environment variable that contains the resource's id, or "" for none.
    """

    resource: str
    variable: str = ""

    def __post_init__(self) -> None:
        if not self.resource:
            raise ValueError("a resource has no id, name or ARN")
        if self.variable:
            check_variable(self.variable)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSpec:
    """The resources that the agent uses. Its role has permissions for exactly these.

    Attributes:
        models: Model ids, inference profiles or their ARNs.
        functions: Lambda functions.
        knowledge_bases: Knowledge bases.
        guardrails: Guardrails.
        memories: AgentCore memories.
        gateways: AgentCore gateways.
        code_interpreters: AgentCore code interpreters.
        browsers: AgentCore browsers.
        buckets: S3 buckets, or prefixes in them.
        agents: Other runtimes that the agent invokes.
    """

    models: tuple[ResourceBinding, ...] = ()
    functions: tuple[ResourceBinding, ...] = ()
    knowledge_bases: tuple[ResourceBinding, ...] = ()
    guardrails: tuple[ResourceBinding, ...] = ()
    memories: tuple[ResourceBinding, ...] = ()
    gateways: tuple[ResourceBinding, ...] = ()
    code_interpreters: tuple[ResourceBinding, ...] = ()
    browsers: tuple[ResourceBinding, ...] = ()
    buckets: tuple[ResourceBinding, ...] = ()
    agents: tuple[ResourceBinding, ...] = ()

    def of(self, kind: str) -> tuple[ResourceBinding, ...]:
        """Return the resources of a kind, one of `RESOURCE_KINDS`."""
        if kind not in RESOURCE_KINDS:
            raise ValueError(f"{kind!r} is not a kind of resource; choose one of: {', '.join(RESOURCE_KINDS)}")
        bindings: tuple[ResourceBinding, ...] = getattr(self, kind)
        return bindings


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSpec:
    """The network of the agent's sessions.

    Attributes:
        mode: "PUBLIC" or "VPC".
        subnets: Ids of subnets, for "VPC".
        security_groups: Ids of security groups, for "VPC".
    """

    mode: str = "PUBLIC"
    subnets: tuple[str, ...] = ()
    security_groups: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_choice("network mode", self.mode, NETWORK_MODES)
        if self.mode == "VPC" and not (self.subnets and self.security_groups):
            raise ValueError("the network mode VPC needs subnets and security_groups")
        if self.mode == "PUBLIC" and (self.subnets or self.security_groups):
            raise ValueError("subnets and security_groups require the network mode VPC")


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerSpec:
    """An automatic trigger of the agent: a schedule, or new objects in S3.

    Attributes:
        schedule: "rate(1 day)" or "cron(…)", in EventBridge Scheduler's syntax; "" for S3.
        s3: "bucket" or "bucket/prefix" whose new objects invoke the agent; "" for a schedule.
        suffix: End of the names of the objects, such as ".pdf".
        prompt: The prompt that is sent.
        payload: The payload that is sent instead of a prompt.
    """

    schedule: str = ""
    s3: str = ""
    suffix: str = ""
    prompt: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        if bool(self.schedule) == bool(self.s3):
            raise ValueError("a trigger needs either schedule or s3")
        if self.suffix and not self.s3:
            raise ValueError("suffix applies only to a trigger with s3")
        if self.prompt and self.payload:
            raise ValueError("a trigger has a prompt or a payload, not both")
        if self.schedule and not (self.prompt or self.payload):
            raise ValueError("a schedule needs a prompt or a payload")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSpec:
    """An agent's deployment, as `loom-agent.toml` describes it. It contains no secrets.

    Attributes:
        name: The runtime's name: a letter, then letters, digits and underscores, at most 48 characters.
        entry_point: The file that starts the agent, relative to its folder; "" for agent.py, main.py or app.py.
        description: The runtime's description.
        protocol: The protocol of the agent's server, one of `PROTOCOLS`; None for AgentCore's default, HTTP.
        python: The version of Python; None for 3.13 on AWS, and for this interpreter's on the local AgentCore.
        build: "code" for a zip file in S3, "container" for an image in ECR.
        platform: How AgentCore runs the sessions.
        environment: Environment variables of the agent.
        secrets: Environment variables that refer to a secret: its ARN or name in Secrets Manager, or "ssm:/parameter".
            The agent reads the secret itself.
        resources: The resources that the agent uses.
        network: The network of the agent's sessions.
        authorizer: The issuer whose bearer tokens are accepted; None for signed requests.
        triggers: The automatic triggers of the agent.
        tags: Tags of everything that the deployment creates.
        endpoints: Name of the endpoint of each environment, such as `{"prod": "prod"}`.
    """

    name: str
    entry_point: str = ""
    description: str = ""
    protocol: str | None = None
    python: str | None = None
    build: str = "code"
    platform: PlatformSpec = field(default_factory=PlatformSpec)
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])
    resources: ResourceSpec = field(default_factory=ResourceSpec)
    network: NetworkSpec = field(default_factory=NetworkSpec)
    authorizer: JwtAuthorizer | None = None
    triggers: tuple[TriggerSpec, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    endpoints: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(
                f"{self.name!r} is not a valid runtime name: use a letter, then letters, digits and underscores, "
                "at most 48 characters"
            )
        check_choice("protocol", self.protocol, PROTOCOLS)
        check_choice("version of Python", self.python, PYTHONS)
        check_choice("build", self.build, BUILDS)
        self._check_variables()
        for name in self.tags:
            if name.startswith(("loom:", "aws:")):
                raise ValueError(f"the tag {name} is reserved: your own tags must not begin with loom: or aws:")
        for endpoint in self.endpoints.values():
            if not _NAME.fullmatch(endpoint) or endpoint == "DEFAULT":
                raise ValueError(
                    f"{endpoint!r} is not a valid endpoint name: use a letter, then letters, digits and underscores, "
                    "at most 48 characters, not DEFAULT"
                )

    def bindings(self) -> tuple[tuple[str, ResourceBinding], ...]:
        """Return the resources with the kind of each, in the order of `RESOURCE_KINDS`."""
        return tuple((kind, binding) for kind in RESOURCE_KINDS for binding in self.resources.of(kind))

    def _check_variables(self) -> None:
        bound = [binding.variable for _, binding in self.bindings() if binding.variable]
        names = [*self.environment, *self.secrets, *bound]
        for name in names:
            check_variable(name)
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"{', '.join(twice)} is given a value more than once")


def check_variable(name: str) -> None:
    """Raise `ValueError` if `name` is not a valid name of an environment variable."""
    if not _VARIABLE.fullmatch(name):
        raise ValueError(
            f"{name!r} is not a valid name of an environment variable: use letters, digits and underscores, "
            "not starting with a digit"
        )


def check_choice(noun: str, value: str | None, choices: tuple[str, ...]) -> None:
    """Raise `ValueError` if a value is given that is not one of the choices."""
    if value is not None and value not in choices:
        raise ValueError(f"{value!r} is not a valid {noun}; choose one of: {', '.join(choices)}")
