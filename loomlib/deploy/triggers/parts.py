"""The parts of a deployment that create an agent's triggers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from ...aws import Clients
from ...aws.event_rules import (
    TriggerFunction,
    delete_rule,
    delete_trigger_function,
    find_rule,
    function_differences,
    function_tags,
    put_function,
    put_rule,
    sends_object_events,
    set_object_events,
)
from ...aws.functions import find_function
from ...aws.runtime_requests import SettingChange
from ...aws.schedules import ScheduleDescription, delete_schedule, find_schedule, list_schedules, put_schedule
from ...errors import DeployError, ResourceNotFoundError
from ..journal import DeployJournal, Intent
from ..names import AGENT_TAG, agent_tags, role_name
from ..parts.part import DeployPart, Report
from ..parts.service_role import ServiceRolePart
from ..policies import AwsPlace, trust_document
from ..spec import AgentSpec, TriggerSpec
from ..steps import PlanStep
from .package import function_package
from .removal import RemovedTriggerPart, removed_parts
from .requests import (
    FUNCTION_HANDLER,
    FUNCTION_RUNTIME,
    FUNCTION_TIMEOUT_S,
    base_payload,
    event_pattern,
    function_variables,
    invoke_policy,
    schedule_input,
    schedule_target,
)
from .values import OBJECTS, SCHEDULE, AgentTrigger, agent_triggers

_ROLE: Final = "role of "
_TRIGGER: Final = "trigger "
_REMOVED: Final = "removed trigger "

AgentArn = Callable[[], str]
"""Returns the agent's ARN, or "" before its runtime exists."""


def trigger_parts(clients: Clients, spec: AgentSpec, agent_arn: AgentArn) -> tuple[DeployPart, ...]:
    """Return the parts of an agent's triggers, which are created after its runtime, and of those that were removed.

    Args:
        clients: The AWS clients of a connection.
        spec: The agent's configuration.
        agent_arn: Returns the agent's ARN.

    Raises:
        LoomError: The agent cannot be called by triggers.
    """
    parts: list[DeployPart] = []
    former = FormerSchedules(clients, spec)
    for trigger in agent_triggers(spec):
        role = TriggerRolePart(clients, spec, trigger, agent_arn)
        parts.append(role)
        if trigger.kind == SCHEDULE:
            parts.append(SchedulePart(clients, spec, trigger, role.arn, agent_arn, former))
        else:
            parts.append(ObjectsPart(clients, spec, trigger, role.arn, agent_arn))
    return (*parts, *removed_parts(clients, spec))


def part_of_trigger(clients: Clients, spec: AgentSpec, kind: str) -> DeployPart | None:
    """Return the part of a kind, to undo an interrupted deployment; None if triggers do not have such a part.

    Args:
        clients: The AWS clients of a connection.
        spec: The agent's configuration.
        kind: The part's kind.
    """
    start = next((start for start in (_REMOVED, _ROLE, _TRIGGER) if kind.startswith(start)), None)
    name = kind.removeprefix(start or "")
    if start is None or name.rpartition("-")[0] not in (SCHEDULE, OBJECTS):
        return None
    if start == _REMOVED:
        return RemovedTriggerPart(clients, spec.name, name)
    is_schedule = name.startswith(SCHEDULE)
    anything = TriggerSpec(schedule="rate(1 day)", prompt="-") if is_schedule else TriggerSpec(s3="any-bucket")
    trigger = AgentTrigger(agent=spec.name, name=name, spec=anything)
    if start == _ROLE:
        return TriggerRolePart(clients, spec, trigger, lambda: "")
    if is_schedule:
        return SchedulePart(clients, spec, trigger, "", lambda: "", FormerSchedules(clients, spec))
    return ObjectsPart(clients, spec, trigger, "", lambda: "")


