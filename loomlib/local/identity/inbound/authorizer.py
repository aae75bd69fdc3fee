"""Authorization of a call to a runtime: by signature, or by the JWT authorizer of the version that is called.

A runtime accepts only one of the two methods. AWS's errors, as its clients report them:

- no credentials for a runtime with an authorizer: 401, with the address of the resource's metadata (RFC 9728);
- a token that is not a JWT, or whose issuer cannot be read: 403 AccessDeniedException "OAuth authorization failed: …";
- a token that is not valid or lacks a claim: 401, with the name of the claim;
- a method other than the runtime's: 403 AccessDeniedException "Authorization method mismatch. …".
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from ...access.errors import refusal
from ...access.keys import SessionPrincipal
from ...access.permissions import require
from ...access.resource_policies import ResourcePolicies
from ...aws_names.hosts import address_of
from ...contract import CallIdentity, ClaimCheck, LogSink, RuntimeVersion
from ...guard import Caller
from ...log_groups import runtime_group
from ...tenancy import tenant_of
from ...wire import ChallengeError, RefusedError
from ..addresses import IssuerError
from .rules import AuthorizerRules, scopes_of
from .tenants import SessionTenants

if TYPE_CHECKING:
    from .key_sets import KnownIssuer
    from .tokens import TokenVerifier

USER_HEADER: Final = "x-amzn-bedrock-agentcore-runtime-user-id"
RESOURCE_METADATA: Final = "/invocations/.well-known/oauth-protected-resource"
DECISION_STREAM: Final = "decisions"
_SERVICE = "bedrock-agentcore"
_MISMATCH = (
    "Authorization method mismatch. The agent is configured for a different authorization method than what was used in "
    "your request. Check the agent's authorization configuration and ensure your request uses the matching method "
    "(OAuth or SigV4)"
)
_SHOWN_CHARACTERS = 200


def decision_group(runtime_id: str, qualifier: str) -> str:
    """Return the log group of the authorization decisions for an endpoint's calls."""
    return f"/loom/authorization/{runtime_id}-{qualifier}"


