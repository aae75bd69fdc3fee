"""Hooks for resources that do more than store their parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .records import ResourceRecord


class ProvisioningError(Exception):
    """Creating or updating a resource failed; the message becomes its `failureReason`."""


@dataclass(slots=True, kw_only=True)
class Draft:
    """A create or update that is about to be stored; hooks replace `record` or add to `also`.

    Attributes:
        record: The record to store.
        parameters: The request's parameters, valid for the service model.
        former: The record before an update; None for a create.
        parent: The parent's record, if the resource has one.
        also: Further records to store in the same transaction.
    """

    record: ResourceRecord
    parameters: Mapping[str, Any]
    former: ResourceRecord | None = None
    parent: ResourceRecord | None = None
    also: list[ResourceRecord] = field(default_factory=list[ResourceRecord])


class Behaviour:
    """Hooks that the engine calls around an operation; by default they do nothing."""

    needs_provisioning = False
    """Whether creating and updating continue in the background, in `provision`."""

    async def before_create(self, draft: Draft) -> None:
        """Validate or complete a new resource. Raise `RefusedError` to reject it."""

    async def before_update(self, draft: Draft) -> None:
        """Validate or complete an update. Raise `RefusedError` to reject it."""

    async def provision(self, record: ResourceRecord) -> ResourceRecord:
        """Do the background work and return the record, whose status the engine then sets to ready.

        Raises:
            ProvisioningError: The work failed; the status becomes a failure.
        """
        return record

    def after_provision(self, record: ResourceRecord) -> Sequence[ResourceRecord]:
        """Return further records to store together with the provisioned one."""
        return ()

    async def before_delete(self, record: ResourceRecord, version: int | None) -> None:
        """Check that a resource, or one version of it, may be deleted. Raise `RefusedError` to reject it."""

    async def after_delete(self, record: ResourceRecord, version: int | None) -> None:
        """Release everything that a deleted resource, or one deleted version, used."""

    def is_listed(self, record: ResourceRecord, parameters: Mapping[str, Any]) -> bool:
        """Return whether a list operation shows a resource, for operations with their own filter parameters."""
        return True

    def members(self, record: ResourceRecord) -> Mapping[str, Any]:
        """Return members to add to responses; they take precedence over the stored document."""
        return {}
