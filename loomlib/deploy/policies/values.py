"""A role's policy, with the reason for each of its statements, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

LONGEST_INLINE_POLICY: Final = 10_240
"""Largest size of a role's inline policies, in characters without white space (an IAM quota)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsPlace:
    """The account and region that an agent is deployed to.

    Attributes:
        account: The account's id.
        region: The region.
    """

    account: str
    region: str

    @property
    def partition(self) -> str:
        """The partition of ARNs in this region, such as `aws`."""
        starts = {"cn-": "aws-cn", "us-gov-": "aws-us-gov", "eusc-": "aws-eusc"}
        return next((name for start, name in starts.items() if self.region.startswith(start)), "aws")

    def arn(self, service: str, resource: str, *, account: str | None = None, region: str | None = None) -> str:
        """Return the ARN of a resource here.

        Args:
            service: The service, as ARNs name it.
            resource: The resource part of the ARN.
            account: Another account, or "" for a resource without an account.
            region: Another region, or "" for a resource without a region.
        """
        where = self.region if region is None else region
        owner = self.account if account is None else account
        return f"arn:{self.partition}:{service}:{where}:{owner}:{resource}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownResources:
    """Data about named resources that was read from the account.

    Attributes:
        ids: The id or ARN of a resource, by its kind and name: `{("memories", "support"): "support-1a2B3c4D5e"}`.
        profile_models: The ARNs of the foundation models behind each inference profile, by its id or ARN.
    """

    ids: Mapping[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    profile_models: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleStatement:
    """A statement that allows actions on resources.

    Attributes:
        sid: Its name in the document.
        actions: The actions.
        resources: The ARNs; `*` only for actions that do not require a resource.
        condition: IAM's operators with their keys and values.
        reason: Why the agent needs it and, if applicable, why a resource is not an exact ARN.
        places: Files and lines of the code, and tables of loom-agent.toml, that require it.
    """

    sid: str
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    condition: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    reason: str
    places: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return the statement in IAM's format."""
        content: dict[str, Any] = {
            "Sid": self.sid,
            "Effect": "Allow",
            "Action": list(self.actions),
            "Resource": list(self.resources),
        }
        if self.condition:
            content["Condition"] = {operator: dict(keys) for operator, keys in self.condition.items()}
        return content


@dataclass(frozen=True, slots=True, kw_only=True)
class UnresolvedPermission:
    """A permission that the agent may need but is not granted, because the resource is not known.

    Attributes:
        place: The file and line, or the table of loom-agent.toml.
        what: What is not known.
        try_: How to determine it.
    """

    place: str
    what: str
    try_: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RolePolicy:
    """The permissions and the trust policy of an agent's role.

    Attributes:
        statements: Its permissions.
        trust: The role's trust policy, in IAM's format.
        unresolved: Permissions that need your decision; they are not granted.
        notes: Optional resources that are not configured, for which permissions are not granted.
    """

    statements: tuple[RoleStatement, ...]
    trust: Mapping[str, Any]
    unresolved: tuple[UnresolvedPermission, ...] = ()
    notes: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return the policy in IAM's format."""
        return {"Version": "2012-10-17", "Statement": [statement.document() for statement in self.statements]}

    def actions(self) -> tuple[str, ...]:
        """Return all actions of the policy, sorted."""
        return tuple(sorted({action for statement in self.statements for action in statement.actions}))