class InboundAuthorizer:
    """Authorizes calls of runtimes, and records each decision without any part of the token.

    The owner's own signed calls are not recorded, because they are always allowed.

    Args:
        issuers: Issuers of this service itself.
        sink: Receives the decisions as log lines.
        sessions: The tenant of each session.
        policies: The resource-based policies of runtimes and endpoints; None if they are not supported.
    """

    def __init__(
        self,
        issuers: Sequence[KnownIssuer],
        sink: LogSink,
        sessions: SessionTenants,
        policies: ResourcePolicies | None = None,
    ) -> None:
        self._issuers, self._sink, self._policies, self._sessions = issuers, sink, policies, sessions
        self._verifier: TokenVerifier | None = None
        self._rules: dict[tuple[str, str], AuthorizerRules] = {}

    async def authorize(
        self,
        caller: Caller,
        version: RuntimeVersion,
        *,
        qualifier: str,
        operation: str,
        request_id: str,
        session_id: str = "",
        user_id: str | None = None,
    ) -> CallIdentity:
        """Authorize a call and return the identity of its caller.

        Args:
            caller: The caller, whose signature is verified already; the calling code checks the permission for the
                operation.
            version: The version that is called.
            qualifier: The endpoint.
            operation: The operation, such as `InvokeAgentRuntime`.
            request_id: Id of the request.
            session_id: The runtime session.
            user_id: The user that a signed request names; its header by default.

        Raises:
            RefusedError: The caller may not call it.
        """
        about = {"requestId": request_id, "sessionId": session_id, "operation": operation, "version": version.version}
        try:
            if caller.key is not None:
                user_id = caller.header(USER_HEADER) if user_id is None else user_id
                identity, details = _signed(caller, version, operation, user_id), dict[str, Any]()
            elif caller.bearer is None:
                raise self._unauthenticated(caller, version, qualifier)
            else:
                identity, details = await self._by_token(caller, caller.bearer, version, qualifier)
            self._check_policies(caller, version, qualifier, operation)
            if session_id:
                identity = replace(identity, tenant=self._sessions.enter(caller, version, session_id, identity))
        except RefusedError as refused:
            checks: Sequence[ClaimCheck] = refused.members.pop("checks", ())
            self._record(version, qualifier, about, refused, None, {"claims": _check_documents(checks)})
            raise
        if caller.key is None or identity.user_id or caller.principal is not None:
            self._record(version, qualifier, about, None, identity, details)
        return identity

    def tenant_for(self, principal: SessionPrincipal | None) -> str | None:
        """Return the tenant for which a signed caller acts; "" for none, None for the owner, who acts for all.

        Args:
            principal: The session or the assumed role that signed the request; None for the owner.
        """
        return self._sessions.tenant_for(principal)

    def has_policy(self, arn: str) -> bool:
        """Return whether a resource-based policy is attached to a runtime."""
        return self._policies is not None and self._policies.has(arn)

    def _check_policies(self, caller: Caller, version: RuntimeVersion, qualifier: str, operation: str) -> None:
        if self._policies is None:
            return
        action, endpoint = f"{_SERVICE}:{operation}", f"{version.arn}/runtime-endpoint/{qualifier}"
        if caller.key is None:
            self._policies.require_for_token(action, [version.arn, endpoint])
        else:
            account_id = version.arn.split(":")[4]
            self._policies.require(caller.principal, action, [version.arn], account_id, _SERVICE, below=[endpoint])

    def metadata(self, version: RuntimeVersion, host: str, qualifier: str) -> dict[str, Any] | None:
        """Return the metadata of a runtime as a protected resource (RFC 9728), or None without an authorizer.

        Args:
            version: The version that is called.
            host: The host of the request.
            qualifier: The endpoint.
        """
        if version.authorizer is None:
            return None
        rules = self._rules_of(version)
        document: dict[str, Any] = {
            "authorization_servers": [rules.discovery_url.partition("/.well-known/")[0]],
            "resource": f"{address_of(host)}{_path(version)}/invocations?qualifier={quote(qualifier, safe='')}",
            "bearer_methods_supported": ["header"],
        }
        if rules.advertised_scopes:
            document["scopes_supported"] = list(rules.advertised_scopes)
        return document

    def _unauthenticated(self, caller: Caller, version: RuntimeVersion, qualifier: str) -> RefusedError:
        if version.authorizer is None:
            return refusal("missing", _SERVICE, "Missing Authentication Token")
        return self._challenge(caller, version, qualifier, "Missing Authentication Token")

    async def _by_token(
        self, caller: Caller, token: str, version: RuntimeVersion, qualifier: str
    ) -> tuple[CallIdentity, dict[str, Any]]:
        from .tokens import MalformedTokenError, RefusedTokenError

        if version.authorizer is None:
            raise _denied(_MISMATCH)
        rules = self._rules_of(version)
        try:
            verified = await self.tokens().verify(token, rules.discovery_url)
        except (MalformedTokenError, IssuerError) as error:
            raise _denied(f"OAuth authorization failed: {error}") from error
        except RefusedTokenError as error:
            raise self._challenge(caller, version, qualifier, str(error)) from error
        claims = verified.claims
        checks = tuple(rules.check(claims))
        if failed := [check.message for check in checks if not check.passed]:
            raise self._challenge(caller, version, qualifier, " ".join(failed), checks=checks)
        subject = _text(claims.get("sub"))
        identity = CallIdentity(
            kind="jwt",
            caller=f"{verified.issuer} {subject}".strip(),
            issuer=verified.issuer,
            subject=subject,
            client_id=_text(claims.get("client_id")),
            scopes=scopes_of(claims),
            expires_at=float(claims["exp"]),
            tenant=tenant_of(claims),
            checks=checks,
        )
        return identity, {"algorithm": verified.algorithm, "keyId": verified.key.kid or ""}

    def _challenge(
        self,
        caller: Caller,
        version: RuntimeVersion,
        qualifier: str,
        message: str,
        *,
        checks: Sequence[ClaimCheck] = (),
    ) -> ChallengeError:
        host = caller.header("host")
        address = f"{address_of(host)}{_path(version)}{RESOURCE_METADATA}?qualifier={quote(qualifier, safe='')}"
        challenge = f'Bearer resource_metadata="{address}"'
        if scopes := self._rules_of(version).advertised_scopes:
            challenge += f', scope="{" ".join(scopes)}"'
        return ChallengeError(message, challenge, checks=checks)

    def _rules_of(self, version: RuntimeVersion) -> AuthorizerRules:
        key = (version.arn, version.version)
        if key not in self._rules:
            assert version.authorizer is not None
            self._rules[key] = AuthorizerRules.of(version.authorizer)
        return self._rules[key]

    def tokens(self) -> TokenVerifier:
        """Return the verifier of tokens; it is created on first use."""
        if self._verifier is None:
            # Imported here so that a service without authorizers does not import cryptography.
            from .key_sets import KeySets
            from .tokens import TokenVerifier

            self._verifier = TokenVerifier(KeySets(self._issuers))
        return self._verifier

    def _record(
        self,
        version: RuntimeVersion,
        qualifier: str,
        about: Mapping[str, Any],
        refused: RefusedError | None,
        identity: CallIdentity | None,
        details: Mapping[str, Any],
    ) -> None:
        document: dict[str, Any] = {
            **about,
            "decision": "deny" if refused else "allow",
            "method": "jwt" if version.authorizer else "sigv4",
            **details,
        }
        if refused is not None:
            document |= {"status": refused.status, "reason": refused.message[:1_000]}
        if identity is not None:
            document |= {
                "caller": identity.caller[:1_000],
                "tenant": identity.tenant[:_SHOWN_CHARACTERS],
                "userId": identity.user_id[:_SHOWN_CHARACTERS],
                "issuer": identity.issuer,
                "subject": identity.subject[:_SHOWN_CHARACTERS],
                "clientId": identity.client_id[:_SHOWN_CHARACTERS],
                "scopes": [scope[:_SHOWN_CHARACTERS] for scope in identity.scopes[:50]],
                "expiresAt": identity.expires_at,
                "claims": _check_documents(identity.checks),
                "runsAs": version.role_arn,
                "tokenReachesAgent": identity.kind == "jwt" and "authorization" in version.header_allowlist,
            }
        self._sink.write(
            group=runtime_group(version, decision_group(version.runtime_id, qualifier)),
            stream=DECISION_STREAM,
            timestamp_ms=int(time.time() * 1000),
            message=json.dumps(document),
        )


def _signed(caller: Caller, version: RuntimeVersion, operation: str, user_id: str) -> CallIdentity:
    if version.authorizer is not None:
        raise _denied(_MISMATCH)
    principal = caller.principal
    if user_id:
        # AgentCore developer guide: the header requires a permission in addition to the one for the call.
        require(principal, f"bedrock-agentcore:{operation}ForUser", [version.arn], _SERVICE)
    name = principal.arn if principal else f"arn:aws:iam::{version.arn.split(':')[4]}:root"
    return CallIdentity(kind="sigv4", caller=name, user_id=user_id)


def _denied(message: str) -> RefusedError:
    return RefusedError("AccessDeniedException", 403, message)


def _path(version: RuntimeVersion) -> str:
    return f"/runtimes/{quote(version.arn, safe='')}"


def _check_documents(checks: Sequence[ClaimCheck]) -> list[dict[str, Any]]:
    return [
        {
            "claim": check.claim,
            "expected": [text[:_SHOWN_CHARACTERS] for text in check.expected[:20]],
            "given": [text[:_SHOWN_CHARACTERS] for text in check.given[:20]],
            "passed": check.passed,
        }
        for check in checks
    ]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
