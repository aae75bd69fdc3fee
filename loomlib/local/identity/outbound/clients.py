"""Token requests of one provider: client credentials, authorization code, refresh and on-behalf-of exchange."""

from __future__ import annotations

import asyncio
import base64
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote_plus, urlsplit

from ...wire import RefusedError, invalid
from ..addresses import IssuerError, is_loopback
from ..user_pools import metadata_of, token_of
from .vault import StoredToken

_EXCHANGE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"  # RFC 8693
_BEARER: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"  # RFC 7523
_JWT: Final = "urn:ietf:params:oauth:token-type:jwt"
_ACCESS: Final = "urn:ietf:params:oauth:token-type:access_token"
_METADATA_S: Final = 300.0
_TIMEOUT_S: Final = 10.0
_ERROR_CODE: Final = re.compile(r"[\x20-\x21\x23-\x5b\x5d-\x7e]{1,80}")  # RFC 6749, section 5.2

FormFields = dict[str, str | list[str]]


class GrantRefusedError(RefusedError):
    """The authorization server no longer accepts a grant (`invalid_grant`): the user must consent again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRequest:
    """The parameters of a token request.

    Attributes:
        scopes: OAuth scopes.
        resources: RFC 8707's resource indicators.
        audiences: RFC 8693's audiences.
        custom: Further parameters, which do not replace standard ones.
    """

    scopes: Sequence[str]
    resources: Sequence[str] = ()
    audiences: Sequence[str] = ()
    custom: Mapping[str, str] = field(default_factory=dict[str, str])

    def form(self, **standard: str) -> FormFields:
        """Return the request's parameters."""
        form: FormFields = {**self.custom, **standard}
        if self.scopes:
            form["scope"] = " ".join(self.scopes)
        if self.resources:
            form["resource"] = list(self.resources)
        if self.audiences:
            form["audience"] = list(self.audiences)
        return form


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """An OAuth2 client and its authorization server, from a provider's configuration.

    Attributes:
        client_id: The client's id.
        secret: Its secret.
        config: The provider's configuration without secrets.
        basic: Whether the secret is sent as HTTP basic authentication; None to follow the server's preference.
    """

    client_id: str
    secret: str = field(repr=False)
    config: Mapping[str, Any]
    basic: bool | None = None


