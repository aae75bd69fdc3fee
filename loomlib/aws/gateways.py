"""Gateways of AgentCore and their targets: list, create, delete; the tools themselves are called over MCP."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from loomlib.errors import LoomError, RequestTimeoutError, ResourceNotFoundError

from ..presentation.formats import time_limit
from .connection import Clients
from .errors import translated
from .paging import iter_items

_SETTLED: Final = ("READY", "FAILED", "UPDATE_UNSUCCESSFUL", "SYNCHRONIZE_UNSUCCESSFUL", "CREATE_PENDING_AUTH")
_PAUSE_S: Final = 0.1


class GatewayTargetError(LoomError):
    """A target could not be created; the message contains AgentCore's reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """A gateway.

    Attributes:
        id: Its id.
        name: Its name.
        arn: Its ARN.
        url: Its MCP endpoint.
        status: AgentCore's status, such as READY.
        authorizer: How callers are authorized: NONE, AWS_IAM, CUSTOM_JWT or AUTHENTICATE_ONLY.
        searches: Whether it has the semantic tool search.
        region: The AWS region.
        created_at: When it was created.
    """

    id: str
    name: str
    arn: str
    url: str
    status: str
    authorizer: str
    searches: bool
    region: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayTarget:
    """A target of a gateway, whose tools are called `name___tool`.

    Attributes:
        id: Its id.
        name: Its name.
        kind: `openApiSchema`, `mcpServer`, `lambda`, … as AgentCore names it; "" where AWS's list does not contain it.
        status: AgentCore's status, such as READY.
        reason: Why it failed, "" otherwise.
        updated_at: When it was changed last.
    """

    id: str
    name: str
    kind: str
    status: str
    reason: str
    updated_at: datetime


def list_gateways(clients: Clients, *, region: str | None = None) -> Iterator[Gateway]:
    """Return every gateway of the account in a region, each read in full."""
    control, where = clients.control(region), region or clients.region
    for item in iter_items(control.list_gateways, "items", {}, "Listing gateways", where):
        yield get_gateway(clients, item["gatewayId"], region=where)


def find_gateway(clients: Clients, key: str, *, region: str | None = None) -> Gateway:
    """Return a gateway by its name, id or ARN.

    Args:
        clients: The AWS clients of a connection.
        key: The gateway's name, id or ARN.
        region: The region, if it is not the connection's.

    Raises:
        ResourceNotFoundError: There is none.
    """
    control, where = clients.control(region), region or clients.region
    for item in iter_items(control.list_gateways, "items", {}, "Listing gateways", where):
        if key in (item["name"], item["gatewayId"], item.get("gatewayArn")) or key.endswith(f"/{item['gatewayId']}"):
            return get_gateway(clients, item["gatewayId"], region=where)
    raise ResourceNotFoundError("There is no such gateway", on=f"{key} in {where}", try_="bench.gateways.table()")


def get_gateway(clients: Clients, gateway_id: str, *, region: str | None = None) -> Gateway:
    """Return a gateway by its id.

    Args:
        clients: The AWS clients of a connection.
        gateway_id: The gateway's id.
        region: The region, if it is not the connection's.

    Raises:
        ResourceNotFoundError: There is none.
    """
    with translated("Reading a gateway", on=gateway_id):
        shape: Mapping[str, Any] = clients.control(region).get_gateway(gatewayIdentifier=gateway_id)
    protocols: Mapping[str, Any] = shape.get("protocolConfiguration") or {}
    configuration: Mapping[str, Any] = protocols.get("mcp") or {}
    return Gateway(
        id=shape["gatewayId"],
        name=shape["name"],
        arn=shape["gatewayArn"],
        url=shape.get("gatewayUrl") or "",
        status=shape["status"],
        authorizer=shape["authorizerType"],
        searches=configuration.get("searchType") == "SEMANTIC",
        region=region or clients.region,
        created_at=shape["createdAt"],
    )


def create_gateway(
    clients: Clients,
    name: str,
    *,
    authorizer: str,
    role_arn: str | None,
    searches: bool,
    protocol: str | None = "MCP",
    options: Mapping[str, Any] | None = None,
    region: str | None = None,
) -> Gateway:
    """Create a gateway and return it once it is READY or has failed.

    Args:
        clients: The AWS clients of a connection.
        name: Its name.
        authorizer: AgentCore's type of authorizer.
        role_arn: The role with which it calls its targets; by default one that only the local service accepts.
        searches: Whether to add the semantic tool search.
        protocol: AgentCore's protocol type; None for a gateway with HTTP targets.
        options: Further parameters of CreateGateway in AWS's form, such as `authorizerConfiguration`.
        region: The region, if it is not the connection's.

    Raises:
        ConflictError: The name is taken.
        RequestTimeoutError: The gateway does not become READY in time.
    """
    parameters: dict[str, Any] = {
        "name": name,
        "authorizerType": authorizer,
        **({"protocolType": protocol} if protocol else {}),
        "roleArn": role_arn or f"arn:aws:iam::{clients.account_id()}:role/loom-local",
        **(options or {}),
    }
    if searches:
        parameters["protocolConfiguration"] = {"mcp": {"searchType": "SEMANTIC"}}
    with translated("Creating a gateway", on=name):
        answer = clients.control(region).create_gateway(**parameters)
    deadline = time.monotonic() + 120.0
    while (gateway := get_gateway(clients, answer["gatewayId"], region=region)).status not in _SETTLED:
        _wait(deadline, 120.0, f"The gateway is still {gateway.status}", name)
    return gateway


def delete_gateway(clients: Clients, gateway: Gateway) -> None:
    """Delete a gateway with its targets.

    Raises:
        RequestTimeoutError: A target is not deleted in time.
    """
    control = clients.control(gateway.region)
    for target in list_targets(clients, gateway):
        with translated("Deleting a target", on=target.name):
            control.delete_gateway_target(gatewayIdentifier=gateway.id, targetId=target.id)
    deadline = time.monotonic() + 120.0
    while any(list_targets(clients, gateway)):
        _wait(deadline, 120.0, "The targets are not deleted yet", gateway.name)
    with translated("Deleting the gateway", on=gateway.name):
        control.delete_gateway(gatewayIdentifier=gateway.id)


def list_targets(clients: Clients, gateway: Gateway) -> Iterator[GatewayTarget]:
    """Return the targets of a gateway."""
    control, query = clients.control(gateway.region), {"gatewayIdentifier": gateway.id}
    for item in iter_items(control.list_gateway_targets, "items", query, "Listing targets", gateway.name):
        try:
            with translated("Reading a target", on=item["name"]):
                shape = control.get_gateway_target(gatewayIdentifier=gateway.id, targetId=item["targetId"])
        except ResourceNotFoundError:  # deleted since it was listed
            continue
        yield _target(shape)


def add_target(
    clients: Clients,
    gateway: Gateway,
    name: str,
    configuration: Mapping[str, Any],
    *,
    protocol: str = "mcp",
    credentials: Sequence[Mapping[str, Any]] = (),
    wait_s: float = 120.0,
) -> GatewayTarget:
    """Add a target and return it once it is READY.

    Args:
        clients: The AWS clients of a connection.
        gateway: The gateway.
        name: The target's name.
        configuration: The member of AWS's `targetConfiguration`.
        protocol: Its name: `mcp` or `http`.
        credentials: AWS's `credentialProviderConfigurations`.
        wait_s: The maximum number of seconds to wait until its tools are read.

    Raises:
        GatewayTargetError: The target failed, for example because its document cannot be read.
        RequestTimeoutError: It is not READY after `wait_s`.
    """
    control = clients.control(gateway.region)
    more: dict[str, Any] = {"credentialProviderConfigurations": list(credentials)} if credentials else {}
    with translated("Adding a target", on=name):
        answer = control.create_gateway_target(
            gatewayIdentifier=gateway.id, name=name, targetConfiguration={protocol: dict(configuration)}, **more
        )
    return wait_for_target(clients, gateway, answer["targetId"], wait_s=wait_s)


def wait_for_target(clients: Clients, gateway: Gateway, target_id: str, *, wait_s: float = 120.0) -> GatewayTarget:
    """Return a target once it is READY.

    Args:
        clients: The AWS clients of a connection.
        gateway: The gateway.
        target_id: The target's id.
        wait_s: The maximum number of seconds to wait.

    Raises:
        GatewayTargetError: The target failed.
        RequestTimeoutError: It is not READY after `wait_s`.
    """
    control, deadline = clients.control(gateway.region), time.monotonic() + wait_s
    while True:
        with translated("Reading a target", on=target_id):
            target = _target(control.get_gateway_target(gatewayIdentifier=gateway.id, targetId=target_id))
        if target.status == "READY":
            return target
        if target.status in _SETTLED:
            raise GatewayTargetError(
                f"The target is {target.status}: {target.reason or 'AgentCore gave no reason'}",
                on=f"{target.name} of gateway {gateway.name}",
                try_=f'correct it, then gateway.remove("{target.name}") and add it again',
            )
        _wait(deadline, wait_s, f"The target is still {target.status}", target.name)


def remove_target(clients: Clients, gateway: Gateway, name: str) -> None:
    """Delete a target by its name.

    Args:
        clients: The AWS clients of a connection.
        gateway: The gateway that has the target.
        name: The target's name.

    Raises:
        ResourceNotFoundError: There is none.
    """
    for target in list_targets(clients, gateway):
        if target.name == name:
            with translated("Deleting a target", on=name):
                clients.control(gateway.region).delete_gateway_target(gatewayIdentifier=gateway.id, targetId=target.id)
            return
    raise ResourceNotFoundError(
        "There is no such target", on=f"{name} of gateway {gateway.name}", try_="gateway.targets()"
    )


def _target(shape: Mapping[str, Any]) -> GatewayTarget:
    kinds: Mapping[str, Any] = next(iter(shape["targetConfiguration"].values()), None) or {}
    return GatewayTarget(
        id=shape["targetId"],
        name=shape["name"],
        kind=next(iter(kinds), ""),
        status=shape["status"],
        reason="; ".join(shape.get("statusReasons") or ()),
        updated_at=shape["updatedAt"],
    )


def _wait(deadline: float, wait_s: float, message: str, on: str) -> None:
    if time.monotonic() > deadline:
        raise RequestTimeoutError(f"{message} after {time_limit(wait_s)}", on=on, try_="wait and read it again")
    time.sleep(_PAUSE_S)
