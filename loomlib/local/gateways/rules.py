"""Rules of gateways as resources: the requests that they match, and the target or configuration bundle of these.

Source: AgentCore developer guide, "Add rules to a gateway". Here rules apply to HTTP targets only: changes of a
configuration bundle to an MCP gateway's list of tools are not applied, and inference targets are not supported.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, Final

from ..resources import Behaviour, Draft, Resource, ResourceRecord
from ..resources.store import ResourceStore
from ..wire import RefusedError, conflict, invalid, not_implemented
from .http_targets import RESERVED_NAMES, http_target
from .resources import GATEWAY

GATEWAY_RULE: Final = Resource(
    noun="GatewayRule",
    arn="gateway/{parent}/rule/{id}",
    id="{name}",
    unnamed="rule-{suffix}",
    parent=GATEWAY,
    aliases={"ruleId": "id"},
)
_MOST_RULES: Final = 20


class RuleBehaviour(Behaviour):
    """Checks rules when they are created and changed.

    Args:
        store: The resources.
    """

    def __init__(self, store: ResourceStore) -> None:
        self._store = store

    async def before_create(self, draft: Draft) -> None:
        """Give the rule an id of AWS's form, and refuse a rule that could not be applied."""
        assert draft.parent is not None
        identity = str(uuid.uuid4())
        arn = GATEWAY_RULE.arn_of(id=identity, name=identity, **draft.parent.place._asdict(), parent=draft.parent)
        draft.record = replace(draft.record, id=identity, name=identity, arn=arn)
        if len(self._store.records(GATEWAY_RULE.noun, parent=draft.parent.arn)) >= _MOST_RULES:
            raise RefusedError("ServiceQuotaExceededException", 402, f"A gateway can have at most {_MOST_RULES} rules")
        self._check(draft)

    async def before_update(self, draft: Draft) -> None:
        """Refuse a change that could not be applied."""
        self._check(draft)

    def _check(self, draft: Draft) -> None:
        rule, gateway = draft.record, draft.parent
        assert gateway is not None
        for other in self._store.records(GATEWAY_RULE.noun, parent=gateway.arn):
            if other.id != rule.id and other.document["priority"] == rule.document["priority"]:
                raise conflict(f"The gateway already has a rule with the priority {other.document['priority']}")
        kinds = [kind for action in rule.document["actions"] for kind in action]
        if len(set(kinds)) != len(kinds):
            raise invalid(f"A rule can have at most one action {kinds[0]}")
        for condition in rule.document.get("conditions") or ():
            self._check_condition(gateway, condition)
        for action in rule.document["actions"]:
            self._check_action(gateway, action)

    def _check_condition(self, gateway: ResourceRecord, condition: Mapping[str, Any]) -> None:
        if "matchModels" in condition:
            raise not_implemented("matchModels of a rule's conditions, which needs an inference target")
        paths: Mapping[str, Sequence[str]] = condition.get("matchPaths") or {}
        for pattern in paths.get("anyOf", ()):
            name = pattern.split("/")[1]
            if name in RESERVED_NAMES:
                raise invalid(f"The path prefix /{name} is reserved")
            self._check_target(gateway, name)

    def _check_action(self, gateway: ResourceRecord, action: Mapping[str, Any]) -> None:
        for entry in route_entries(action):
            for member in ("model", "fallback"):
                if entry.get(member):
                    raise not_implemented(f"{member} of a rule's route, which needs an inference target")
            self._check_target(gateway, entry["targetName"])
        if "configurationBundle" in action and gateway.document.get("protocolType") == "MCP":
            raise not_implemented("configurationBundle of the rules of gateways whose protocolType is MCP")
        for bundle in (entry.get("configurationBundle") or entry for entry in bundle_entries(action)):
            if str(bundle["bundleArn"]).split(":")[4] != gateway.place.account_id:
                raise invalid("The configuration bundle must be in the gateway's account")
        for entries in (route_entries(action), bundle_entries(action)):
            if len(entries) == 2:
                if sum(entry["weight"] for entry in entries) != 100:
                    raise invalid("The weights of a trafficSplit must add up to 100")
                if entries[0]["name"] == entries[1]["name"]:
                    raise invalid("The names in a trafficSplit must differ")

    def _check_target(self, gateway: ResourceRecord, name: str) -> None:
        target = http_target(self._store, gateway, name)
        if target is None:
            raise invalid(f"Gateway {gateway.id} has no HTTP target {name}")
        if target.status != "READY":
            raise invalid(f"Target {name} is {target.status}; a rule requires a target that is READY")


def matching_rules(
    store: ResourceStore, gateway: ResourceRecord, *, target: str, arns: Sequence[str]
) -> list[ResourceRecord]:
    """Return the rules of a gateway that match a request, in the order in which they are applied.

    Args:
        store: The resources.
        gateway: The gateway.
        target: The name of the target in the request's path.
        arns: The ARNs of the IAM principal that signed it; none without a signature.
    """
    rules = [
        rule
        for rule in store.records(GATEWAY_RULE.noun, parent=gateway.arn)
        if all(_holds(condition, target, arns) for condition in rule.document.get("conditions") or ())
    ]
    return sorted(rules, key=lambda rule: rule.document["priority"])


def route_entries(action: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the targets that an action routes to: two with weights, one, or none."""
    return _entries(action.get("routeToTarget") or {}, "staticRoute", "weightedRoute")


def bundle_entries(action: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the configuration bundles of an action: two with weights, one, or none."""
    return _entries(action.get("configurationBundle") or {}, "staticOverride", "weightedOverride")


def _entries(choice: Mapping[str, Any], static: str, weighted: str) -> list[Mapping[str, Any]]:
    if static in choice:
        return [choice[static]]
    split: Mapping[str, Sequence[Mapping[str, Any]]] = choice.get(weighted) or {}
    return list(split.get("trafficSplit", ()))


def _holds(condition: Mapping[str, Any], target: str, arns: Sequence[str]) -> bool:
    if "matchPaths" in condition:
        return f"/{target}/*" in condition["matchPaths"]["anyOf"]
    entries = [entry["iamPrincipal"] for entry in condition["matchPrincipals"]["anyOf"]]
    return any(_names(entry, arn) for entry in entries for arn in arns)


def _names(principal: Mapping[str, Any], arn: str) -> bool:
    if principal.get("operator") == "StringLike":
        return fnmatchcase(arn, principal["arn"])  # the model's pattern has no brackets
    return arn == principal["arn"]