class TokenClient:
    """Requests tokens from authorization servers.

    Args:
        clock: Seconds since 1970.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._documents: dict[str, tuple[float, dict[str, Any]]] = {}

    async def metadata(self, client: Client) -> dict[str, Any]:
        """Return the authorization server's metadata, in the form of RFC 8414.

        Raises:
            RefusedError: Its discovery document cannot be read.
        """
        discovery: Mapping[str, Any] = client.config["oauthDiscovery"]
        if metadata := discovery.get("authorizationServerMetadata"):
            return {
                "issuer": metadata["issuer"],
                "authorization_endpoint": metadata["authorizationEndpoint"],
                "token_endpoint": metadata["tokenEndpoint"],
                "token_endpoint_auth_methods_supported": metadata.get("tokenEndpointAuthMethods") or [],
            }
        url: str = discovery["discoveryUrl"]
        if (own := metadata_of(url)) is not None:
            return own
        read_at, document = self._documents.get(url, (0.0, {}))
        if not document or self._clock() - read_at > _METADATA_S:
            document = await _discovered(url)
            self._documents[url] = self._clock(), document
        return document

    async def client_credentials(self, client: Client, target: TokenRequest) -> StoredToken:
        """Return a token for the client itself."""
        return await self._token(client, target.form(grant_type="client_credentials"))

    async def code(self, client: Client, *, code: str, verifier: str, redirect_uri: str) -> StoredToken:
        """Return the token for an authorization code.

        Args:
            client: The OAuth2 client of the credential provider.
            code: The authorization code.
            verifier: PKCE's code verifier (RFC 7636).
            redirect_uri: The URL to which the code was sent.
        """
        form: FormFields = {
            "grant_type": "authorization_code",
            "code": code,
            "code_verifier": verifier,
            "redirect_uri": redirect_uri,
        }
        return await self._token(client, form)

    async def refresh(self, client: Client, token: StoredToken) -> StoredToken:
        """Exchange a refresh token for a new token."""
        form: FormFields = {"grant_type": "refresh_token", "refresh_token": token.refresh_token}
        return await self._token(client, form, former_refresh=token.refresh_token)

    async def on_behalf_of(self, client: Client, target: TokenRequest, user_token: str) -> StoredToken:
        """Return a token with which the client acts for a user at the resource.

        Args:
            client: The client.
            target: The parameters of the token request.
            user_token: The user's JWT.

        Raises:
            RefusedError: The provider is not configured for the exchange, or the server refused it.
        """
        config: Mapping[str, Any] | None = client.config.get("onBehalfOfTokenExchangeConfig")
        if config is None:
            raise invalid("The credential provider has no onBehalfOfTokenExchangeConfig")
        own: Mapping[str, Any] = config.get("onBehalfOfAuthenticationConfig") or {}
        anonymous = own.get("clientAuthenticationMethod") == "NO_CLIENT"
        if config["grantType"] == "JWT_AUTHORIZATION_GRANT":
            form = target.form(grant_type=_BEARER, assertion=user_token)
            form.setdefault("requested_token_use", "on_behalf_of")  # Microsoft's flow requires it; others ignore it
            return await self._token(client, form, anonymous=anonymous)
        form = target.form(grant_type=_EXCHANGE, subject_token=user_token, subject_token_type=_JWT)
        exchange: Mapping[str, Any] = config.get("tokenExchangeGrantTypeConfig") or {}
        actor = exchange.get("actorTokenContent") or "NONE"
        if actor == "M2M":
            actor_token = await self.client_credentials(
                client, TokenRequest(scopes=exchange.get("actorTokenScopes") or ())
            )
            form |= {"actor_token": actor_token.access_token, "actor_token_type": _ACCESS}
        elif actor != "NONE":
            raise invalid(
                f"The local AgentCore does not create actor tokens of the type {actor} yet, only NONE and M2M"
            )
        return await self._token(client, form, anonymous=anonymous)

    async def _token(
        self, client: Client, form: FormFields, *, former_refresh: str = "", anonymous: bool = False
    ) -> StoredToken:
        metadata = await self.metadata(client)
        url = metadata.get("token_endpoint")
        if not isinstance(url, str):
            raise invalid("The authorization server's metadata has no token_endpoint")
        headers: dict[str, str] = {}
        if not anonymous:
            headers = _authenticate(client, form, metadata)
        answer = await _token_response(url, form, headers)
        token = StoredToken.of(answer, self._clock(), former_refresh=former_refresh)
        if token is None:
            raise invalid("The authorization server returned a response without an access_token")
        return token


async def _discovered(url: str) -> dict[str, Any]:
    """Return a discovery document; its endpoints must be on loopback exactly if the document is."""
    from ..documents import read_document

    try:
        document = await read_document(url)
    except IssuerError as error:
        raise invalid(f"The discovery document cannot be used: {error}") from error
    for name in ("authorization_endpoint", "token_endpoint"):
        if is_loopback(urlsplit(str(document.get(name, url)))) != is_loopback(urlsplit(url)):
            raise invalid(
                f"The discovery document cannot be used: only one of its {name} and the issuer is on loopback"
            )
    return document


async def _token_response(url: str, form: FormFields, headers: Mapping[str, str]) -> dict[str, Any]:
    """Return the response of a token endpoint.

    Raises:
        RefusedError: It did not issue a token. The message contains its error code, and no part of the request.
    """
    from ..documents import ask

    pairs = [(name, item) for name, value in form.items() for item in ([value] if isinstance(value, str) else value)]
    try:
        own = await asyncio.to_thread(token_of, url, dict(pairs), headers)
        status, document = own or await ask("POST", url, form=pairs, headers=headers, timeout_s=_TIMEOUT_S)
    except IssuerError as error:
        raise invalid(f"The authorization server did not issue a token: {error}") from error
    code = document.get("error")
    if status != 200 or code:  # GitHub answers errors with status 200
        code = code if isinstance(code, str) and _ERROR_CODE.fullmatch(code) else ""
        refused = invalid(f"The authorization server did not issue a token: it answered {status} {code}".rstrip())
        raise GrantRefusedError(refused.code, refused.status, refused.message) if code == "invalid_grant" else refused
    return document


def _authenticate(client: Client, form: FormFields, metadata: Mapping[str, Any]) -> dict[str, str]:
    """Add the client's credentials to a token request; return the headers."""
    method = client.config.get("clientAuthenticationMethod")
    if method in ("AWS_IAM_ID_TOKEN_JWT", "PRIVATE_KEY_JWT"):
        raise RefusedError(
            "ValidationException",
            400,
            f"The local AgentCore does not authenticate clients with {method} yet, only with their secret",
        )
    basic = client.basic
    if method:
        basic = method == "CLIENT_SECRET_BASIC"
    elif basic is None:
        supported: Any = metadata.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        basic = "client_secret_basic" in supported
    if not basic:
        form |= {"client_id": client.client_id, "client_secret": client.secret}
        return {}
    pair = f"{quote_plus(client.client_id)}:{quote_plus(client.secret)}"  # RFC 6749, section 2.3.1
    return {"authorization": "Basic " + base64.b64encode(pair.encode()).decode()}