class TriggerRolePart:
    """The role of a trigger: a schedule's or a function's, which may invoke the agent's default endpoint only."""

    def __init__(self, clients: Clients, spec: AgentSpec, trigger: AgentTrigger, agent_arn: AgentArn) -> None:
        self._clients, self._spec, self._trigger, self._agent_arn = clients, spec, trigger, agent_arn

    @property
    def kind(self) -> str:
        """The kind of resource: the role of a trigger."""
        return f"{_ROLE}{self._trigger.name}"

    @property
    def arn(self) -> str:
        """The role's ARN, even before the role exists."""
        return self._role("").arn

    def look(self) -> PlanStep:
        """Compare the role's trust, permissions and tags."""
        return self._role(self._agent_arn()).look()

    def carry_out(self, step: PlanStep, journal: DeployJournal, report: Report) -> None:
        """Create or change the role."""
        self._role(self._agent_arn()).carry_out(step, journal, report)

    def undo(self, intent: Intent, report: Report) -> str:
        """Delete or restore the role."""
        return self._role("").undo(intent, report)

    def _role(self, agent_arn: str) -> ServiceRolePart:
        place = AwsPlace(account=self._clients.account_id(), region=self._clients.region)
        is_schedule = self._trigger.kind == SCHEDULE
        service = "scheduler.amazonaws.com" if is_schedule else "lambda.amazonaws.com"
        policy = invoke_policy(agent_arn, f"{agent_arn}/runtime-endpoint/DEFAULT")
        if not is_schedule:
            group = place.arn("logs", f"log-group:/aws/lambda/{self._trigger.resource_name}:*")
            actions = ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"]
            policy["Statement"].append({"Sid": "OwnLogs", "Effect": "Allow", "Action": actions, "Resource": [group]})
        return ServiceRolePart(
            self._clients,
            self._spec,
            self.kind,
            role_name(f"{self._trigger.agent}-{self._trigger.name}", place.region),
            trust=trust_document(place, service=service),
            policy=policy,
        )


class FormerSchedules:
    """The agent's schedules before a deployment; they are read when they are first needed.

    A schedule is named by the number of its trigger in `loom-agent.toml`; removing an earlier trigger renumbers the
    later ones.

    Args:
        clients: The AWS clients of a connection.
        spec: The agent's configuration.
    """

    def __init__(self, clients: Clients, spec: AgentSpec) -> None:
        self._clients, self._prefix = clients, f"loom-{spec.name}-{SCHEDULE}-"
        self._described = {_times_and_payload(item) for item in agent_triggers(spec) if item.kind == SCHEDULE}

    def state(self, trigger: AgentTrigger, schedule: ScheduleDescription | None) -> str:
        """Return ENABLED or DISABLED, as the deployed schedule with the same times and payload is.

        Args:
            trigger: The trigger.
            schedule: The deployed schedule with the trigger's number; None if there is none.
        """
        wanted = _times_and_payload(trigger)
        if schedule is not None and _content(schedule) == wanted:
            return schedule.state
        if (state := self._states.get(wanted)) is not None:
            return state
        if schedule is None or _content(schedule) in self._described:  # new, or the number was another trigger's
            return "ENABLED"
        return schedule.state

    @cached_property
    def _states(self) -> Mapping[tuple[str, str], str]:
        schedules = (find_schedule(self._clients, name) for name in list_schedules(self._clients, self._prefix))
        return {_content(schedule): schedule.state for schedule in schedules if schedule is not None}


def _times_and_payload(trigger: AgentTrigger) -> tuple[str, str]:
    return trigger.spec.schedule, json.dumps(base_payload(trigger), ensure_ascii=False)


def _content(schedule: ScheduleDescription) -> tuple[str, str]:
    """Return a deployed schedule's times and payload; the payload is empty if Loom did not write the target."""
    try:
        return schedule.expression, str(json.loads(schedule.target["Input"])["Payload"])
    except (KeyError, TypeError, ValueError):
        return schedule.expression, ""


