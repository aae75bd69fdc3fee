"""The declaration of a resource, and its details from botocore's service model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from .naming import new_suffix, partition_of
from .records import ResourceRecord

_READY = ("READY", "ACTIVE", "AVAILABLE", "NOT_PREPARED", "PREPARED")
_FAILED = {"CREATING": ("CREATE_FAILED", "FAILED"), "UPDATING": ("UPDATE_FAILED", "UPDATE_UNSUCCESSFUL", "FAILED")}


@dataclass(frozen=True, kw_only=True)
class Resource:
    """One family of create, get, list, update and delete operations.

    Operation names, the member that names or identifies the resource, envelopes, list members and statuses come from
    botocore's service model, so most resources need only a noun and an ARN:

        GATEWAY = Resource(noun="Gateway", arn="gateway/{id}", id="{name}-{suffix}")

    Attributes:
        service: The service in the ARN.
        noun: The noun in the operations' names, such as `AgentRuntime` in `CreateAgentRuntime`.
        arn: The ARN after the account id, with `{id}`, `{name}` and `{parent}` (the parent's id) filled in.
        id: The id's form; `{suffix}` is ten random letters or digits.
        letters: Case of the letters in ids: "any", "lower" or "upper".
        unnamed: The form of the name of a resource that is created without one.
        parent: The resource below which this one is; its noun's id is in the request's path.
        aliases: Further wire names of the record's attributes, such as `{"endpointName": "name"}`.
        update: Whether an update changes only the members in the request or replaces all of them.
        versioned: Whether each update creates a version, listed by `List<noun>Versions`.
        partitioned: Whether the ARN names the region's partition; the model of some resources supports `aws` only.
        duplicate: Error code for a name that is already in use.
        duplicate_message: AWS's message for it, if known, with `{name}` filled in.
        summary_defaults: Default members of list items, for resources that do not have them.
        page_size: Items per page without `maxResults`.
        newest_first: Order of the list.
        presets: Resources that exist in every region and cannot be changed; `{partition}` and `{region}` in their ARNs
            are filled in.
        only_presets: Whether only the presets exist and others cannot be created.
    """

    noun: str
    arn: str
    service: str = "bedrock-agentcore"
    id: str = "{name}-{suffix}"
    letters: Literal["any", "lower", "upper"] = "any"
    unnamed: str = ""
    parent: Resource | None = None
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    update: Literal["merge", "replace"] = "merge"
    versioned: bool = False
    partitioned: bool = True
    duplicate: Literal["ConflictException", "ValidationException"] = "ConflictException"
    duplicate_message: str = ""
    summary_defaults: Mapping[str, Any] = field(default_factory=dict[str, Any])
    page_size: int = 100
    newest_first: bool = False
    presets: tuple[ResourceRecord, ...] = ()
    only_presets: bool = False

    @property
    def prefix(self) -> str:
        """The noun as the prefix of member names: `agentRuntime` in `agentRuntimeId`."""
        return self.noun[0].lower() + self.noun[1:]

    def presets_in(self, region: str) -> list[ResourceRecord]:
        """Return the presets as a client of a region sees them."""
        filled = {"partition": partition_of(region), "region": region}
        return [replace(preset, arn=preset.arn.format(**filled)) for preset in self.presets]

    def new_id(self, name: str) -> str:
        """Return a new id in this resource's form."""
        identity = self.id.format(name=name, suffix=new_suffix())
        return {"any": identity, "lower": identity.lower(), "upper": identity.upper()}[self.letters]

    def name_of(self, name: str | None) -> str:
        """Return the name of a new resource; it is generated if the request does not contain one."""
        return name or self.unnamed.format(suffix=new_suffix().lower())

    def arn_of(self, *, id: str, name: str, region: str, account_id: str, parent: ResourceRecord | None = None) -> str:
        """Return the ARN of a resource that a client of `region` creates.

        Args:
            id: The resource's id.
            name: The resource's name.
            region: The region, which also determines the partition.
            account_id: The account that owns the resource.
            parent: The resource that it belongs to.
        """
        partition = partition_of(region) if self.partitioned else "aws"
        path = self.arn.format(id=id, name=name, parent=parent.id if parent else "")
        return f"arn:{partition}:{self.service}:{region}:{account_id}:{path}"

    def response_members(self, record: ResourceRecord, parent: ResourceRecord | None) -> dict[str, Any]:
        """Return the record's members under all their names in the service model."""
        prefix = self.prefix
        members: dict[str, Any] = {
            **record.document,
            **dict.fromkeys(("id", f"{prefix}Id"), record.id),
            **dict.fromkeys(("arn", f"{prefix}Arn"), record.arn),
            **dict.fromkeys(("name", f"{prefix}Name"), record.name),
            **dict.fromkeys(("createdAt", "createdTime"), record.created_at),
            **dict.fromkeys(("updatedAt", "lastUpdatedAt", "lastUpdatedTime"), record.updated_at),
            **{alias: getattr(record, attribute) for alias, attribute in self.aliases.items()},
        }
        if record.status:
            members["status"] = record.status
        members["statusReasons"] = [record.failure] if record.failure else []
        if record.failure:
            members["failureReason"] = record.failure
        if self.versioned:
            members[f"{prefix}Version"] = str(record.version)
        if self.parent and parent:
            members |= {f"{self.parent.prefix}Id": parent.id, f"{self.parent.prefix}Arn": parent.arn}
        return members


@dataclass(frozen=True, slots=True, kw_only=True)
class Statuses:
    """The statuses that a resource passes through; "" if its model does not have one."""

    creating: str = ""
    updating: str = ""
    deleting: str = ""
    ready: str = ""
    failures: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(cls, values: list[str]) -> Statuses:
        """Choose from the values of a status enumeration."""

        def first(*names: str) -> str:
            return next((name for name in names if name in values), "")

        return cls(
            creating=first("CREATING"),
            updating=first("UPDATING"),
            deleting=first("DELETING"),
            ready=first(*_READY),
            failures={status: first(*names) for status, names in _FAILED.items()},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """A resource's operations and shapes in the service model.

    Attributes:
        operations: Operation names by verb: create, get, list, update, delete and versions.
        outputs: Members of a resource in each operation's output, by verb.
        envelopes: The member that wraps an output, by verb, if it has one.
        name: Request member of Create that names the resource.
        identifier: Request member of Get, Update and Delete that identifies it.
        by_name: Whether the identifier is the name rather than the id or the ARN.
        parent_identifier: Request member that identifies the parent; empty at the top.
        statuses: The statuses of the model's enumeration.
    """

    operations: Mapping[str, str]
    outputs: Mapping[str, tuple[str, ...]]
    envelopes: Mapping[str, str]
    name: str
    identifier: str
    by_name: bool
    parent_identifier: str
    statuses: Statuses


def bind(resource: Resource, model: Any) -> Binding:
    """Bind a resource to a botocore `ServiceModel`; verbs without an operation are left out."""
    noun = resource.noun
    plurals = (f"List{noun}s", f"List{noun}es", f"List{noun.removesuffix('y')}ies")
    candidates = {
        **{verb: (f"{verb.capitalize()}{noun}",) for verb in ("create", "get", "update", "delete")},
        "list": plurals,
        "versions": (f"List{noun}Versions",) if resource.versioned else (),
    }
    operation_names = set(model.operation_names)
    operations = {verb: name for verb, names in candidates.items() for name in names if name in operation_names}
    shapes = {verb: model.operation_model(name) for verb, name in operations.items()}
    envelopes = {verb: envelope for verb, shape in shapes.items() if (envelope := _envelope(verb, shape))}
    outputs = {verb: _members(shape, envelopes.get(verb)) for verb, shape in shapes.items()}
    labels = re.findall(r"{(\w+)}", shapes["get"].http["requestUri"])
    members: Mapping[str, Any] = shapes["create"].input_shape.members if "create" in shapes else {}
    name = f"{resource.prefix}Name" if f"{resource.prefix}Name" in members else "name"
    identifier = labels[-1] if labels else name
    status = _status(shapes["get"].output_shape, envelopes.get("get"), resource.prefix)
    return Binding(
        operations=operations,
        outputs=outputs,
        envelopes=envelopes,
        name=name,
        identifier=identifier,
        by_name=identifier.lower().endswith("name"),
        parent_identifier=labels[-2] if resource.parent else "",
        statuses=Statuses.of(status),
    )


def _envelope(verb: str, operation: Any) -> str:
    """Return the output member that wraps the resource or its list."""
    if operation.output_shape is None:
        return ""
    members: Mapping[str, Any] = operation.output_shape.members
    if verb in ("list", "versions"):
        return next(name for name, shape in members.items() if shape.type_name == "list")
    only = next(iter(members.items())) if len(members) == 1 else None
    return only[0] if only and only[1].type_name == "structure" else ""


def _members(operation: Any, envelope: str | None) -> tuple[str, ...]:
    """Return the members of an operation's output that belong to the resource."""
    if operation.output_shape is None:
        return ()
    members: Mapping[str, Any] = operation.output_shape.members
    if envelope:
        inner = members[envelope]
        members = (inner.member if inner.type_name == "list" else inner).members
    return tuple(members)


def _status(shape: Any, envelope: str | None, prefix: str) -> list[str]:
    members = shape.members[envelope].members if envelope else shape.members
    status = members.get("status") or members.get(f"{prefix}Status")
    return list(status.enum) if status is not None else []
