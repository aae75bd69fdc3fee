"""A declared resource for the engine, with the errors and responses that follow from its declaration."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..tenancy import sees_resource
from ..wire import RefusedError, conflict, invalid
from .behaviour import Behaviour
from .declaration import Binding, Resource
from .records import ResourceRecord

Parameters = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Family:
    """A declared resource with its hooks and its binding to the service model."""

    resource: Resource
    behaviour: Behaviour
    binding: Binding

    @property
    def kind(self) -> str:
        """The resource's noun in the service model, such as `AgentRuntime`."""
        return self.resource.noun

    def is_provisioning(self, record: ResourceRecord) -> bool:
        """Return whether background work on a record is unfinished."""
        statuses = self.binding.statuses
        return self.behaviour.needs_provisioning and record.status in (statuses.creating, statuses.updating)

    def during(self, step: Literal["creating", "updating", "deleting"], record: ResourceRecord) -> ResourceRecord:
        """Return the record with the status that AWS's responses show during a step."""
        return replace(record, status=getattr(self.binding.statuses, step) or record.status)

    def document(self, parameters: Parameters) -> dict[str, Any]:
        """Return the parameters that describe the resource, without its identifiers and the client token."""
        binding = self.binding
        apart = {"clientToken", "tags", binding.name, binding.identifier, binding.parent_identifier}
        return {name: value for name, value in parameters.items() if name not in apart and value is not None}

    def wanted_version(self, parameters: Parameters) -> int | None:
        """Return the version that a request names, if any."""
        version = parameters.get(f"{self.resource.prefix}Version") if self.resource.versioned else None
        return int(version) if version else None

    def name_taken(self, record: ResourceRecord) -> RefusedError:
        """Return the error for a name that another record already has."""
        message = f"{sentence_noun(self.kind)} with name {record.name} already exists"
        # The name is taken for all tenants, but other tenants do not see by which resource.
        if sees_resource(record.tenant):
            message = f"{message}: {record.id}"
        message = self.resource.duplicate_message.format(name=record.name) or message
        return self._duplicate(message, "ResourceConflict")

    def check_token(self, record: ResourceRecord, verb: str, digest: str) -> None:
        """Reject a client token reused with other parameters; an older release's digest matches any."""
        former = record.tokens[verb][1]
        if former and former != digest:
            raise self._duplicate(
                "clientToken was used already, with other parameters", "IdempotentParameterMismatchException"
            )

    def members(self, verb: str, record: ResourceRecord, parent: ResourceRecord | None) -> dict[str, Any]:
        """Return a record's members in the response of a verb."""
        members = {**self.resource.response_members(record, parent), **self.behaviour.members(record)}
        if verb in ("list", "versions"):
            members = {**self.resource.summary_defaults, **members}
        return {name: members[name] for name in self.binding.outputs[verb] if name in members}

    def _duplicate(self, message: str, reason: str) -> RefusedError:
        return conflict(message) if self.resource.duplicate == "ConflictException" else invalid(message, reason)


def sentence_noun(noun: str) -> str:
    """Return `AgentRuntime` as `Agent runtime`."""
    spaced = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in noun).strip()
    return spaced.capitalize()


def digest_of(parameters: Parameters) -> str:
    """Return a digest of a request's parameters without its client token."""
    content = {name: value for name, value in parameters.items() if name != "clientToken"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
