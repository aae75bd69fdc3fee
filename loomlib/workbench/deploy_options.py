"""The input of `bench.plan` and `bench.deploy`: an agent's code, its `loom-agent.toml`, and overriding options."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypedDict

from ..aws.authorizers import JwtAuthorizer
from ..aws.packages import runtime_name
from ..deploy.agent_file import find_agent_file, read_agent_file
from ..deploy.building import BuiltPackage
from ..deploy.costs import UseAssumptions
from ..deploy.deployment import OWN_ROLE, DeployInput
from ..deploy.spec import AgentSpec, PlatformSpec, ResourceBinding
from .bench_identity import BenchIdentity
from .bench_memories import Memories, memory_variables
from .blueprints import Blueprint, find_blueprint, find_code
from .context import Context
from .memory import Memory


class DeployOptions(TypedDict, total=False):
    """The options of `bench.plan` and `bench.deploy`, which override those of a `loom-agent.toml`."""

    name: str | None
    environment: Mapping[str, str] | None
    memory: Memory | str | None
    platform_version: str | None
    warmup: str | None
    idle_timeout_s: int | None
    max_lifetime_s: int | None
    protocol: str | None
    storage: str | None
    authorizer: JwtAuthorizer | Literal["local"] | None
    role: str | None
    assumptions: UseAssumptions | None
    progress: Callable[[str], None] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSource:
    """An agent's code and how it is to be deployed.

    Attributes:
        code: The folder or file.
        spec: The deployment.
        file: Its `loom-agent.toml`, or None.
        variables: Environment variables in addition to the spec's; they are neither shown nor stored.
        is_blueprint: Whether the code is a blueprint's, beside which nothing is written.
    """

    code: Path
    spec: AgentSpec
    file: Path | None
    variables: Mapping[str, str]
    is_blueprint: bool = False


def read_source(context: Context, source: str | Path, options: DeployOptions) -> AgentSource:
    """Return an agent's code and how it is to be deployed.

    Args:
        context: The workbench's resources.
        source: A blueprint's name, or the path of an `agent.py`, which is deployed alone, or of its folder.
        options: Options that override the agent's file.

    Raises:
        LoomError: There is nothing to deploy under that name or path, or its `loom-agent.toml` is invalid.
    """
    blueprint = find_blueprint(source) if isinstance(source, str) else None
    code = blueprint.folder if blueprint else find_code(source)
    file = find_agent_file(code)
    spec = read_agent_file(file) if file else AgentSpec(name=_default_name(code, blueprint))
    if code.is_file() and spec.entry_point not in ("", code.name):
        spec = replace(spec, entry_point="")  # the file is deployed alone
    name = options.get("name") or spec.name
    variables = dict(options.get("environment") or {})
    memory = options.get("memory")
    resources = spec.resources
    if memory is not None:
        opened = Memories(context).get(memory) if isinstance(memory, str) else memory
        variables = {**memory_variables(opened, name), **variables}
        role, names_resources = options.get("role"), bool(spec.bindings() or spec.secrets)
        if context.where == "aws" or role == OWN_ROLE or (role is None and names_resources):  # a role has to allow it
            resources = replace(resources, memories=(*resources.memories, ResourceBinding(resource=opened.id)))
    spec = replace(
        spec,
        name=name,
        protocol=options.get("protocol") or spec.protocol or (blueprint.non_http_protocol if blueprint else None),
        platform=_platform(spec.platform, options),
        authorizer=_authorizer(context, options) or spec.authorizer,
        resources=resources,
    )
    return AgentSource(code=code, spec=spec, file=file, variables=variables, is_blueprint=blueprint is not None)


def deploy_input(source: AgentSource, built: BuiltPackage, options: DeployOptions) -> DeployInput:
    """Return the input of a deployment.

    Args:
        source: The agent's code and how it is to be deployed.
        built: Its package.
        options: Options that override the agent's file.
    """
    return DeployInput(
        spec=source.spec,
        package=built.package,
        code=source.code,
        variables=source.variables,
        role=options.get("role"),
        assumptions=options.get("assumptions") or UseAssumptions(),
        notes=built.notes,
        is_from_file=source.file is not None,
    )


def _default_name(code: Path, blueprint: Blueprint | None) -> str:
    own = code.stem if code.name not in ("agent.py", "main.py") else code.absolute().parent.name
    return runtime_name(blueprint.name if blueprint else own or os.path.basename(code.absolute()))


def _platform(platform: PlatformSpec, options: DeployOptions) -> PlatformSpec:
    overrides: dict[str, Any] = {
        "version": options.get("platform_version"),
        "warmup": options.get("warmup"),
        "idle_timeout_s": options.get("idle_timeout_s"),
        "max_lifetime_s": options.get("max_lifetime_s"),
        "storage": options.get("storage"),
    }
    return replace(platform, **{name: value for name, value in overrides.items() if value is not None})


def _authorizer(context: Context, options: DeployOptions) -> JwtAuthorizer | None:
    authorizer = options.get("authorizer")
    return BenchIdentity(context).authorizer() if authorizer == "local" else authorizer
