"""Resources that deployments create for an agent besides its runtime: triggers, and those that build its images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..aws import Clients
from ..aws.event_rules import find_rule, function_tags
from ..aws.image_builds import delete_project, delete_repository, find_project, find_repository
from ..aws.roles import delete_role, describe_role
from ..aws.schedules import find_schedule
from ..deploy.containers.names import build_role_name, project_name, repository_name
from ..deploy.names import AGENT_TAG
from ..deploy.triggers.removal import deployed_triggers, remove_trigger
from ..deploy.triggers.values import SCHEDULE
from ..errors import AwsError, ResourceNotFoundError
from .removal_plan import FOREIGN, MADE, RemovalStep

TRIGGERS = ("trigger",)
BUILDS = ("repository of images", "project of builds", "role of builds")


class DeploymentResources:
    """Triggers, repository, build project and build role of one agent. Their names are derived from its name.

    Args:
        clients: The AWS clients of a connection.
        agent: The agent's name.
    """

    def __init__(self, clients: Clients, agent: str) -> None:
        self._clients, self._agent = clients, agent

    def steps(self, kinds: Sequence[str], user: str) -> Iterator[RemovalStep]:
        """Yield a step for each existing resource.

        Args:
            kinds: `TRIGGERS` or `BUILDS`.
            user: Why all of them are kept; empty if those of Loom are deleted.
        """
        for kind in kinds:
            try:
                resources = list(self._resources_of(kind))
            except AwsError as error:
                yield RemovalStep(kind=kind, name="?", action="keep", reason=f"it could not be looked up: {error.what}")
                continue
            for name, is_own in resources:
                action = "delete" if is_own and not user else "keep"
                yield RemovalStep(kind=kind, name=name, action=action, reason=user or (MADE if is_own else FOREIGN))

    def delete(self, step: RemovalStep) -> bool:
        """Delete the resource of a step; return False if it is of another kind.

        Args:
            step: A step that deletes.
        """
        if step.kind == "trigger":
            remove_trigger(self._clients, self._agent, step.name)
        elif step.kind == "repository of images":
            delete_repository(self._clients, step.name)
        elif step.kind == "project of builds":
            delete_project(self._clients, step.name)
        elif step.kind == "role of builds":
            delete_role(self._clients, step.name)
        else:
            return False
        return True

    def _resources_of(self, kind: str) -> Iterator[tuple[str, bool]]:
        clients, agent = self._clients, self._agent
        if kind == "trigger":
            for name in deployed_triggers(clients, agent):
                yield name, self._is_own_trigger(name)
            return
        if kind == "repository of images":
            name, resource = repository_name(agent), find_repository(clients, repository_name(agent))
        elif kind == "project of builds":
            name, resource = project_name(agent), find_project(clients, project_name(agent))
        else:
            name = build_role_name(agent, clients.region)
            resource = describe_role(clients, name)
        if resource is not None:
            yield name, resource.tags.get(AGENT_TAG) == agent

    def _is_own_trigger(self, name: str) -> bool:
        resource = f"loom-{self._agent}-{name}"
        if name.startswith(SCHEDULE):
            schedule = find_schedule(self._clients, resource)
            return schedule is not None and schedule.description.endswith("made by Loom")
        rule = find_rule(self._clients, resource)
        if rule is not None and not rule.is_made_by_loom:
            return False
        try:
            return function_tags(self._clients, resource).get(AGENT_TAG) == self._agent
        except ResourceNotFoundError:
            return True  # its rule remains, with the name that Loom uses
