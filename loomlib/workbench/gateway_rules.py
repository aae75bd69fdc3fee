"""The rules of one gateway; `gateway.rules`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..aws import gateway_rules
from ..aws.gateways import Gateway
from .context import Context
from .frames import rule_frame

if TYPE_CHECKING:
    import pandas as pd


class GatewayRules:
    """The rules that choose a target and a configuration bundle for requests of a gateway's HTTP targets.

    Args:
        context: The workbench's resources.
        gateway: The gateway.
    """

    def __init__(self, context: Context, gateway: Gateway) -> None:
        self._context, self._gateway = context, gateway

    def table(self) -> pd.DataFrame:
        """Return the rules, one row each, in the order in which they are evaluated."""
        rules = gateway_rules.list_rules(self._context.clients, self._gateway)
        return rule_frame(sorted(rules, key=lambda rule: rule.priority))

    def add(
        self,
        priority: int,
        *,
        target: str | Mapping[str, int] | None = None,
        bundle: tuple[str, str] | Mapping[tuple[str, str], int] | None = None,
        paths: Sequence[str] = (),
        principals: Sequence[str] = (),
        description: str = "",
    ) -> gateway_rules.GatewayRule:
        """Add a rule. The first matching rule with a target, and the first with a bundle, apply to a request.

            gateway.rules.add(100, target={"stable": 90, "canary": 10}, paths=["/stable/*"])

        Args:
            priority: From 1 to 1,000,000; lower numbers are evaluated first.
            target: The target that answers, or percentages of two targets; a session keeps its target.
            bundle: ARN and version of a configuration bundle, or percentages of two such pairs.
            paths: The paths to which it applies, such as `/stable/*`; all by default.
            principals: The ARNs of the callers to which it applies, with the wildcards `*` and `?`; all by default.
            description: A description of the rule.

        Raises:
            ConflictError: Another rule has this priority.
            RequestRejectedError: The rule is invalid, for example because a target does not exist.
            ValueError: Neither a target nor a bundle is given.
        """
        actions: list[dict[str, Any]] = []
        if target is not None:
            actions.append({"routeToTarget": _route(target)})
        if bundle is not None:
            actions.append({"configurationBundle": _override(bundle)})
        if not actions:
            raise ValueError("a rule needs a target or a bundle: without them it has no effect")
        conditions: list[dict[str, Any]] = []
        if paths:
            conditions.append({"matchPaths": {"anyOf": list(paths)}})
        if principals:
            conditions.append({"matchPrincipals": {"anyOf": [_principal(arn) for arn in principals]}})
        return gateway_rules.create_rule(
            self._context.clients,
            self._gateway,
            priority=priority,
            actions=actions,
            conditions=conditions,
            description=description,
        )

    def remove(self, rule_id: str) -> None:
        """Delete a rule.

        Args:
            rule_id: The rule's id, as in the table.

        Raises:
            ResourceNotFoundError: It does not exist.
        """
        gateway_rules.delete_rule(self._context.clients, self._gateway, rule_id)


def _route(target: str | Mapping[str, int]) -> dict[str, Any]:
    if isinstance(target, str):
        return {"staticRoute": {"targetName": target}}
    entries = [{"name": name, "targetName": name, "weight": weight} for name, weight in target.items()]
    return {"weightedRoute": {"trafficSplit": entries}}


def _override(bundle: tuple[str, str] | Mapping[tuple[str, str], int]) -> dict[str, Any]:
    if isinstance(bundle, tuple):
        return {"staticOverride": _reference(bundle)}
    entries = [
        {"name": f"variant-{number}", "weight": weight, "configurationBundle": _reference(one)}
        for number, (one, weight) in enumerate(bundle.items(), 1)
    ]
    return {"weightedOverride": {"trafficSplit": entries}}


def _reference(bundle: tuple[str, str]) -> dict[str, str]:
    return {"bundleArn": bundle[0], "bundleVersion": bundle[1]}


def _principal(arn: str) -> dict[str, Any]:
    operator = "StringLike" if "*" in arn or "?" in arn else "StringEquals"
    return {"iamPrincipal": {"arn": arn, "operator": operator}}
