"""A role that belongs to one agent: Loom changes only roles that have the agent's tag."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...aws import Clients
from ...aws.roles import (
    RoleDescription,
    create_role,
    delete_role,
    describe_role,
    put_role_policy,
    put_role_trust,
    tag_role,
)
from ...errors import DeployError
from ..journal import DeployJournal, Intent
from ..names import AGENT_TAG, agent_tags
from ..policies import AwsPlace
from ..spec import AgentSpec
from .part import Report


class AgentRole:
    """Reads, writes and restores a role of an agent.

    Args:
        clients: The AWS clients of a connection.
        spec: The agent's configuration.
        kind: The role's designation in reports and in the journal.
        name: The role's name.
    """

    def __init__(self, clients: Clients, spec: AgentSpec, kind: str, name: str) -> None:
        self._clients, self._spec, self._kind, self._name = clients, spec, kind, name

    @property
    def arn(self) -> str:
        """The role's ARN, even before the role exists."""
        place = AwsPlace(account=self._clients.account_id(), region=self._clients.region)
        return place.arn("iam", f"role/{self._name}", region="")

    def find(self, failure: str, try_: Callable[[RoleDescription], str]) -> RoleDescription | None:
        """Return the role; None before it exists.

        Args:
            failure: The message if another role has the name.
            try_: The advice in that case.

        Raises:
            DeployError: The name belongs to a role that Loom did not make for this agent.
        """
        role = describe_role(self._clients, self._name)
        if role is not None and role.tags.get(AGENT_TAG) != self._spec.name:
            raise DeployError(failure, on=self._name, try_=try_(role))
        return role

    def put(
        self,
        role: RoleDescription | None,
        journal: DeployJournal,
        *,
        trust: Mapping[str, Any],
        policy: Mapping[str, Any],
        description: str,
    ) -> None:
        """Create the role, or replace its trust and permissions.

        Args:
            role: The role as `find` returned it.
            journal: Records the change before it is made.
            trust: Who may assume it.
            policy: Its permissions.
            description: The description of a new role.
        """
        tags = agent_tags(self._spec)
        if role is None:
            journal.add(Intent(kind=self._kind, name=self._name, action="create"))
            create_role(self._clients, self._name, trust=trust, description=description, tags=tags)
        else:
            before = {"trust": role.trust, "policy": role.policy, "tags": role.tags}
            journal.add(Intent(kind=self._kind, name=self._name, action="change", before=before))
            if role.trust != trust:
                put_role_trust(self._clients, self._name, trust)
            if not tags.items() <= role.tags.items():
                tag_role(self._clients, self._name, tags)
        put_role_policy(self._clients, self._name, policy)

    def undo(self, intent: Intent, report: Report) -> str:
        """Delete the role, or restore its trust and permissions.

        Args:
            intent: The recorded change.
            report: Called with a line of progress.

        Returns:
            A sentence about what was done; empty if the role does not exist.
        """
        role = describe_role(self._clients, intent.name)
        if role is None:
            return ""
        if role.tags.get(AGENT_TAG) != self._spec.name:
            return f"kept the role {intent.name}, which Loom did not create"
        if intent.action == "create":
            report(f"deleting the {self._kind}")
            delete_role(self._clients, intent.name)
            return f"deleted the role {intent.name}"
        report(f"restoring the {self._kind}")
        put_role_trust(self._clients, intent.name, intent.before["trust"])
        put_role_policy(self._clients, intent.name, intent.before["policy"])
        return f"restored the role {intent.name}"
