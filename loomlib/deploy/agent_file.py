"""The file `loom-agent.toml` beside an agent's code: read into an `AgentSpec`, and written from one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from ..aws.authorizers import JwtAuthorizer
from ..errors import SettingsError
from ..jobs import whole_file
from ..redaction import SECRETS, redact
from ..redaction.secrets import is_secret_name
from ..toml_files import read_toml
from .spec import (
    PLATFORM_VERSIONS,
    RESOURCE_KINDS,
    AgentSpec,
    NetworkSpec,
    PlatformSpec,
    ResourceBinding,
    ResourceSpec,
    TriggerSpec,
    check_choice,
    check_variable,
)
from .toml_table import TomlTable

AGENT_FILE: Final = "loom-agent.toml"

_TABLES: Final = (
    "agent",
    "platform",
    "environment",
    "secrets",
    "resources",
    "network",
    "authorizer",
    "trigger",
    "tags",
    "endpoints",
)
_AGENT_KEYS: Final = ("name", "entry_point", "description", "protocol", "python", "build", "architecture")
_PLATFORM_KEYS: Final = ("version", "warmup", "idle_timeout_s", "max_lifetime_s", "storage")
_NETWORK_KEYS: Final = ("mode", "subnets", "security_groups")
_AUTHORIZER_KEYS: Final = ("discovery_url", "allowed_audience", "allowed_clients", "allowed_scopes")
_TRIGGER_KEYS: Final = ("schedule", "s3", "suffix", "prompt", "payload")
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_CONTROL: Final = re.compile(r"[\x7f-\x9f]")

T = TypeVar("T")


def find_agent_file(code: Path) -> Path | None:
    """Return the `loom-agent.toml` in an agent's folder, or beside its file; None if it does not exist."""
    file = (code if code.is_dir() else code.parent) / AGENT_FILE
    return file if file.is_file() else None


def read_agent_file(path: Path | str) -> AgentSpec:
    """Read a `loom-agent.toml`.

    Args:
        path: The file, or the folder that contains it.

    Raises:
        SettingsError: It cannot be read, has an unknown key or a value of another type, or a value that looks like a
            secret. The message names the key.
    """
    file = Path(path)
    file = file / AGENT_FILE if file.is_dir() else file
    return parse_agent(read_toml(file, "agent file"), str(file))


def parse_agent(document: Mapping[str, Any], where: str = AGENT_FILE) -> AgentSpec:
    """Return the `AgentSpec` of a parsed `loom-agent.toml`.

    Args:
        document: The parsed file.
        where: The file, for messages.

    Raises:
        SettingsError: A key is unknown, or a value has another type or looks like a secret.
    """
    root = TomlTable(document, "", where)
    root.check_keys(_TABLES)
    agent = root.table("agent", _AGENT_KEYS)
    if not agent.text("name"):
        raise SettingsError("The agent has no name", on=f"[agent] in {where}", try_='name = "support"')
    if (architecture := agent.text("architecture")) and architecture != "arm64":
        raise agent.error("architecture", "must be arm64, the only architecture that AgentCore supports")
    platform = root.table("platform", _PLATFORM_KEYS)
    network = root.table("network", _NETWORK_KEYS)
    environment = root.table("environment").texts()
    _check_no_secrets(environment, where)
    return root.create(
        "",
        lambda: AgentSpec(
            name=agent.text("name"),
            entry_point=agent.text("entry_point"),
            description=agent.text("description"),
            protocol=agent.text("protocol") or None,
            python=agent.text("python") or None,
            build=agent.text("build") or "code",
            platform=platform.create(
                "platform",
                lambda: _platform(platform),
            ),
            environment=environment,
            secrets=root.table("secrets").texts(),
            resources=_resources(root.table("resources", RESOURCE_KINDS)),
            network=network.create(
                "network",
                lambda: NetworkSpec(
                    mode=network.text("mode") or "PUBLIC",
                    subnets=network.list_of_texts("subnets"),
                    security_groups=network.list_of_texts("security_groups"),
                ),
            ),
            authorizer=_authorizer(root),
            triggers=tuple(_trigger(table) for table in root.tables("trigger", _TRIGGER_KEYS)),
            tags=root.table("tags").texts(),
            endpoints=root.table("endpoints").texts(),
        ),
    )


def agent_file_text(spec: AgentSpec) -> str:
    """Return the text of a `loom-agent.toml` that parses to `spec`.

    Raises:
        SettingsError: An environment variable's value looks like a secret, or the authorizer has rules about claims,
            which the file format does not support.
    """
    _check_no_secrets(spec.environment, AGENT_FILE)
    agent: dict[str, Any] = {
        "name": spec.name,
        "entry_point": spec.entry_point,
        "description": spec.description,
        "protocol": spec.protocol,
        "python": spec.python,
        "build": spec.build if spec.build != "code" else None,
    }
    platform = {name: getattr(spec.platform, name) for name in _PLATFORM_KEYS}
    network = {name: getattr(spec.network, name) for name in _NETWORK_KEYS} if spec.network.mode != "PUBLIC" else {}
    parts = [
        _table_text("[agent]", agent),
        _table_text("[platform]", platform),
        _table_text("[environment]", spec.environment, keep_empty=True),
        _table_text("[secrets]", spec.secrets),
        _table_text("[resources]", {kind: _bindings_value(spec.resources.of(kind)) for kind in RESOURCE_KINDS}),
        _table_text("[network]", network),
        _table_text("[authorizer]", _authorizer_values(spec.authorizer)),
        *(
            _table_text("[[trigger]]", {name: getattr(trigger, name) for name in _TRIGGER_KEYS})
            for trigger in spec.triggers
        ),
        _table_text("[tags]", spec.tags, keep_empty=True),
        _table_text("[endpoints]", spec.endpoints),
    ]
    return "\n".join(part for part in parts if part)


