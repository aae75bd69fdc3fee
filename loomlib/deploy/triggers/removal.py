"""Triggers that an agent no longer has, and their removal."""

from __future__ import annotations

from typing import Any

from ...aws import Clients
from ...aws.event_rules import delete_rule, delete_trigger_function, find_rule, function_tags, list_rules
from ...aws.roles import delete_role, describe_role
from ...aws.runtime_requests import SettingChange
from ...aws.schedules import ScheduleDescription, delete_schedule, find_schedule, list_schedules, put_schedule
from ...errors import AccessDeniedError, ResourceNotFoundError
from ..journal import DeployJournal, Intent
from ..names import AGENT_TAG, role_name
from ..parts.part import Report
from ..spec import AgentSpec
from ..steps import PlanStep
from .values import OBJECTS, SCHEDULE, agent_triggers


def deployed_triggers(clients: Clients, agent: str) -> list[str]:
    """Return the names of the triggers that an agent has in the account, such as `schedule-1`.

    Args:
        clients: The AWS clients of a connection.
        agent: The agent's name.
    """
    start = f"loom-{agent}-"
    schedules = list_schedules(clients, f"{start}{SCHEDULE}-")
    rules = list_rules(clients, f"{start}{OBJECTS}-")
    return [name.removeprefix(start) for name in (*schedules, *rules)]


def remove_trigger(clients: Clients, agent: str, name: str) -> bool:
    """Delete a trigger with its role and function, if Loom created it; return whether it was deleted.

    The bucket's notifications stay enabled: other rules may use them.

    Args:
        clients: The AWS clients of a connection.
        agent: The agent's name.
        name: The trigger's name, such as `schedule-1`.
    """
    resource = f"loom-{agent}-{name}"
    if name.startswith(SCHEDULE):
        schedule = find_schedule(clients, resource)
        if schedule is not None and not schedule.description.endswith("made by Loom"):
            return False
        delete_schedule(clients, resource)
    else:
        try:
            tags = function_tags(clients, resource)
        except ResourceNotFoundError:
            tags = {AGENT_TAG: agent}
        rule = find_rule(clients, resource)
        if tags.get(AGENT_TAG) != agent or (rule is not None and not rule.is_made_by_loom):
            return False
        delete_rule(clients, resource)
        delete_trigger_function(clients, resource)
    role = role_name(f"{agent}-{name}", clients.region)
    described = describe_role(clients, role)
    if described is not None and described.tags.get(AGENT_TAG) == agent:
        delete_role(clients, role)
    return True


def removed_parts(clients: Clients, spec: AgentSpec) -> tuple[RemovedTriggerPart, ...]:
    """Return the parts that remove triggers in the account that are no longer in `loom-agent.toml`.

    Args:
        clients: The AWS clients of a connection.
        spec: The agent's configuration.
    """
    configured_names = {trigger.name for trigger in agent_triggers(spec)}
    try:
        deployed = deployed_triggers(clients, spec.name)
    except AccessDeniedError:
        if configured_names:
            raise
        return ()  # deploying agents without triggers does not require permission to list them
    names = [name for name in deployed if name not in configured_names]
    return tuple(RemovedTriggerPart(clients, spec.name, name) for name in names)


class RemovedTriggerPart:
    """A trigger that is no longer in `loom-agent.toml`."""

    def __init__(self, clients: Clients, agent: str, name: str) -> None:
        self._clients, self._agent, self._name = clients, agent, name
        self._resource = f"loom-{agent}-{name}"

    @property
    def kind(self) -> str:
        """The kind of resource: a removed trigger."""
        return f"removed trigger {self._name}"

    def look(self) -> PlanStep:
        """Check whether the trigger still exists."""
        is_schedule = self._name.startswith(SCHEDULE)
        find = find_schedule if is_schedule else find_rule
        resource = find(self._clients, self._resource)
        is_there = resource is not None and resource.description.endswith("made by Loom")
        change = SettingChange(setting="trigger", before=self._name, after="")
        changes = (change,) if is_there else ()
        return PlanStep(kind=self.kind, name=self._resource, action="change" if is_there else "keep", changes=changes)

    def carry_out(self, step: PlanStep, journal: DeployJournal, report: Report) -> None:
        """Delete the trigger."""
        before: dict[str, Any] = {}
        if (schedule := find_schedule(self._clients, self._resource)) is not None:
            before = {
                "expression": schedule.expression,
                "target": dict(schedule.target),
                "description": schedule.description,
                "state": schedule.state,
            }
        journal.add(Intent(kind=self.kind, name=step.name, action="change", before=before))
        report(f"deleting the trigger {self._name}")
        remove_trigger(self._clients, self._agent, self._name)

    def undo(self, intent: Intent, report: Report) -> str:
        """Report that it is deleted: deploying with the former `loom-agent.toml` creates it again, with its role."""
        if intent.before and find_schedule(self._clients, intent.name) is None:
            role = str(intent.before["target"].get("RoleArn", "")).rpartition("/")[2]
            if describe_role(self._clients, role) is not None:
                put_schedule(self._clients, ScheduleDescription(name=intent.name, **intent.before), is_new=True)
                return f"restored the schedule {intent.name}"
        return f"the trigger {intent.name} is deleted: deploy with the former loom-agent.toml to create it again"
