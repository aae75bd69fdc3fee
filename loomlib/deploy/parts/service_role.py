"""A role that an AWS service uses for the agent: for image builds, schedules and functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...aws import Clients
from ...aws.roles import RoleDescription
from ...aws.runtime_requests import SettingChange
from ..journal import DeployJournal, Intent
from ..names import agent_tags
from ..spec import AgentSpec
from ..steps import PlanStep
from .agent_role import AgentRole
from .part import Report


class ServiceRolePart:
    """A role that a service of AWS uses for one agent.

    Args:
        clients: The AWS clients of a connection.
        spec: The agent's configuration.
        kind: The role's purpose, such as "role of builds".
        name: The role's name.
        trust: Who may assume it.
        policy: Its permissions.
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
        self._spec, self._kind, self._name = spec, kind, name
        self._role = AgentRole(clients, spec, kind, name)
        self._trust, self._policy = trust, policy

    @property
    def kind(self) -> str:
        """The role's purpose."""
        return self._kind

    @property
    def arn(self) -> str:
        """The role's ARN, even before the role exists."""
        return self._role.arn

    def look(self) -> PlanStep:
        """Compare the role's trust, permissions and tags."""
        role = self._own()
        if role is None:
            return PlanStep(kind=self.kind, name=self._name, action="create")
        changes = tuple(self._changes(role))
        return PlanStep(kind=self.kind, name=self._name, action="change" if changes else "keep", changes=changes)

    def carry_out(self, step: PlanStep, journal: DeployJournal, report: Report) -> None:
        """Create the role, or replace its trust and permissions."""
        report(f"{'creating' if step.action == 'create' else 'changing'} the {self.kind}")
        about = f"The {self.kind} of the agent {self._spec.name}; made by Loom"
        self._role.put(self._own(), journal, trust=self._trust, policy=self._policy, description=about)

    def undo(self, intent: Intent, report: Report) -> str:
        """Delete the role, or restore its trust and permissions."""
        return self._role.undo(intent, report)

    def _own(self) -> RoleDescription | None:
        return self._role.find(
            f"The account has a role with the name of the {self.kind} that Loom did not create",
            lambda _: "rename that role, or deploy the agent under another name",
        )

    def _changes(self, role: RoleDescription) -> Iterator[SettingChange]:
        if role.trust != self._trust:
            yield SettingChange(setting="trust", before="another", after="as described")
        if role.policy != self._policy:
            yield SettingChange(setting="permissions", before="others", after="as described")
        for name, value in agent_tags(self._spec).items():
            if role.tags.get(name) != value:
                yield SettingChange(setting=f"tags.{name}", before=role.tags.get(name, ""), after=value)