class SchedulePart:
    """A schedule that invokes the agent."""

    def __init__(
        self,
        clients: Clients,
        spec: AgentSpec,
        trigger: AgentTrigger,
        role_arn: str,
        agent_arn: AgentArn,
        former: FormerSchedules,
    ) -> None:
        self._clients, self._trigger, self._former = clients, trigger, former
        self._role_arn, self._agent_arn = role_arn, agent_arn
        self._about = f"Invokes the agent {spec.name}; made by Loom"

    @property
    def kind(self) -> str:
        """The kind of resource: a trigger."""
        return f"{_TRIGGER}{self._trigger.name}"

    def look(self) -> PlanStep:
        """Compare the schedule's times and its request."""
        schedule = self._own()
        changes = tuple(self._changes(schedule))
        action = "create" if schedule is None else "change" if changes else "keep"
        note = "" if self._former.state(self._trigger, schedule) == "ENABLED" else "it is disabled and stays disabled"
        return PlanStep(kind=self.kind, name=self._trigger.resource_name, action=action, changes=changes, note=note)

    def carry_out(self, step: PlanStep, journal: DeployJournal, report: Report) -> None:
        """Create or change the schedule."""
        report(f"{'creating' if step.action == 'create' else 'changing'} the schedule")
        schedule = self._own()
        before: dict[str, Any] = {}
        if schedule is not None:
            before = {"expression": schedule.expression, "target": dict(schedule.target), "state": schedule.state}
        action = "create" if schedule is None else "change"
        journal.add(Intent(kind=self.kind, name=step.name, action=action, before=before))
        desired = ScheduleDescription(
            name=step.name,
            expression=self._trigger.spec.schedule,
            target=self._target(),
            description=self._about,
            state=self._former.state(self._trigger, schedule),
        )
        put_schedule(self._clients, desired, is_new=schedule is None)

    def undo(self, intent: Intent, report: Report) -> str:
        """Delete the schedule, or restore its previous settings."""
        schedule = find_schedule(self._clients, intent.name)
        if schedule is None:
            return ""
        if schedule.description != self._about:
            return f"kept the schedule {intent.name}, which Loom did not create"
        if intent.action == "create":
            report("deleting the schedule")
            delete_schedule(self._clients, intent.name)
            return f"deleted the schedule {intent.name}"
        before = intent.before
        restored = ScheduleDescription(
            name=intent.name,
            expression=before["expression"],
            target=before["target"],
            description=self._about,
            state=before["state"],
        )
        put_schedule(self._clients, restored, is_new=False)
        return f"restored the schedule {intent.name}"

    def _own(self) -> ScheduleDescription | None:
        schedule = find_schedule(self._clients, self._trigger.resource_name)
        if schedule is not None and schedule.description != self._about:
            raise _foreign("schedule", self._trigger.resource_name)
        return schedule

    def _target(self) -> dict[str, Any]:
        place = AwsPlace(account=self._clients.account_id(), region=self._clients.region)
        text = json.dumps(schedule_input(self._trigger, self._agent_arn()), ensure_ascii=False)
        return schedule_target(self._trigger, partition=place.partition, role_arn=self._role_arn, input_=text)

    def _changes(self, schedule: ScheduleDescription | None) -> Iterator[SettingChange]:
        before = "" if schedule is None else schedule.expression
        if before != self._trigger.spec.schedule:
            yield SettingChange(setting="schedule", before=before, after=self._trigger.spec.schedule)
        if schedule is not None:
            desired_target = self._target()
            if any(schedule.target.get(name) != value for name, value in desired_target.items()):
                yield SettingChange(setting="target", before="another", after="as described")


