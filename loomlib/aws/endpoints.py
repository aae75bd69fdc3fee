"""Endpoints of a runtime: list, create, point at another version, delete."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from loomlib.errors import AwsError, RequestTimeoutError, ResourceNotFoundError

from ..presentation.formats import time_limit
from .connection import Clients
from .errors import failure, translated
from .paging import iter_items
from .runtimes import FAILED_STATES

DEFAULT_ENDPOINT: Final = "DEFAULT"
"""The endpoint that AgentCore creates with a runtime, and that always serves the newest version."""

_SEEN_WITHIN_S: Final = 20.0
"""Seconds for which a description may still show the state before a change: AWS's reads lag behind its writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointDescription:
    """An endpoint of a runtime.

    Attributes:
        name: Its name, the `qualifier` of a call.
        arn: Its ARN.
        version: The version that it serves (AWS's `liveVersion`); empty while it does not serve any.
        target_version: The version that it is being updated to; equal to `version` once the update is complete.
        status: AWS's status, such as READY.
        description: Its purpose.
        created_at: When it was created.
        updated_at: When it was last changed.
        failure_reason: AWS's reason when the last change failed.
    """

    name: str
    arn: str
    version: str
    target_version: str
    status: str
    description: str
    created_at: datetime | None
    updated_at: datetime | None
    failure_reason: str = ""


def describe_endpoints(clients: Clients, runtime_id: str, *, region: str | None = None) -> list[EndpointDescription]:
    """Return the runtime's endpoints, DEFAULT first (ListAgentRuntimeEndpoints).

    Args:
        clients: The AWS clients of a connection.
        runtime_id: The runtime's id.
        region: The region, if it is not the connection's.

    Raises:
        ResourceNotFoundError: There is no such runtime.
    """
    listing = clients.control(region).list_agent_runtime_endpoints
    query = {"agentRuntimeId": runtime_id}
    shapes = iter_items(listing, "runtimeEndpoints", query, "Listing the runtime's endpoints", runtime_id)
    return sorted(map(_endpoint, shapes), key=lambda endpoint: (endpoint.name != DEFAULT_ENDPOINT, endpoint.name))


def describe_endpoint(
    clients: Clients, runtime_id: str, name: str, *, region: str | None = None
) -> EndpointDescription | None:
    """Return an endpoint, or None when the runtime does not have it (GetAgentRuntimeEndpoint).

    Args:
        clients: The AWS clients of a connection.
        runtime_id: The runtime's id.
        name: The endpoint's name.
        region: The region, if it is not the connection's.
    """
    try:
        with translated("Describing the runtime's endpoint", on=f"{runtime_id}/{name}"):
            shape = clients.control(region).get_agent_runtime_endpoint(agentRuntimeId=runtime_id, endpointName=name)
    except ResourceNotFoundError:
        return None
    return _endpoint(shape)


def create_endpoint(
    clients: Clients,
    runtime_id: str,
    name: str,
    version: str,
    *,
    description: str = "",
    tags: Mapping[str, str] | None = None,
    region: str | None = None,
    progress: Callable[[str], None] | None = None,
    on_accepted: Callable[[], object] | None = None,
) -> EndpointDescription:
    """Create an endpoint and wait until it serves the version.

    Args:
        clients: The AWS clients of a connection.
        runtime_id: The runtime's id.
        name: The endpoint's name.
        version: The version to serve.
        description: The endpoint's purpose.
        tags: Its tags.
        region: The region, if it is not the connection's.
        progress: Called with the state at each poll.
        on_accepted: Called when AgentCore has accepted the request, before the wait.

    Raises:
        ConflictError: The runtime already has this endpoint.
        AwsError: AgentCore rejects the request, or the endpoint failed.
        RequestTimeoutError: The endpoint does not serve the version in time.
    """
    request: dict[str, Any] = {"agentRuntimeId": runtime_id, "name": name, "agentRuntimeVersion": version}
    if description:
        request["description"] = description
    if tags:
        request["tags"] = dict(tags)
    with translated("Creating an endpoint", on=f"{runtime_id}/{name}"):
        clients.control(region).create_agent_runtime_endpoint(**request, clientToken=_token())
    if on_accepted is not None:
        on_accepted()
    return wait_until_served(clients, runtime_id, name, version, region=region, progress=progress)


