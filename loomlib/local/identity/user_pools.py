"""Token endpoints of user pools of the local Cognito, `https://<domain>.auth.<region>.amazoncognito.com/oauth2/token`.

moto does not have them. Client credentials and refresh tokens are exchanged as on AWS. There is no sign-in page: users
sign in with InitiateAuth.
Source: Amazon Cognito developer guide, "The token issuer endpoint".
"""

from __future__ import annotations

import base64
import hmac
import re
import sys
import time
import uuid
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, unquote_plus, urlsplit

from ..wire import AsgiScope, Receive, Send, read_body, send_json

PATH: Final = "/oauth2/token"
_FORM_BYTES: Final = 100_000
_HOST: Final = re.compile(r"([a-z0-9-]{1,63})\.auth\.([a-z]{2}(?:-[a-z]+)+-\d{1,2})\.amazoncognito\.com(?::443)?")
_DISCOVERY: Final = re.compile(
    r"(https://cognito-idp\.([a-z0-9-]+)\.amazonaws\.com/(\2_[0-9A-Za-z]+))/\.well-known/openid-configuration"
)
_UNITS_S: Final[Mapping[str, int]] = {"seconds": 1, "minutes": 60, "hours": 3_600, "days": 86_400}
_DEFAULT_S: Final = 3_600
_NO_STORE: Final = ((b"cache-control", b"no-store"),)


class _RefusalError(Exception):
    """An OAuth error code."""


def has_token_request(scope: AsgiScope) -> bool:
    """Return whether a request is for the token endpoint of a user pool's domain."""
    if scope["method"] != "POST" or scope["path"] != PATH:
        return False
    host = next((value for name, value in scope["headers"] if name == b"host"), b"").decode("latin-1")
    return _HOST.fullmatch(host.lower()) is not None


async def answer_token_request(scope: AsgiScope, receive: Receive, send: Send) -> None:
    """Answer a request for which `has_token_request` returns True."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    form = dict(parse_qsl((await read_body(receive, _FORM_BYTES)).decode("latin-1")))
    answer = token_of(f"https://{headers['host'].lower()}{PATH}", form, headers)
    status, document = answer or (400, {"error": "invalid_request"})  # no user pool has this domain
    await send_json(send, document, status, headers=_NO_STORE)


def metadata_of(discovery_url: str) -> dict[str, Any] | None:
    """Return the OpenID configuration of a local user pool; None for any other URL.

    Args:
        discovery_url: Its URL on AWS.
    """
    address = pool_address(discovery_url)
    if address is None:
        return None
    issuer, region, pool_id = address
    for backend in pool_backends(region):
        if pool_id not in backend.user_pools:
            continue
        document: dict[str, Any] = {
            "issuer": issuer,
            "jwks_uri": f"{issuer}/.well-known/jwks.json",
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        }
        for domain in backend.user_pool_domains.values():
            if domain.user_pool_id == pool_id:
                document["token_endpoint"] = f"https://{domain.domain}.auth.{region}.amazoncognito.com{PATH}"
        return document
    return None


def token_of(url: str, form: Mapping[str, str], headers: Mapping[str, str]) -> tuple[int, dict[str, Any]] | None:
    """Return the status and the response of a user pool's token endpoint; None if no local user pool has it.

    Args:
        url: The endpoint's address.
        form: The request's parameters.
        headers: The request's headers by lower-case names.
    """
    parts = urlsplit(url)
    host = _HOST.fullmatch(parts.netloc.lower())
    if host is None or parts.path != PATH:
        return None
    for backend in pool_backends(host[2]):
        if domain := backend.user_pool_domains.get(host[1]):
            try:
                return 200, _token(backend.user_pools[domain.user_pool_id], form, headers)
            except _RefusalError as refused:
                return 400, {"error": str(refused)}
    return None


def pool_address(discovery_url: str) -> tuple[str, str, str] | None:
    """Return the issuer, the region and the id of the user pool in AWS's URL of a discovery document."""
    address = _DISCOVERY.fullmatch(discovery_url)
    return (address[1], address[2], address[3]) if address else None


def pool_backends(region: str) -> list[Any]:
    """Return moto's Cognito of every account in a region."""
    # moto's Cognito is slow to import; if it has not been imported, it has no pools.
    models: Any = sys.modules.get("moto.cognitoidp.models")
    accounts: Any = models.cognitoidp_backends if models else {}
    return [backend for account in list(accounts.values()) if (backend := account.get(region)) is not None]


def _token(pool: Any, form: Mapping[str, str], headers: Mapping[str, str]) -> dict[str, Any]:
    client_id, secret = _credentials(form, headers)
    client: Any = pool.clients.get(client_id)
    if client is None or (client.generate_secret and not hmac.compare_digest(client.secret.encode(), secret.encode())):
        raise _RefusalError("invalid_client")
    config: Mapping[str, Any] = client.extended_config
    grant = form.get("grant_type", "")
    if grant == "client_credentials":
        if not client.generate_secret or grant not in (config.get("AllowedOAuthFlows") or ()):
            raise _RefusalError("unauthorized_client")
        return _for_client(pool, client_id, config, form.get("scope", ""))
    if grant == "refresh_token":
        token_record: Any = pool.refresh_tokens.get(form.get("refresh_token", ""))
        if not token_record or token_record[0] != client_id:
            raise _RefusalError("invalid_grant")
        access, identity, lifetime_s = pool.create_tokens_from_refresh_token(form["refresh_token"])
        return {"access_token": access, "id_token": identity, "token_type": "Bearer", "expires_in": lifetime_s}
    raise _RefusalError("unsupported_grant_type" if grant else "invalid_request")


def _for_client(pool: Any, client_id: str, config: Mapping[str, Any], scope: str) -> dict[str, Any]:
    allowed: list[str] = list(config.get("AllowedOAuthScopes") or ())
    scopes = scope.split() or allowed
    if not scopes or set(scopes) - set(allowed):
        raise _RefusalError("invalid_scope")
    from joserfc import jwt

    lifetime_s, now = _lifetime_s(config), int(time.time())
    claims = {
        "iss": f"https://cognito-idp.{pool.region}.amazonaws.com/{pool.id}",
        "sub": client_id,
        "client_id": client_id,
        "token_use": "access",
        "scope": " ".join(scopes),
        "auth_time": now,
        "iat": now,
        "exp": now + lifetime_s,
        "version": 2,
        "jti": str(uuid.uuid4()),
    }
    token = jwt.encode({"kid": "dummy", "alg": "RS256"}, claims, pool.json_web_key)  # the id of moto's key
    return {"access_token": token, "expires_in": lifetime_s, "token_type": "Bearer"}


def _lifetime_s(config: Mapping[str, Any]) -> int:
    units: Mapping[str, str] = config.get("TokenValidityUnits") or {}
    validity = int(config.get("AccessTokenValidity") or 0)
    return validity * _UNITS_S.get(units.get("AccessToken", "hours"), 3_600) or _DEFAULT_S


def _credentials(form: Mapping[str, str], headers: Mapping[str, str]) -> tuple[str, str]:
    authorization = headers.get("authorization", "")
    if not authorization.lower().startswith("basic "):
        return form.get("client_id", ""), form.get("client_secret", "")
    try:
        name, _, secret = base64.b64decode(authorization[6:], validate=True).decode().partition(":")
    except ValueError:
        return "", ""
    return unquote_plus(name), unquote_plus(secret)
