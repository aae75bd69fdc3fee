"""A role that a service uses for the agent: for builds of its image, its schedules and its functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
from ...aws.runtime_requests import SettingChange
from ...errors import DeployError
from ..journal import DeployJournal, Intent
from ..names import AGENT_TAG, agent_tags
from ..spec import AgentSpec
from ..steps import PlanStep
from .part import Report


class ServiceRolePart:
    """A role that a service of AWS uses for one agent.

    Args:
        clients: The connection.
        spec: The agent's configuration.
        kind: What the role is for, such as "role of builds".
        name: The role's name.
        trust: Who may assume it.
        policy: What it may do.
    """

    def __init__(
        self,
        clients: Clients,
        spec: AgentSpec,
        kind: str,
        name: str,
        *,
        trust: Mapping[str, Any],
        policy: Mapping[str, Any],
    ) -> None:
        self._clients, self._spec, self._kind, self._name = clients, spec, kind, name
        self._trust, self._policy = trust, policy

    @property
    def kind(self) -> str:
        """What the role is for."""
        return self._kind

    @property
    def arn(self) -> str:
        """The role's ARN, also before it exists."""
        return f"arn:aws:iam::{self._clients.account_id()}:role/{self._name}"

    def look(self) -> PlanStep:
        """Compare the role's trust, permissions and tags."""
        role = self._own()
        if role is None:
            return PlanStep(kind=self.kind, name=self._name, action="make")
        changes = tuple(self._changes(role))
        return PlanStep(kind=self.kind, name=self._name, action="change" if changes else "keep", changes=changes)

    def carry_out(self, step: PlanStep, journal: DeployJournal, report: Report) -> None:
        """Create the role, or replace its trust and permissions."""
        report(f"{'creating' if step.action == 'make' else 'changing'} the {self.kind}")
        tags, role = agent_tags(self._spec), self._own()
        if role is None:
            journal.add(Intent(kind=self.kind, name=self._name, action="make"))
            about = f"The {self.kind} of the agent {self._spec.name}; made by Loom"
            create_role(self._clients, self._name, trust=self._trust, description=about, tags=tags)
        else:
            before = {"trust": role.trust, "policy": role.policy}
            journal.add(Intent(kind=self.kind, name=self._name, action="change", before=before))
            put_role_trust(self._clients, self._name, self._trust)
            tag_role(self._clients, self._name, tags)
        put_role_policy(self._clients, self._name, self._policy)

    def undo(self, intent: Intent, report: Report) -> str:
        """Delete the role, or restore its trust and permissions."""
        role = describe_role(self._clients, intent.name)
        if role is None:
            return ""
        if role.tags.get(AGENT_TAG) != self._spec.name:
            return f"kept the role {intent.name}, which Loom did not make"
        if intent.action == "make":
            report(f"deleting the {self.kind}")
            delete_role(self._clients, intent.name)
            return f"deleted the role {intent.name}"
        report(f"restoring the {self.kind}")
        put_role_trust(self._clients, intent.name, intent.before["trust"])
        put_role_policy(self._clients, intent.name, intent.before["policy"])
        return f"restored the role {intent.name}"

    def _own(self) -> RoleDescription | None:
        role = describe_role(self._clients, self._name)
        if role is not None and role.tags.get(AGENT_TAG) != self._spec.name:
            raise DeployError(
                f"The account has a role of the name of the {self.kind} that Loom did not make",
                on=self._name,
                try_="rename that role, or deploy the agent under another name",
            )
        return role

    def _changes(self, role: RoleDescription) -> Iterator[SettingChange]:
        if role.trust != self._trust:
            yield SettingChange(setting="trust", before="another", after="as described")
        if role.policy != self._policy:
            yield SettingChange(setting="permissions", before="others", after="as described")
        for name, value in agent_tags(self._spec).items():
            if role.tags.get(name) != value:
                yield SettingChange(setting=f"tags.{name}", before=role.tags.get(name, ""), after=value)
