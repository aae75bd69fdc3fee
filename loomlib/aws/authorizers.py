"""The JWT authorizer of a runtime, as a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class JwtAuthorizer:
    """Lets only bearer tokens of one issuer call a runtime (AgentCore's `customJWTAuthorizer`).

        loom.JwtAuthorizer(discovery_url="https://…/.well-known/openid-configuration", clients=["web"])

    A token must match at least one value of every rule that is given. At least one rule is required.

    Attributes:
        discovery_url: Address of the issuer's OpenID configuration.
        audience: Allowed values of `aud`.
        clients: Allowed values of `client_id`.
        scopes: Scopes, at least one of which a token must have.
        claims: Further claims and their values: a string must be equal; at least one value of a list must be in the
            token's list.
    """

    discovery_url: str
    audience: Sequence[str] = ()
    clients: Sequence[str] = ()
    scopes: Sequence[str] = ()
    claims: Mapping[str, str | Sequence[str]] = field(default_factory=dict[str, str | Sequence[str]])

    def __post_init__(self) -> None:
        for name in ("audience", "clients", "scopes"):
            if isinstance(getattr(self, name), str):
                raise TypeError(f"{name} must be a list of strings, such as [{getattr(self, name)!r}]")
        if not (self.audience or self.clients or self.scopes or self.claims):
            raise ValueError("an authorizer needs at least one of audience, clients, scopes and claims")

    def configuration(self) -> dict[str, Any]:
        """Return the `authorizerConfiguration` of CreateAgentRuntime."""
        authorizer: dict[str, Any] = {"discoveryUrl": self.discovery_url}
        rules = {
            "allowedAudience": list(self.audience),
            "allowedClients": list(self.clients),
            "allowedScopes": list(self.scopes),
            "customClaims": [_rule(name, value) for name, value in self.claims.items()],
        }
        return {"customJWTAuthorizer": authorizer | {name: values for name, values in rules.items() if values}}


def _rule(name: str, value: str | Sequence[str]) -> dict[str, Any]:
    is_text = isinstance(value, str)
    match_value: dict[str, Any] = {"matchValueString": value} if is_text else {"matchValueStringList": list(value)}
    return {
        "inboundTokenClaimName": name,
        "inboundTokenClaimValueType": "STRING" if is_text else "STRING_ARRAY",
        "authorizingClaimMatchValue": {
            "claimMatchOperator": "EQUALS" if is_text else "CONTAINS_ANY",
            "claimMatchValue": match_value,
        },
    }