class ObjectsPart:
    """A rule for new objects in S3, and the function that forwards their events to the agent."""

    def __init__(
        self, clients: Clients, spec: AgentSpec, trigger: AgentTrigger, role_arn: str, agent_arn: AgentArn
    ) -> None:
        self._clients, self._spec, self._trigger = clients, spec, trigger
        self._role_arn, self._agent_arn = role_arn, agent_arn

    @property
    def kind(self) -> str:
        """The kind of resource: a trigger."""
        return f"{_TRIGGER}{self._trigger.name}"

    def look(self) -> PlanStep:
        """Compare the rule, the function and the bucket's notifications."""
        self._check_own()
        name = self._trigger.resource_name
        differences = function_differences(self._clients, self._function())
        rule = find_rule(self._clients, name)
        changes = [
            SettingChange(setting=f"function.{item}", before="another", after="as described")
            for item in differences or ()
        ]
        if rule is not None and rule.pattern != event_pattern(self._trigger):
            changes.append(
                SettingChange(setting="s3", before=json.dumps(rule.pattern["detail"]), after=self._trigger.spec.s3)
            )
        if not sends_object_events(self._clients, self._trigger.bucket):
            changes.append(
                SettingChange(setting=f"notifications of {self._trigger.bucket}", before="", after="EventBridge")
            )
        is_there = differences is not None and rule is not None and bool(rule.targets)
        action = "create" if differences is None and rule is None else "keep" if is_there and not changes else "change"
        return PlanStep(kind=self.kind, name=name, action=action, changes=tuple(changes))

    def carry_out(self, step: PlanStep, journal: DeployJournal, report: Report) -> None:
        """Create or change the function, the rule, and the bucket's notifications."""
        self._check_own()
        bucket, function = self._trigger.bucket, self._function()
        announced = sends_object_events(self._clients, bucket)
        before: dict[str, Any] = {"bucket": bucket, "announced": announced}
        journal.add(
            Intent(
                kind=self.kind, name=step.name, action=step.action if step.action != "keep" else "change", before=before
            )
        )
        report("writing the function of the trigger")
        is_new = function_differences(self._clients, function) is None
        lambda_function = put_function(self._clients, function, is_new=is_new)
        report("writing the rule of the trigger")
        put_rule(self._clients, step.name, event_pattern(self._trigger), lambda_function, agent_tags(self._spec))
        if not announced:
            set_object_events(self._clients, bucket, on=True)

    def undo(self, intent: Intent, report: Report) -> str:
        """Delete the rule and the function if they were created; `apply` updates a changed trigger again."""
        if intent.action != "create":
            return f"kept the trigger {intent.name} in its current state: deploy again to update it"
        try:
            tags = function_tags(self._clients, intent.name)
        except ResourceNotFoundError:
            tags = {AGENT_TAG: self._spec.name}
        if tags.get(AGENT_TAG) != self._spec.name:
            return f"kept the function {intent.name}, which Loom did not create"
        rule = find_rule(self._clients, intent.name)
        if rule is not None and not rule.is_made_by_loom:
            return f"kept the rule {intent.name}, which Loom did not create"
        report("deleting the trigger")
        delete_rule(self._clients, intent.name)
        delete_trigger_function(self._clients, intent.name)
        if not intent.before["announced"]:
            set_object_events(self._clients, str(intent.before["bucket"]), on=False)
        return f"deleted the rule and the function {intent.name}"

    def _function(self) -> TriggerFunction:
        return TriggerFunction(
            name=self._trigger.resource_name,
            role_arn=self._role_arn,
            runtime=FUNCTION_RUNTIME,
            handler=FUNCTION_HANDLER,
            package=function_package(),
            environment=function_variables(self._trigger, self._agent_arn()),
            timeout_s=FUNCTION_TIMEOUT_S,
            tags=agent_tags(self._spec),
        )

    def _check_own(self) -> None:
        rule = find_rule(self._clients, self._trigger.resource_name)
        if rule is not None and not rule.is_made_by_loom:
            raise _foreign("rule", rule.name)
        try:
            name = find_function(self._clients, self._trigger.resource_name).name
        except ResourceNotFoundError:
            return
        if function_tags(self._clients, name).get(AGENT_TAG) != self._spec.name:
            raise _foreign("function", name)


def _foreign(kind: str, name: str) -> DeployError:
    return DeployError(
        f"The account has a {kind} with the trigger's name that Loom did not create",
        on=name,
        try_="rename it, or deploy the agent under another name",
    )
