"""Authorization of callers of a gateway: anybody, signed callers, or callers with a token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ..access.errors import refusal
from ..access.resource_policies import PolicyCaller, ResourcePolicies
from ..gateway_paths import METADATA_PATH
from ..guard import Caller
from ..identity.addresses import IssuerError
from ..identity.inbound import AuthorizerRules, InboundAuthorizer
from ..otlp.caller_spans import trace_of
from ..resources import ResourceRecord
from ..tenancy import acting_for, sees_resource
from ..wire import ChallengeError, RefusedError, Send, not_found, send_json

_SERVICE: Final = "bedrock-agentcore"
_INVOKE: Final = "bedrock-agentcore:InvokeGateway"


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayCaller:
    """A caller that a gateway has admitted, with its verified identity.

    Attributes:
        claims: The claims of its token; none without one.
        arns: The ARNs of the IAM principal that signed the request; none without a signature.
        bearer: Its token; "" without one.
        fields: The header fields of its request by lower-case names.
    """

    claims: Mapping[str, Any]
    arns: tuple[str, ...] = ()
    bearer: str = field(default="", repr=False)
    fields: Mapping[str, str] = field(repr=False)

    @property
    def principal(self) -> str:
        """The ARN of the caller in rate limits; "" without a signature."""
        return self.arns[0] if self.arns else ""

    def trace(self, traceparent: str = "") -> dict[str, str]:
        """Return the trace context of the request: from the message, otherwise from the header fields."""
        context = traceparent or self.fields.get("traceparent", "")
        return {"traceParent": context, "traceId": self.fields.get("x-amzn-trace-id", "")}


def child_trace(headers: Mapping[str, str], span_id: str) -> dict[str, str]:
    """Return the header that makes a span the parent of the target's spans; none without a trace context."""
    parent = trace_of(headers)
    return {"traceparent": f"00-{parent[0]}-{span_id}-01"} if parent is not None else {}


class GatewayCallers:
    """Admits callers by the authorizers of gateways.

    Args:
        inbound: Verifies tokens.
        policies: The resource-based policies of gateways.
    """

    def __init__(self, inbound: InboundAuthorizer, policies: ResourcePolicies) -> None:
        self._inbound, self._policies = inbound, policies

    async def admit(self, caller: Caller, gateway: ResourceRecord, address: str) -> GatewayCaller:
        """Admit a caller of a gateway and return it with its verified identity.

        Args:
            caller: The caller; a signature is verified already.
            gateway: The gateway.
            address: The gateway's address, as the caller reached it.

        Raises:
            RefusedError: It may not.
        """
        claims = await self._authorize(caller, gateway, address)
        signed = caller.signature is not None and caller.key is not None
        return GatewayCaller(
            claims=claims,
            arns=PolicyCaller.of(caller.principal, caller.account_id or gateway.place.account_id).arns
            if signed
            else (),
            bearer=caller.bearer or "",
            fields={name: ", ".join(values) for name, values in caller.fields.items()},
        )

    def sees(self, caller: Caller, gateway: ResourceRecord) -> bool:
        """Return whether a caller can see a gateway. A signed caller sees those of its own tenant and shared ones."""
        if caller.key is None:
            return True  # the gateway's authorizer decides
        with acting_for(self._inbound.tenant_for(caller.principal)):
            return sees_resource(gateway.tenant)

    async def send_metadata(self, gateway: ResourceRecord, address: str, send: Send) -> None:
        """Send the protected resource metadata, which names the authorization server that a gateway trusts.

        Raises:
            RefusedError: The gateway has no authorization server.
        """
        if gateway.document["authorizerType"] != "CUSTOM_JWT":
            raise not_found(f"Gateway {gateway.id} has no authorization server")
        rules = _rules(gateway)
        document: dict[str, Any] = {
            "authorization_servers": [rules.discovery_url.partition("/.well-known/")[0]],
            "resource": f"{address}/mcp",
            "bearer_methods_supported": ["header"],
        }
        if rules.advertised_scopes:
            document["scopes_supported"] = list(rules.advertised_scopes)
        await send_json(send, document)

    async def _authorize(self, caller: Caller, gateway: ResourceRecord, address: str) -> Mapping[str, Any]:
        """Return the claims of a caller's verified token; empty for other callers."""
        kind: str = gateway.document["authorizerType"]
        if kind == "NONE":
            return {}
        if kind == "AWS_IAM":
            if caller.key is None:
                raise refusal("missing", _SERVICE, "Missing Authentication Token")
            self._policies.require(caller.principal, _INVOKE, [gateway.arn], gateway.place.account_id, _SERVICE)
            return {}
        challenge = f'Bearer resource_metadata="{address}{METADATA_PATH}"'
        if caller.bearer is None:
            raise ChallengeError("Missing Bearer token", challenge)
        if kind == "CUSTOM_JWT":
            claims = await self._verify(caller.bearer, gateway, challenge)
            self._policies.require_for_token(_INVOKE, [gateway.arn])
            return claims
        raise RefusedError("AccessDeniedException", 403, f"The local AgentCore does not authorize by {kind} yet")

    async def _verify(self, token: str, gateway: ResourceRecord, challenge: str) -> Mapping[str, Any]:
        from ..identity.inbound.tokens import MalformedTokenError, RefusedTokenError

        rules = _rules(gateway)
        try:
            verified = await self._inbound.tokens().verify(token, rules.discovery_url)
        except (MalformedTokenError, RefusedTokenError, IssuerError) as error:
            raise ChallengeError(f"Invalid Bearer token: {error}", challenge) from error
        if failed := [check.message for check in rules.check(verified.claims) if not check.passed]:
            raise RefusedError("AccessDeniedException", 403, " ".join(failed))
        return verified.claims


def _rules(gateway: ResourceRecord) -> AuthorizerRules:
    return AuthorizerRules.of(gateway.document["authorizerConfiguration"]["customJWTAuthorizer"])
