"""One stored resource, or one version of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from .naming import Place, place_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRecord:
    """A resource as it is stored.

    Attributes:
        kind: The resource's noun in the service model, such as `AgentRuntime`.
        region: Region of the client that created it; empty for a resource that every region has.
        parent: ARN of the parent resource; empty at the top.
        tenant: The tenant of the caller that created it; empty if it is shared by all.
        version: Number of the newest version; 0 if the resource has no versions.
        failure: The reason for a failure status, otherwise empty (`failureReason`).
        document: The members from requests, by their names in the API.
        internal: Further data that the service stores and never returns.
        tokens: Client token and digest of the parameters for `create` and `update`; an empty digest is unknown.
        number: Order of creation, assigned by the store.
    """

    kind: str
    region: str
    parent: str = ""
    id: str
    name: str
    arn: str
    version: int = 0
    status: str = ""
    failure: str = ""
    document: Mapping[str, Any] = field(repr=False)
    internal: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    tokens: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]], repr=False)
    created_at: datetime
    updated_at: datetime
    number: int = 0
    tenant: str = ""

    @property
    def place(self) -> Place:
        """The region and the account that it is in."""
        return Place(self.region, place_of(self.arn).account_id)
