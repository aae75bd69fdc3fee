"""Fires a trigger manually: the agent gets the request that the schedule, or the event for an object, would send."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...aws import Clients
from ...aws.functions import call_function, find_function
from ...aws.runtime_calls import invoke_with
from ...aws.schedules import find_schedule
from ...errors import AwsError, LoomError, ResourceNotFoundError
from ...json_values import as_mapping, as_text, parse_object
from .requests import EXECUTION_ID, matches, object_event
from .values import SCHEDULE, AgentTrigger


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerAnswer:
    """The agent's answer to a trigger.

    Attributes:
        trigger: The trigger's name.
        session_id: The session of this run.
        payload: The payload that was sent.
        answer: The agent's answer, as text.
        through: The sender of the request: the schedule, or the function.
    """

    trigger: str
    session_id: str
    payload: Mapping[str, Any]
    answer: str
    through: str


def fire_trigger(clients: Clients, trigger: AgentTrigger, *, key: str = "", size: int = 0) -> TriggerAnswer:
    """Fire a deployed trigger immediately.

    A schedule's target is read and invoked as EventBridge Scheduler invokes it. For an object, the deployed function is
    called with the event that EventBridge would send; the object need not exist.

    Args:
        clients: The AWS clients of a connection.
        trigger: The trigger.
        key: The key of the object, for a trigger of S3.
        size: The size of the object in bytes, for a trigger of S3.

    Raises:
        LoomError: The trigger is not deployed or does not match the object, or the agent failed.
    """
    if trigger.kind == SCHEDULE:
        return _fire_schedule(clients, trigger)
    if not key:
        raise LoomError(
            "An S3 trigger needs the key of an object",
            on=trigger.name,
            try_=f'key="{trigger.prefix}a{trigger.spec.suffix}"',
        )
    if not matches(trigger, key):
        raise LoomError(
            f"The trigger does not match the object {key}",
            on=trigger.name,
            try_=f"a key that begins with {trigger.prefix!r} and ends with {trigger.spec.suffix!r}",
        )
    return _fire_objects(clients, trigger, key, size)


def _fire_schedule(clients: Clients, trigger: AgentTrigger) -> TriggerAnswer:
    schedule = find_schedule(clients, trigger.resource_name)
    if schedule is None:
        raise _not_deployed(trigger)
    text = as_text(schedule.target.get("Input")).replace(EXECUTION_ID, uuid.uuid4().hex[:16])
    schedule_input = parse_object(text.encode())
    members = {name[:1].lower() + name[1:]: as_text(value) for name, value in schedule_input.items()}
    answer = invoke_with(clients, members)
    return TriggerAnswer(
        trigger=trigger.name,
        session_id=members["runtimeSessionId"],
        payload=parse_object(members["payload"].encode()),
        answer=answer,
        through=f"schedule {schedule.name}",
    )


def _fire_objects(clients: Clients, trigger: AgentTrigger, key: str, size: int) -> TriggerAnswer:
    try:
        function = find_function(clients, trigger.resource_name)
    except ResourceNotFoundError as error:
        raise _not_deployed(trigger) from error
    event = object_event(trigger, key, account=clients.account_id(), region=clients.region, size=size)
    result = call_function(clients, function, event)
    if result.is_error:
        raise AwsError(f"The trigger's function failed: {result.error}", on=function.name, try_="read the agent's log")
    reply = as_mapping(result.value)
    return TriggerAnswer(
        trigger=trigger.name,
        session_id=as_text(reply.get("session")),
        payload=as_mapping(reply.get("payload")),
        answer=as_text(reply.get("answer")),
        through=f"function {function.name}",
    )


def _not_deployed(trigger: AgentTrigger) -> LoomError:
    return LoomError(
        "The trigger is not deployed", on=f"{trigger.agent}, {trigger.name}", try_="bench.plan(folder).apply()"
    )
