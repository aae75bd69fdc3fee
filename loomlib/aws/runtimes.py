"""Runtimes, endpoints and sessions of AgentCore, as values."""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from loomlib.errors import AwsError, RequestTimeoutError, ResourceNotFoundError

from ..presentation.formats import time_limit
from .connection import Clients
from .errors import failure, translated
from .paging import iter_items

_log = logging.getLogger(__name__)
REDACTED: Final = "(not kept)"
FAILED_STATES: Final = frozenset({"CREATE_FAILED", "UPDATE_FAILED", "DELETE_FAILED"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeDescription:
    """A runtime. `raw` is AWS's whole response, JSON-ready, without the values of environment variables."""

    arn: str
    runtime_id: str
    name: str
    version: str
    status: str
    failure_reason: str = ""
    raw: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)


def describe_runtime(clients: Clients, runtime_id: str, *, region: str | None = None) -> RuntimeDescription:
    """Return the current state of a runtime (GetAgentRuntime).

    Args:
        clients: The AWS clients of a connection.
        runtime_id: The runtime's id.
        region: The region, if it is not the connection's.

    Raises:
        ResourceNotFoundError: There is no such runtime.
    """
    with translated("Describing the runtime", on=runtime_id):
        answer: dict[str, Any] = clients.control(region).get_agent_runtime(agentRuntimeId=runtime_id)
    return described(answer, runtime_id)


def described(answer: Mapping[str, Any], runtime_id: str) -> RuntimeDescription:
    """Return the runtime from a response of GetAgentRuntime.

    Args:
        answer: The response.
        runtime_id: The requested runtime.
    """
    return RuntimeDescription(
        arn=str(answer["agentRuntimeArn"]),
        runtime_id=str(answer.get("agentRuntimeId", runtime_id)),
        name=str(answer.get("agentRuntimeName", "")),
        version=str(answer.get("agentRuntimeVersion", "")),
        status=str(answer.get("status", "UNKNOWN")),
        failure_reason=str(answer.get("failureReason") or ""),
        raw=_plain(answer),
    )


def list_endpoints(clients: Clients, runtime_id: str, *, region: str | None = None) -> list[str]:
    """Return the names of the runtime's endpoints, DEFAULT first; only DEFAULT, with a warning, when listing fails.

    Args:
        clients: The AWS clients of a connection.
        runtime_id: The runtime's id.
        region: The region, if it is not the connection's.
    """
    names: list[str] = []
    query = {"agentRuntimeId": runtime_id}
    try:
        listing = clients.control(region).list_agent_runtime_endpoints
        for one in iter_items(listing, "runtimeEndpoints", query, "Listing the runtime's endpoints", runtime_id):
            names.append(str(one["name"]))
    except AwsError as error:
        _log.warning(
            "The endpoints could not be read, so DEFAULT is assumed: %s", error, extra={"runtime_id": runtime_id}
        )
    unique = dict.fromkeys(names)
    return sorted(unique, key=lambda name: (name != "DEFAULT", name)) or ["DEFAULT"]


def served_version(clients: Clients, runtime_id: str, endpoint: str, *, region: str | None = None) -> str:
    """Return the version that the endpoint serves.

    Empty while it is being updated, and, with a warning, when it is unknown.

    Args:
        clients: The AWS clients of a connection.
        runtime_id: The runtime's id.
        endpoint: The endpoint's name.
        region: The region, if it is not the connection's.
    """
    try:
        with translated("Describing the runtime's endpoint", on=f"{runtime_id}/{endpoint}"):
            endpoint_description: dict[str, Any] = clients.control(region).get_agent_runtime_endpoint(
                agentRuntimeId=runtime_id, endpointName=endpoint
            )
    except AwsError as error:
        _log.warning("The endpoint's version could not be read: %s", error, extra={"runtime_id": runtime_id})
        return ""
    live = str(endpoint_description.get("liveVersion") or "")
    return live if endpoint_description.get("targetVersion") in (None, "", live) else ""


def find_runtime(clients: Clients, name: str, *, region: str | None = None) -> str | None:
    """Return the id of the runtime of that name (unique in an account and region), or None.

    Args:
        clients: The AWS clients of a connection.
        name: The runtime's name; a runtime that is being deleted is ignored.
        region: The region, if it is not the connection's.
    """
    for one in iter_items(clients.control(region).list_agent_runtimes, "agentRuntimes", {}, "Listing runtimes", name):
        if one.get("agentRuntimeName") == name and one.get("status") != "DELETING":
            return str(one["agentRuntimeId"])
    return None


def wait_until_ready(
    clients: Clients,
    runtime_id: str,
    *,
    region: str | None = None,
    timeout_s: float = 300.0,
    progress: Callable[[str], None] | None = None,
) -> RuntimeDescription:
    """Wait until the runtime is READY and return it.

    Args:
        clients: AWS clients.
        runtime_id: The runtime's id.
        region: Its region; by default the clients'.
        timeout_s: The longest wait.
        progress: Called with the state at each look.

    Raises:
        AwsError: Creating or updating failed, with AWS's reason.
        RequestTimeoutError: The runtime is not READY after `timeout_s`.
    """
    began, pause_s = time.monotonic(), 0.05
    while True:
        now = describe_runtime(clients, runtime_id, region=region)
        waited_s = time.monotonic() - began
        if progress is not None:
            progress(_state(now))
        if now.status == "READY":
            return now
        if now.status in FAILED_STATES:
            reason = now.failure_reason or "AWS gives no reason"
            raise AwsError(
                f"The runtime is {now.status}: {reason}",
                on=runtime_id,
                try_="fix the stated cause and deploy again",
                code=now.status,
            )
        if waited_s + pause_s > timeout_s:
            raise failure(
                RequestTimeoutError, f"The runtime is still {now.status} after {time_limit(timeout_s)}", on=runtime_id
            )
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, 5.0, max(0.1, waited_s / 10))  # a wait is at most a tenth longer than necessary


