"""Schedules of EventBridge Scheduler."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from loomlib.errors import RequestRejectedError, ResourceNotFoundError

from .connection import Clients
from .errors import translated

_ROLE_WAIT_S: Final = 30.0
"""IAM takes some seconds until Scheduler can use a new role."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleDescription:
    """A schedule, in the group `default`.

    Attributes:
        name: Its name.
        expression: When it runs, such as `rate(1 day)`.
        target: The target in Scheduler's format.
        description: Its description.
        state: "ENABLED" or "DISABLED".
    """

    name: str
    expression: str
    target: Mapping[str, Any] = field(default_factory=dict[str, Any])
    description: str = ""
    state: str = "ENABLED"


def find_schedule(clients: Clients, name: str) -> ScheduleDescription | None:
    """Return a schedule; None if it does not exist."""
    try:
        with translated("Reading the schedule", on=name):
            schedule: Mapping[str, Any] = clients.client("scheduler").get_schedule(Name=name)
    except ResourceNotFoundError:
        return None
    return ScheduleDescription(
        name=name,
        expression=str(schedule["ScheduleExpression"]),
        target=schedule["Target"],
        description=str(schedule.get("Description") or ""),
        state=str(schedule.get("State") or "ENABLED"),
    )


def list_schedules(clients: Clients, prefix: str) -> list[str]:
    """Return the names of the schedules with a prefix."""
    names: list[str] = []
    query: dict[str, Any] = {"NamePrefix": prefix}
    while True:
        with translated("Listing schedules", on=prefix):
            page: Mapping[str, Any] = clients.client("scheduler").list_schedules(**query)
        names += [str(item["Name"]) for item in page["Schedules"]]
        if not page.get("NextToken"):
            return names
        query["NextToken"] = page["NextToken"]


def put_schedule(clients: Clients, schedule: ScheduleDescription, *, is_new: bool) -> None:
    """Create or change a schedule, and wait until Scheduler can use its role.

    Args:
        clients: The AWS clients of a connection.
        schedule: The desired schedule.
        is_new: Whether it does not exist yet.

    Raises:
        AwsError: Scheduler rejects it.
    """
    client = clients.client("scheduler")
    request: dict[str, Any] = {
        "Name": schedule.name,
        "ScheduleExpression": schedule.expression,
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "Target": dict(schedule.target),
        "State": schedule.state,
    }
    if schedule.description:
        request["Description"] = schedule.description
    deadline = time.monotonic() + _ROLE_WAIT_S
    while True:
        try:
            with translated("Creating the schedule" if is_new else "Changing the schedule", on=schedule.name):
                (client.create_schedule if is_new else client.update_schedule)(**request)
            return
        except RequestRejectedError as error:
            if "assume" not in str(error).lower() or time.monotonic() > deadline:
                raise
            time.sleep(2.0)


def delete_schedule(clients: Clients, name: str) -> None:
    """Delete a schedule; no error when it is gone."""
    try:
        with translated("Deleting the schedule", on=name):
            clients.client("scheduler").delete_schedule(Name=name)
    except ResourceNotFoundError:
        return