def point_endpoint(
    clients: Clients,
    runtime_id: str,
    endpoint: EndpointDescription,
    version: str,
    *,
    region: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> EndpointDescription:
    """Point an endpoint at another version, and wait until it serves it; its description is unchanged.

    Args:
        clients: The AWS clients of a connection.
        runtime_id: The runtime's id.
        endpoint: The endpoint.
        version: The version to serve.
        region: The region, if it is not the connection's.
        progress: Called with the state at each poll.

    Raises:
        ConflictError: The endpoint is being changed.
        AwsError: AgentCore rejects the request, or the change failed.
        RequestTimeoutError: The endpoint does not serve the version in time.
    """
    request: dict[str, Any] = {"description": endpoint.description} if endpoint.description else {}
    with translated("Changing an endpoint", on=f"{runtime_id}/{endpoint.name}"):
        clients.control(region).update_agent_runtime_endpoint(
            agentRuntimeId=runtime_id,
            endpointName=endpoint.name,
            agentRuntimeVersion=version,
            clientToken=_token(),
            **request,
        )
    return wait_until_served(clients, runtime_id, endpoint.name, version, region=region, progress=progress)


def wait_until_served(
    clients: Clients,
    runtime_id: str,
    name: str,
    version: str,
    *,
    region: str | None = None,
    timeout_s: float = 300.0,
    progress: Callable[[str], None] | None = None,
) -> EndpointDescription:
    """Wait until the endpoint is READY and serves the version, and return it.

    Args:
        clients: The AWS clients of a connection.
        runtime_id: The runtime's id.
        name: The endpoint's name.
        version: The version.
        region: The region, if it is not the connection's.
        timeout_s: The longest wait.
        progress: Called with the state at each poll.

    Raises:
        AwsError: The change failed, with AWS's reason, or another change replaced it.
        RequestTimeoutError: It does not serve the version after `timeout_s`.
    """
    on, began, pause_s = f"{runtime_id}/{name}", time.monotonic(), 0.05
    while True:
        now = describe_endpoint(clients, runtime_id, name, region=region)
        waited_s = time.monotonic() - began
        if now is None and waited_s > _SEEN_WITHIN_S:
            raise failure(ResourceNotFoundError, "The endpoint was deleted while it was being changed", on=on)
        if progress is not None and now is not None:
            progress(f"endpoint {name}: {now.status}, serves version {now.version or '–'}")
        if now is not None and now.status in FAILED_STATES:
            reason = now.failure_reason or "AWS gives no reason"
            raise AwsError(
                f"The endpoint is {now.status}: {reason}",
                on=on,
                try_="fix the stated cause and promote again",
                code=now.status,
            )
        if now is not None and now.status == "READY":
            if now.version == version:
                return now
            if now.target_version not in ("", version) and waited_s > _SEEN_WITHIN_S:
                raise AwsError(
                    f"Another change pointed the endpoint at version {now.version or now.target_version}",
                    on=on,
                    try_="agree with whoever changed it, then promote again",
                    code="ConcurrentChange",
                )
        if waited_s + pause_s > timeout_s:
            status = "missing" if now is None else now.status
            message = f"The endpoint does not serve version {version} after {time_limit(timeout_s)}; it is {status}"
            raise failure(RequestTimeoutError, message, on=on)
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, 5.0, max(0.1, waited_s / 10))  # a wait is at most a tenth longer than necessary


def delete_endpoint(clients: Clients, runtime_id: str, name: str, *, region: str | None = None) -> bool:
    """Delete an endpoint and wait until the deletion is complete; return False if it did not exist.

    Args:
        clients: The AWS clients of a connection.
        runtime_id: The runtime's id.
        name: The endpoint's name.
        region: The region, if it is not the connection's.

    Raises:
        AwsError: AgentCore rejects the request, as for DEFAULT.
        RequestTimeoutError: The endpoint still exists after two minutes.
    """
    on, deadline, pause_s = f"{runtime_id}/{name}", time.monotonic() + 120.0, 0.05
    try:
        with translated("Deleting an endpoint", on=on):
            clients.control(region).delete_agent_runtime_endpoint(
                agentRuntimeId=runtime_id, endpointName=name, clientToken=_token()
            )
    except ResourceNotFoundError:
        return False
    while (now := describe_endpoint(clients, runtime_id, name, region=region)) is not None:
        if now.status == "DELETE_FAILED":
            raise AwsError(f"The endpoint is {now.status}: {now.failure_reason}", on=on, code=now.status)
        if time.monotonic() > deadline:
            raise failure(RequestTimeoutError, f"The endpoint is still {now.status}", on=on)
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, 2.0)
    return True


def _endpoint(shape: Mapping[str, Any]) -> EndpointDescription:
    return EndpointDescription(
        name=str(shape["name"]),
        arn=str(shape.get("agentRuntimeEndpointArn") or ""),
        version=str(shape.get("liveVersion") or ""),
        target_version=str(shape.get("targetVersion") or ""),
        status=str(shape.get("status") or "UNKNOWN"),
        description=str(shape.get("description") or ""),
        created_at=shape.get("createdAt"),
        updated_at=shape.get("lastUpdatedAt"),
        failure_reason=str(shape.get("failureReason") or ""),
    )


def _token() -> str:
    return f"loom-{uuid.uuid4().hex}"
