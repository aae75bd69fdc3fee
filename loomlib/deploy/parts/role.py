"""The role that the agent's sessions run as."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ...aws import Clients
from ...aws.roles import RoleDescription
from ...aws.runtime_requests import SettingChange
from ..journal import DeployJournal, Intent
from ..names import agent_tags, role_name
from ..policies import RolePolicy
from ..spec import AgentSpec
from ..steps import PlanStep
from .agent_role import AgentRole
from .part import Report


class RolePart:
    """A role for this agent only, with the permissions that its code and configuration require.

    Args:
        clients: The AWS clients of a connection.
        spec: The deployment.
        policy: Its permissions and trust policy; None if it is only undone.
    """

    kind = "role"

    def __init__(self, clients: Clients, spec: AgentSpec, policy: RolePolicy | None) -> None:
        self._clients, self._spec = clients, spec
        self._policy: Mapping[str, Any] = policy.document() if policy else {}
        self._trust: Mapping[str, Any] = policy.trust if policy else {}
        self._name = role_name(spec.name, clients.region)
        self._role = AgentRole(clients, spec, self.kind, self._name)

    @property
    def arn(self) -> str:
        """The role's ARN, even before the role exists."""
        return self._role.arn

    def look(self) -> PlanStep:
        """Compare the role's trust, permissions and tags."""
        role = self._own()
        if role is None:
            return PlanStep(kind=self.kind, name=self._name, action="create", changes=tuple(self._changes(None)))
        changes = tuple(self._changes(role))
        return PlanStep(kind=self.kind, name=self._name, action="change" if changes else "keep", changes=changes)

    def carry_out(self, step: PlanStep, journal: DeployJournal, report: Report) -> None:
        """Create the role, or replace its trust and permissions."""
        report("creating the role" if step.action == "create" else "changing the role")
        about = f"The agent {self._spec.name} in {self._clients.region}; made by Loom"
        self._role.put(self._own(), journal, trust=self._trust, policy=self._policy, description=about)

    def undo(self, intent: Intent, report: Report) -> str:
        """Delete the role, or restore its trust and permissions."""
        return self._role.undo(intent, report)

    def _own(self) -> RoleDescription | None:
        return self._role.find(
            "The account has a role with the agent's role name that Loom did not create",
            lambda role: f'use it unchanged: role="{role.arn}", or deploy the agent under another name',
        )

    def _changes(self, role: RoleDescription | None) -> Iterator[SettingChange]:
        current = role or RoleDescription(name=self._name, arn=self.arn)
        trust, policy, tags = current.trust, current.policy, current.tags
        if trust != self._trust:
            yield SettingChange(setting="trust", before=_services(trust), after=_services(self._trust))
        before, after = set(_statements(policy)), set(_statements(self._policy))
        for text in (line for line in dict.fromkeys(_statements(policy)) if line not in after):
            yield SettingChange(setting="permission", before=text, after="")
        for text in (line for line in dict.fromkeys(_statements(self._policy)) if line not in before):
            yield SettingChange(setting="permission", before="", after=text)
        for name, value in agent_tags(self._spec).items():
            if role and tags.get(name) != value:
                yield SettingChange(setting=f"tags.{name}", before=tags.get(name, ""), after=value)


def _statements(policy: Mapping[str, Any]) -> Iterator[str]:
    """Yield each permission of a policy as one line."""
    for statement in policy.get("Statement") or ():
        actions, resources = (", ".join(_texts(statement.get(name))) for name in ("Action", "Resource"))
        condition = statement.get("Condition")
        only = f" if {json.dumps(condition, sort_keys=True)}" if condition else ""
        yield f"{statement.get('Effect', '')} {actions} on {resources}{only}"


def _services(trust: Mapping[str, Any]) -> str:
    return "; ".join(json.dumps(statement.get("Principal")) for statement in trust.get("Statement") or ())


def _texts(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else sorted(value or ())
