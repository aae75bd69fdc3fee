"""Verification of a user's JWT for which no authorizer names the issuer: GetWorkloadAccessTokenForJWT and consent.

AgentCore developer guide, "Get workload access token": AgentCore Identity validates that the JWT is correctly signed
and unexpired, and identifies the user by its claims `iss` and `sub`. Here an issuer must be known: the service's own,
a pool of the local Cognito, or one that the `discoveryUrl` of an authorizer or a credential provider names. The
service never contacts an issuer merely because a token names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from ...wire import RefusedError, invalid
from ..addresses import IssuerError

if TYPE_CHECKING:
    from .key_sets import KnownIssuer
    from .tokens import TokenVerifier

_METADATA: Final = "/.well-known/openid-configuration"


class UserTokens:
    """Verifies users' tokens.

    Args:
        issuers: Issuers of this service itself.
        configured: Returns the discovery URLs that the home's resources name.
        verifier: Verifies tokens of one issuer.
    """

    def __init__(
        self,
        issuers: Sequence[KnownIssuer],
        configured: Callable[[], Iterable[str]],
        verifier: Callable[[], TokenVerifier],
    ) -> None:
        self._issuers, self._configured, self._verifier = issuers, configured, verifier

    async def verify(self, token: str) -> None:
        """Verify that a token is signed by its issuer and valid.

        Raises:
            RefusedError: It is not a JWT, its issuer is not known here or cannot be read, or it is not valid.
        """
        from .tokens import MalformedTokenError, RefusedTokenError, claims_of

        try:
            claims = claims_of(token)
            issuer, subject = claims.get("iss"), claims.get("sub")
            if not isinstance(issuer, str) or not isinstance(subject, str) or not issuer or not subject:
                raise MalformedTokenError
            discovery_url = await self._discovery_url(issuer)
            await self._verifier().verify(token, discovery_url)
        except MalformedTokenError as error:
            raise invalid("userToken must be a JWT with the claims iss and sub") from error
        except IssuerError as error:
            raise _unauthorized(f"the keys of its issuer cannot be read: {error}") from error
        except RefusedTokenError as error:
            raise _unauthorized(str(error)) from error

    async def _discovery_url(self, issuer: str) -> str:
        """Return the URL of the metadata of a token's issuer.

        Raises:
            IssuerError: The local Cognito has no such pool.
            RefusedError: The issuer is not known here.
        """
        name = issuer.rstrip("/")
        if any(known_issuer.documents(name + _METADATA) for known_issuer in self._issuers):
            return name + _METADATA
        for url in self._configured():
            if url.partition("/.well-known/")[0].rstrip("/") == name:
                return url
        raise _unauthorized(
            "its issuer is not known to the local AgentCore; set the issuer's discoveryUrl in a runtime's "
            "customJWTAuthorizer or in an OAuth2 credential provider"
        )


def _unauthorized(reason: str) -> RefusedError:
    return RefusedError("UnauthorizedException", 401, f"The user token is not valid: {reason}")