def _state(runtime: RuntimeDescription) -> str:
    if runtime.status in ("CREATING", "UPDATING") and runtime.raw.get("platformVersion") == "V2":
        return f"{runtime.status}: AgentCore starts the agent once and takes the snapshot for its sessions"
    return runtime.status


def delete_runtime(clients: Clients, runtime_id: str, *, region: str | None = None) -> None:
    """Delete the runtime; no error if it does not exist.

    Args:
        clients: The AWS clients of a connection.
        runtime_id: The runtime's id.
        region: The region, if it is not the connection's.
    """
    try:
        with translated("Deleting the runtime", on=runtime_id):
            clients.control(region).delete_agent_runtime(agentRuntimeId=runtime_id, clientToken=_token())
    except ResourceNotFoundError:
        return


def wait_until_gone(clients: Clients, runtime_id: str, *, region: str | None = None, timeout_s: float = 300.0) -> None:
    """Wait until the deletion of a runtime is complete.

    Args:
        clients: The AWS clients of a connection.
        runtime_id: The runtime's id.
        region: The region, if it is not the connection's.
        timeout_s: The longest wait.

    Raises:
        AwsError: Deleting failed, with AWS's reason.
        RequestTimeoutError: The runtime still exists after `timeout_s`.
    """
    began, pause_s = time.monotonic(), 0.05
    while True:
        try:
            now = describe_runtime(clients, runtime_id, region=region)
        except ResourceNotFoundError:
            return
        if now.status == "DELETE_FAILED":
            raise AwsError(f"The runtime is {now.status}: {now.failure_reason}", on=runtime_id, code=now.status)
        if time.monotonic() - began > timeout_s:
            raise failure(
                RequestTimeoutError, f"The runtime is still {now.status} after {time_limit(timeout_s)}", on=runtime_id
            )
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, 5.0)


def runtime_variables(
    clients: Clients, runtime_id: str, names: Collection[str], *, region: str | None = None
) -> dict[str, str]:
    """Return those of the named environment variables that a runtime has; other values are discarded.

    Args:
        clients: The AWS clients of a connection.
        runtime_id: The runtime's id.
        names: Names of environment variables.
        region: The region, if it is not the connection's.
    """
    with translated("Reading the runtime", on=runtime_id):
        answer: dict[str, Any] = clients.control(region).get_agent_runtime(agentRuntimeId=runtime_id)
    variables: Mapping[str, Any] = answer.get("environmentVariables") or {}
    return {name: str(variables[name]) for name in names if name in variables}


def change_environment(
    clients: Clients,
    runtime_id: str,
    variables: Mapping[str, str],
    *,
    region: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> RuntimeDescription:
    """Add environment variables to a runtime, as a new version, and wait until it is READY.

    All other settings are unchanged; no version is created if the runtime already has the variables.

    Args:
        clients: The AWS clients of a connection.
        runtime_id: The runtime's id.
        variables: The variables.
        region: The region, if it is not the connection's.
        progress: Called with the state at each look.

    Raises:
        AwsError: AgentCore rejects the request, or the new version failed.
    """
    control = clients.control(region)
    with translated("Reading the runtime", on=runtime_id):
        answer: dict[str, Any] = control.get_agent_runtime(agentRuntimeId=runtime_id)
    own: Mapping[str, str] = answer.get("environmentVariables") or {}
    if any(own.get(name) != value for name, value in variables.items()):
        accepted = control.meta.service_model.operation_model("UpdateAgentRuntime").input_shape.members
        members = {name: value for name, value in answer.items() if name in accepted}
        with translated("Updating the runtime", on=runtime_id):
            control.update_agent_runtime(**members | {"environmentVariables": {**own, **variables}})
    return wait_until_ready(clients, runtime_id, region=region, progress=progress)


def stop_session(
    clients: Clients,
    arn: str,
    session_id: str,
    *,
    qualifier: str = "DEFAULT",
    region: str | None = None,
    bearer: str | None = None,
) -> bool:
    """End a session (StopRuntimeSession); return False if it had already ended.

    Args:
        clients: The AWS clients of a connection.
        arn: The runtime's ARN.
        session_id: The session.
        qualifier: The endpoint.
        region: The runtime's region.
        bearer: A token that the runtime's authorizer accepts, sent instead of a signature.
    """
    try:
        with translated("Ending the session", on=session_id), clients.data_client(region, bearer=bearer) as client:
            client.stop_runtime_session(
                agentRuntimeArn=arn, runtimeSessionId=session_id, qualifier=qualifier, clientToken=_token()
            )
    except ResourceNotFoundError:
        return False
    return True


def _token() -> str:
    return f"loom-{uuid.uuid4().hex}"


def _plain(answer: Mapping[str, Any]) -> dict[str, Any]:
    description = {name: value for name, value in answer.items() if name != "ResponseMetadata"}
    variables = description.get("environmentVariables")
    if isinstance(variables, Mapping):
        description["environmentVariables"] = dict.fromkeys(cast("Mapping[str, Any]", variables), REDACTED)
    return cast("dict[str, Any]", json.loads(json.dumps(description, default=str)))
