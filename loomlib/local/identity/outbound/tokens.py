"""Workload access tokens: opaque to their holder, they identify the workload and the user for which a caller acts."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from ...contract import CallIdentity, RuntimeVersion
from ...resources import Place, place_of
from ...tenancy import tenant_of
from ...wire import RefusedError, invalid
from .sealing import Sealer, SealError, opened_object

LIFETIME_S: Final = 3_600  # AWS does not publish its own
HEADER: Final = "workloadaccesstoken"
"""The header in which an invocation passes the agent its token (`ACCESS_TOKEN_HEADER` of the AgentCore SDK)."""
PROPAGATED_HEADER: Final = "x-amz-bedrock-agentcore-identity-wat"
"""The header in which an agent passes its own token to the runtime that it calls."""
OTHER_TENANT: Final = "The workload access token belongs to another tenant"
_PURPOSE: Final = "workload access token"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The content of a workload access token.

    Attributes:
        name: The workload identity.
        place: Its region and account.
        user: The user on whose behalf it acts: an id, or the issuer and subject of a JWT; "" for the workload itself.
        user_token: The user's JWT, if the token was created from one.
        tenant: The tenant for which it acts; empty for none.
        expires_at: Seconds since 1970.
    """

    name: str
    place: Place
    user: str = ""
    user_token: str = field(default="", repr=False)
    tenant: str = ""
    expires_at: float = 0.0


class WorkloadTokens:
    """Creates and reads workload access tokens.

    Args:
        sealer: The home's encryption.
        clock: Seconds since 1970.
    """

    def __init__(self, sealer: Sealer, clock: Callable[[], float] = time.time) -> None:
        self._sealer, self._clock = sealer, clock

    def issue(self, name: str, place: Place, *, user_id: str = "", user_token: str = "", tenant: str = "") -> str:
        """Return a token for a workload, for a user's id, or for a user's JWT.

        Args:
            name: The workload identity's name.
            place: Its region and account.
            user_id: The user's id, as the workload names it.
            user_token: The user's JWT instead; the token expires with it.
            tenant: The tenant of the caller; a tenant that the JWT names takes precedence.

        Raises:
            RefusedError: The user's token is not a JWT, or has expired.
        """
        user = f"id:{user_id}" if user_id else ""
        expires_at = self._clock() + LIFETIME_S
        if user_token:
            user, ends = self.user_of(user_token)
            expires_at = min(expires_at, ends)
            tenant = tenant_of(_claims(user_token)) or tenant
        claims = {"workload": name, "place": list(place), "user": user, "token": user_token, "expires": expires_at}
        return self._sealer.seal({**claims, "tenant": tenant}, _PURPOSE)

    def read(self, token: str) -> Workload:
        """Return the content of a token.

        Raises:
            RefusedError: It is not one of this service's tokens, or has expired.
        """
        try:
            claims = opened_object(self._sealer, token, _PURPOSE)
        except SealError as error:
            raise _unauthorized("The workload access token is invalid") from error
        if claims["expires"] <= self._clock():
            raise _unauthorized("The workload access token has expired")
        return Workload(
            name=claims["workload"],
            place=Place(*claims["place"]),
            user=claims["user"],
            user_token=claims["token"],
            tenant=claims.get("tenant", ""),  # tokens of earlier releases do not have one
            expires_at=claims["expires"],
        )

    def user_of(self, user_token: str) -> tuple[str, float]:
        """Return the user of a JWT (issuer and subject) and the time when it expires.

        The signature must already be verified: by the runtime's authorizer, or by `inbound.UserTokens`.

        Raises:
            RefusedError: It is not a JWT with an issuer and a subject, or has expired.
        """
        try:
            claims = _claims(user_token)
            issuer, subject, ends = str(claims["iss"]), str(claims["sub"]), float(claims.get("exp", "inf"))
        except (ValueError, IndexError, KeyError, TypeError) as error:
            raise invalid("userToken must be a JWT with the claims iss and sub") from error
        if ends <= self._clock():
            raise _unauthorized("The user token has expired")
        return f"jwt:{issuer}#{subject}", ends

    def pass_on(
        self,
        headers: MutableMapping[str, str],
        request_headers: Mapping[bytes, bytes],
        runtime: RuntimeVersion,
        identity: CallIdentity,
        bearer: str | None,
    ) -> None:
        """Add the workload access token to the headers of an invocation with a user, as AWS does.

        The workload identity is the invoked runtime's. The user is from the caller's JWT, otherwise from the header
        `X-Amzn-Bedrock-AgentCore-Runtime-User-Id`, otherwise from a calling agent's own token.

        Args:
            headers: The headers that the agent receives.
            request_headers: The headers of the request.
            runtime: The invoked version.
            identity: The caller, as the runtime's authorizer verified it.
            bearer: The bearer token of the request.

        Raises:
            RefusedError: A calling agent's token is invalid.
        """
        headers.pop(HEADER, None)  # a caller cannot supply one
        headers.pop(PROPAGATED_HEADER, None)
        user_id = identity.user_id
        user_token = (bearer or "") if identity.kind == "jwt" else ""
        tenant = ""
        propagated = request_headers.get(PROPAGATED_HEADER.encode(), b"").decode("latin-1")
        if not user_token and not user_id and propagated:
            caller = self.read(propagated)
            user_token, user_id, tenant = caller.user_token, caller.user.removeprefix("id:"), caller.tenant
            if identity.tenant not in ("", tenant):
                raise RefusedError("AccessDeniedException", 403, OTHER_TENANT)
        if user_token or user_id:
            user_id = "" if user_token else user_id
            headers[HEADER] = self.issue(
                runtime.runtime_id,
                place_of(runtime.arn),
                user_id=user_id,
                user_token=user_token,
                tenant=identity.tenant or tenant,
            )


def _claims(user_token: str) -> dict[str, Any]:
    part = user_token.split(".")[1]
    return cast("dict[str, Any]", json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))))


def _unauthorized(message: str) -> RefusedError:
    return RefusedError("UnauthorizedException", 401, message)
