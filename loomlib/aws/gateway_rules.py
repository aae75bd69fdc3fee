"""Rules of gateways: list, create and delete them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from loomlib.errors import RequestTimeoutError

from ..presentation.formats import time_limit
from .connection import Clients
from .errors import translated
from .gateways import Gateway
from .paging import iter_items

_PAUSE_S: Final = 0.1
_WAIT_S: Final = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayRule:
    """A rule of a gateway; it applies to requests to HTTP targets.

    Attributes:
        id: Its id.
        priority: Rules with lower numbers are evaluated first.
        paths: The paths to which it applies, such as `/assistant/*`; empty for all paths.
        principals: The ARNs of the callers to which it applies; empty for all callers.
        targets: Where requests go: percentages by target name; empty if the rule does not set a target.
        bundles: Configuration bundles of the requests: percentages by "ARN version"; empty if the rule does not set
            one.
        description: Its purpose.
        status: AgentCore's status, such as ACTIVE.
        created_at: When it was created.
    """

    id: str
    priority: int
    paths: Sequence[str]
    principals: Sequence[str]
    targets: Mapping[str, int]
    bundles: Mapping[str, int]
    description: str
    status: str
    created_at: datetime


def list_rules(clients: Clients, gateway: Gateway) -> Iterator[GatewayRule]:
    """Return the rules of a gateway."""
    control, query = clients.control(gateway.region), {"gatewayIdentifier": gateway.id}
    for item in iter_items(control.list_gateway_rules, "gatewayRules", query, "Listing rules", gateway.name):
        yield _rule(item)


def create_rule(
    clients: Clients,
    gateway: Gateway,
    *,
    priority: int,
    actions: Sequence[Mapping[str, Any]],
    conditions: Sequence[Mapping[str, Any]] = (),
    description: str = "",
) -> GatewayRule:
    """Create a rule and return it once it is ACTIVE.

    Args:
        clients: The AWS clients of a connection.
        gateway: The gateway.
        priority: Its priority, unique within the gateway.
        actions: AWS's `actions`.
        conditions: AWS's `conditions`.
        description: Its purpose.

    Raises:
        ConflictError: Another rule has the priority.
        RequestRejectedError: The rule is invalid, for example because a target does not exist.
        RequestTimeoutError: The rule does not become ACTIVE in time.
    """
    control = clients.control(gateway.region)
    more: dict[str, Any] = {"description": description} if description else {}
    if conditions:
        more["conditions"] = [dict(condition) for condition in conditions]
    on, deadline = f"priority {priority} of gateway {gateway.name}", time.monotonic() + _WAIT_S
    with translated("Creating a rule", on=on):
        answer = control.create_gateway_rule(
            gatewayIdentifier=gateway.id, priority=priority, actions=[dict(action) for action in actions], **more
        )
    while True:
        with translated("Reading a rule", on=on):
            rule = _rule(control.get_gateway_rule(gatewayIdentifier=gateway.id, ruleId=answer["ruleId"]))
        if rule.status == "ACTIVE":
            return rule
        if time.monotonic() > deadline:
            raise RequestTimeoutError(
                f"The rule is still {rule.status} after {time_limit(_WAIT_S)}", on=on, try_="gateway.rules.table()"
            )
        time.sleep(_PAUSE_S)


def delete_rule(clients: Clients, gateway: Gateway, rule_id: str) -> None:
    """Delete a rule.

    Raises:
        ResourceNotFoundError: There is none.
    """
    with translated("Deleting a rule", on=f"{rule_id} of gateway {gateway.name}"):
        clients.control(gateway.region).delete_gateway_rule(gatewayIdentifier=gateway.id, ruleId=rule_id)


def _rule(shape: Mapping[str, Any]) -> GatewayRule:
    paths: list[str] = []
    principals: list[str] = []
    for condition in shape.get("conditions") or ():
        if "matchPaths" in condition:
            paths += condition["matchPaths"]["anyOf"]
        elif "matchPrincipals" in condition:
            principals += [entry["iamPrincipal"]["arn"] for entry in condition["matchPrincipals"]["anyOf"]]
    targets: dict[str, int] = {}
    bundles: dict[str, int] = {}
    for action in shape["actions"]:
        for entry, weight in _weighed(action.get("routeToTarget") or {}):
            targets[str(entry["targetName"])] = weight
        for entry, weight in _weighed(action.get("configurationBundle") or {}):
            bundle: Mapping[str, Any] = entry.get("configurationBundle") or entry
            bundles[f"{bundle['bundleArn']} {bundle['bundleVersion']}"] = weight
    return GatewayRule(
        id=shape["ruleId"],
        priority=shape["priority"],
        paths=paths,
        principals=principals,
        targets=targets,
        bundles=bundles,
        description=shape.get("description") or "",
        status=shape["status"],
        created_at=shape["createdAt"],
    )


def _weighed(choice: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], int]]:
    """Yield the alternatives of an action with their percentages."""
    for value in choice.values():
        if "trafficSplit" in value:
            yield from ((entry, int(entry["weight"])) for entry in value["trafficSplit"])
        else:
            yield value, 100