def write_agent_file(spec: AgentSpec, path: Path | str) -> Path:
    """Write a `loom-agent.toml` atomically, and return its path.

    Args:
        spec: The deployment.
        path: The file, or the folder to write it to.

    Raises:
        LoomError: It cannot be written, or the spec contains values that the file cannot contain (`agent_file_text`).
    """
    target = Path(path)
    target = target / AGENT_FILE if target.is_dir() else target
    text = agent_file_text(spec)
    with whole_file("The agent file", target, private=False) as file:
        file.write(text)
    return target


def looks_like_secret(name: str, value: str) -> bool:
    """Return whether the name or value of an environment variable looks like a secret."""
    if not value or value.startswith("arn:"):
        return False
    return is_secret_name(name) or bool(redact(value, SECRETS).found)


def _platform(table: TomlTable) -> PlatformSpec:
    version = table.text("version") or None
    check_choice("platform version", version, PLATFORM_VERSIONS)
    return PlatformSpec(
        version=version,
        warmup=table.text("warmup") or None,
        idle_timeout_s=table.whole_number("idle_timeout_s"),
        max_lifetime_s=table.whole_number("max_lifetime_s"),
        storage=table.text("storage") or None,
    )


def _bound(variable: str, resource: str) -> ResourceBinding:
    check_variable(variable)
    return ResourceBinding(resource=resource, variable=variable)


def _resources(table: TomlTable) -> ResourceSpec:
    return ResourceSpec(**{kind: _bindings(table, kind) for kind in RESOURCE_KINDS})


def _bindings(table: TomlTable, kind: str) -> tuple[ResourceBinding, ...]:
    """Return a list of resources, or a table of variables and the resource of each."""
    if table.is_table(kind):
        bound = table.table(kind).texts()
        return tuple(
            table.create(kind, lambda name=name, resource=resource: _bound(name, resource))
            for name, resource in bound.items()
        )
    return tuple(ResourceBinding(resource=resource) for resource in table.list_of_texts(kind))


def _authorizer(root: TomlTable) -> JwtAuthorizer | None:
    table = root.table("authorizer", _AUTHORIZER_KEYS)
    values = {key: table.list_of_texts(key) for key in _AUTHORIZER_KEYS[1:]}
    url = table.text("discovery_url")
    if not url:
        if any(values.values()):
            raise table.error("discovery_url", "is missing")
        return None
    return root.create(
        "authorizer",
        lambda: JwtAuthorizer(
            discovery_url=url,
            audience=values["allowed_audience"],
            clients=values["allowed_clients"],
            scopes=values["allowed_scopes"],
        ),
    )


def _trigger(table: TomlTable) -> TriggerSpec:
    return table.create(
        "trigger",
        lambda: TriggerSpec(
            schedule=table.text("schedule"),
            s3=table.text("s3"),
            suffix=table.text("suffix"),
            prompt=table.text("prompt"),
            payload=_json_ready(table),
        ),
    )


def _json_ready(table: TomlTable) -> Mapping[str, Any]:
    payload = table.mapping("payload")
    try:
        json.dumps(payload, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise table.error("payload", f"cannot be sent as JSON: {error}") from error
    return payload


def _check_no_secrets(environment: Mapping[str, str], where: str) -> None:
    for name, value in environment.items():
        if looks_like_secret(name, value):
            raise SettingsError(
                f"environment.{name} looks like a secret",
                on=where,
                try_=f'store it in Secrets Manager and reference it: [secrets] {name} = "its name or ARN"',
            )


def _authorizer_values(authorizer: JwtAuthorizer | None) -> dict[str, Any]:
    if authorizer is None:
        return {}
    if authorizer.claims:
        raise SettingsError(
            "An agent file cannot contain rules about claims",
            on=", ".join(authorizer.claims),
            try_="pass the authorizer to plan() or deploy() instead, without writing a file",
        )
    return {
        "discovery_url": authorizer.discovery_url,
        "allowed_audience": tuple(authorizer.audience),
        "allowed_clients": tuple(authorizer.clients),
        "allowed_scopes": tuple(authorizer.scopes),
    }


def _bindings_value(bindings: Sequence[ResourceBinding]) -> Any:
    """Return a list of resources, or a table when each has a variable."""
    if bindings and all(binding.variable for binding in bindings):
        return {binding.variable: binding.resource for binding in bindings}
    if unbound := [binding.resource for binding in bindings if binding.variable]:
        raise SettingsError(
            "Either all resources of one kind have a variable, or none of them has one",
            on=", ".join(unbound),
            try_="give each a variable",
        )
    return [binding.resource for binding in bindings]


def _table_text(header: str, values: Mapping[str, Any], *, keep_empty: bool = False) -> str:
    empty: tuple[Any, ...] = (None,) if keep_empty else (None, "", [], (), {})
    lines = [f"{_key(name)} = {_value(value)}" for name, value in values.items() if value not in empty]
    return "\n".join([header, *lines, ""]) if lines else ""


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _value(name)


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            # A basic TOML string is a JSON string, except for DEL and C1 characters, which have to be escaped.
            return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))
        case Mapping():
            members = cast("Mapping[str, Any]", value)
            return "{" + ", ".join(f"{_key(name)} = {_value(member)}" for name, member in members.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(_value(member) for member in cast("Sequence[Any]", value)) + "]"
        case int() | float():
            return repr(value)
        case _:
            raise TypeError(f"a {type(value).__name__} cannot be represented in TOML")
