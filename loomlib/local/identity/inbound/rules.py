"""The rules of a `customJWTAuthorizer`, which decide whether a token of its issuer may call a runtime.

Source: AgentCore developer guide, "Configure inbound JWT authorizer": a token must satisfy all kinds of rules that are
configured, and one value of each kind; a STRING claim is compared with EQUALS, a STRING_ARRAY with CONTAINS or
CONTAINS_ANY.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from ...contract import ClaimCheck
from ...wire import invalid
from ..addresses import check_address

_NOT_HERE: Final = {
    "privateEndpoint": "VPC Lattice is not available",
    "privateEndpointOverrides": "VPC Lattice is not available",
    "certificateConfigurations": "it belongs to privateEndpoint",
    "allowedWorkloadConfiguration": "gateways do not call runtimes",
}
_RULES: Final = ("allowedAudience", "allowedClients", "allowedScopes", "customClaims")
_OPERATORS: Final = {"STRING": ("EQUALS",), "STRING_ARRAY": ("CONTAINS", "CONTAINS_ANY")}
_MEMBERS: Final = {
    "EQUALS": "matchValueString",
    "CONTAINS": "matchValueString",
    "CONTAINS_ANY": "matchValueStringList",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizerRules:
    """The rules of an authorizer, as the service applies them.

    Attributes:
        discovery_url: The URL of the issuer's metadata.
        audiences: Allowed values of `aud`; any value if empty.
        clients: Allowed values of `client_id`.
        scopes: Scopes; a token needs at least one of them.
        advertised_scopes: The same scopes in the form in which clients should request them.
        custom: Rules for other claims.
    """

    discovery_url: str
    audiences: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    advertised_scopes: tuple[str, ...] = ()
    custom: tuple[ClaimRule, ...] = ()

    @classmethod
    def of(cls, authorizer: Mapping[str, Any]) -> AuthorizerRules:
        """Return the rules of a `customJWTAuthorizer`."""
        scopes: tuple[str, ...] = tuple(authorizer.get("allowedScopes") or ())
        mapping: Mapping[str, str] = authorizer.get("advertisedScopeMapping") or {}
        return cls(
            discovery_url=authorizer["discoveryUrl"],
            audiences=tuple(authorizer.get("allowedAudience") or ()),
            clients=tuple(authorizer.get("allowedClients") or ()),
            scopes=scopes,
            advertised_scopes=tuple(mapping.get(scope) or scope for scope in scopes),
            custom=tuple(ClaimRule.of(item) for item in authorizer.get("customClaims") or ()),
        )

    def check(self, claims: Mapping[str, Any]) -> Iterator[ClaimCheck]:
        """Yield the result of each rule for a token's claims."""
        mismatch = "Claim '{}' value mismatch with configuration."
        if self.audiences:
            yield _checked("aud", self.audiences, _texts(claims.get("aud")), mismatch)
        if self.clients:
            yield _checked("client_id", self.clients, _texts(claims.get("client_id"))[:1], mismatch)
        if self.scopes:
            yield _checked("scope", self.scopes, scopes_of(claims), mismatch)
        for rule in self.custom:
            yield _checked(rule.name, rule.values, rule.values_in(claims), "Authorization denied for claim '{}'.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRule:
    """A rule of `customClaims`: the claim must have one of the values."""

    name: str
    is_list: bool
    values: tuple[str, ...]

    @classmethod
    def of(cls, item: Mapping[str, Any]) -> ClaimRule:
        """Return the rule of an item of `customClaims`."""
        match = item["authorizingClaimMatchValue"]["claimMatchValue"]
        return cls(
            name=item["inboundTokenClaimName"],
            is_list=item["inboundTokenClaimValueType"] == "STRING_ARRAY",
            values=tuple(match.get("matchValueStringList") or (match["matchValueString"],)),
        )

    def values_in(self, claims: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the claim's values; empty if its type is not the rule's."""
        value = claims.get(self.name)
        return _texts(value) if isinstance(value, list) == self.is_list else ()


def check_authorizer(configuration: Mapping[str, Any] | None) -> None:
    """Refuse an `authorizerConfiguration` that AWS would refuse, or that is not supported here.

    Raises:
        RefusedError: A ValidationException that names the member.
    """
    authorizer: Mapping[str, Any] | None = (configuration or {}).get("customJWTAuthorizer")
    if authorizer is None:
        return
    for member, why in _NOT_HERE.items():
        if authorizer.get(member):
            raise invalid(f"The local AgentCore does not support {member} of customJWTAuthorizer: {why}")
    if not any(authorizer.get(member) for member in _RULES):
        raise invalid(f"customJWTAuthorizer requires at least one of {', '.join(_RULES)}")
    if faults := check_address(authorizer["discoveryUrl"]):
        raise invalid(f"discoveryUrl cannot be used: {faults}")
    if unknown := set(authorizer.get("advertisedScopeMapping") or ()) - set(authorizer.get("allowedScopes") or ()):
        raise invalid(f"advertisedScopeMapping names scopes that allowedScopes does not: {', '.join(sorted(unknown))}")
    for item in authorizer.get("customClaims") or ():
        _check_rule(item)


def _check_rule(item: Mapping[str, Any]) -> None:
    name, kind = item["inboundTokenClaimName"], item["inboundTokenClaimValueType"]
    match = item["authorizingClaimMatchValue"]
    operator = match["claimMatchOperator"]
    if operator not in _OPERATORS[kind]:
        allowed = " or ".join(_OPERATORS[kind])
        raise invalid(f"claimMatchOperator of the claim {name} must be {allowed} for a {kind}, not {operator}")
    if _MEMBERS[operator] not in match["claimMatchValue"]:
        raise invalid(f"claimMatchValue of the claim {name} must have {_MEMBERS[operator]} for {operator}")


def scopes_of(claims: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the scopes of a token: `scope` (RFC 8693, separated by spaces) or `scp` (Microsoft Entra, Okta)."""
    scopes: list[str] = []
    for name in ("scope", "scp"):
        for text in _texts(claims.get(name)):
            scopes += text.split()
    return tuple(scopes)


def _checked(name: str, expected: Sequence[str], actual: Sequence[str], message: str) -> ClaimCheck:
    passed = not set(expected).isdisjoint(actual)
    return ClaimCheck(
        claim=name,
        expected=tuple(expected),
        given=tuple(actual),
        passed=passed,
        message="" if passed else message.format(name),
    )


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    items = cast("list[object]", value) if isinstance(value, list) else []
    return tuple(item for item in items if isinstance(item, str))
