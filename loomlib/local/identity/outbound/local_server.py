"""The local issuer as an authorization server: tokens for the OAuth2 clients that this service's providers configure.

It is for experiments with flows without an identity provider: anyone who opens the consent page can choose any user.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import parse_qsl, unquote_plus, urlsplit

from ...wire import AsgiScope, Receive, RefusedError, Send, read_body, send_body, send_json
from .consent import CALLBACK_PATH, only, with_query

if TYPE_CHECKING:
    from jinja2 import Template

_FORM_BYTES: Final = 200_000
_CODE_S: Final = 60.0
_TOKEN_S: Final = 3_600.0
_MOST: Final = 1_000
_EXCHANGES: Final = {
    "urn:ietf:params:oauth:grant-type:token-exchange": "subject_token",
    "urn:ietf:params:oauth:grant-type:jwt-bearer": "assertion",
}
_PAGE: Final = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Local sign-in (simulated)</title>
<h1>Local sign-in (simulated)</h1>
<p>The client <b>{{ client }}</b> requests: {{ scope or "no scopes" }}.</p>
<form method="get">{% for name, value in given %}<input type="hidden" name="{{ name }}" value="{{ value }}">{% endfor %}
<label>User <input name="login_hint" required autofocus></label> <button>Sign in and agree</button></form></html>"""
_HTML: Final = (
    (b"content-type", b"text/html; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'"),
)


class LocalTokenIssuer(Protocol):
    """The local issuer."""

    @property
    def name(self) -> str:
        """Its name, and the prefix of its URLs."""
        ...

    @property
    def discovery_url(self) -> str:
        """The URL of its metadata."""
        ...

    def documents(self, discovery_url: str) -> tuple[str, Mapping[str, Any]] | None:
        """Return its name and its public keys."""
        ...

    def issue(
        self,
        user: str,
        *,
        client: str,
        scopes: Sequence[str],
        audience: Sequence[str],
        expires_s: float,
        claims: Mapping[str, Any] | None,
    ) -> str:
        """Return a signed token.

        Args:
            user: The subject (`sub`).
            client: The client (`client_id`).
            scopes: The scopes.
            audience: The audience (`aud`); empty leaves the claim out.
            expires_s: Seconds of validity.
            claims: Further claims.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grant:
    """The authorization that a user has granted."""

    user: str
    client: str
    scope: str
    redirect_uri: str = ""
    challenge: str = ""
    ends: float = 0.0


class _RefusalError(Exception):
    """An OAuth error code."""


class LocalAuthorizationServer:
    """Answers the local issuer's authorization and token endpoints.

    Args:
        issuer: Signs the tokens.
        url: The service's address.
        is_client: Returns whether a provider of this service has a client id and a secret; the secret None matches any.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        issuer: LocalTokenIssuer,
        *,
        url: str,
        is_client: Callable[[str, str | None], bool],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._issuer, self._url, self._is_client, self._clock = issuer, url, is_client, clock
        self._path = urlsplit(issuer.name).path
        self._codes: OrderedDict[str, _Grant] = OrderedDict()
        self._refreshes: OrderedDict[str, _Grant] = OrderedDict()

    def has(self, scope: AsgiScope) -> bool:
        """Whether a request is for one of the two endpoints."""
        endpoint = (scope["method"], scope["path"])
        return endpoint in (("GET", f"{self._path}/authorize"), ("POST", f"{self._path}/token"))

    async def answer(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Answer a request; the guard has checked its host."""
        if scope["method"] == "GET":
            await self._authorize(scope["query_string"], send)
            return
        body = await read_body(receive, _FORM_BYTES)
        try:
            await send_json(send, self._token(dict(scope["headers"]), body), headers=((b"cache-control", b"no-store"),))
        except _RefusalError as refused:
            await send_json(send, {"error": str(refused)}, 401 if str(refused) == "invalid_client" else 400)

    async def _authorize(self, query: bytes, send: Send) -> None:
        client, redirect_uri = only(query, "client_id"), only(query, "redirect_uri")
        if not self._is_client(client, None) or not redirect_uri.startswith(f"{self._url}{CALLBACK_PATH}"):
            await send_body(send, b"No credential provider here has this client and callback.", 400, _HTML)
            return
        user, scope = only(query, "login_hint"), only(query, "scope")
        if not user:
            parameters = parse_qsl(query.decode("latin-1"))
            page = _page().render(client=client, scope=scope, given=parameters)
            await send_body(send, page.encode(), 200, _HTML)
            return
        code = secrets.token_urlsafe(32)
        _put(
            self._codes,
            code,
            _Grant(
                user=user,
                client=client,
                scope=scope,
                redirect_uri=redirect_uri,
                challenge=only(query, "code_challenge"),
                ends=self._clock() + _CODE_S,
            ),
        )
        address = with_query(redirect_uri, {"code": code, "state": only(query, "state")})
        await send_body(send, b"", 302, [*_HTML, (b"location", address.encode("ascii", "replace"))])

    def _token(self, headers: Mapping[bytes, bytes], body: bytes) -> dict[str, Any]:
        form = dict(parse_qsl(body.decode("latin-1")))
        client, secret = _credentials(headers, form)
        if not self._is_client(client, secret):
            raise _RefusalError("invalid_client")
        grant, scope = form.get("grant_type", ""), form.get("scope", "")
        claims: dict[str, Any] | None = None
        refresh = grant in ("authorization_code", "refresh_token")
        if grant == "client_credentials":
            user = client
        elif refresh:
            agreed = self._redeemed(form, client) if grant == "authorization_code" else self._renewed(form, client)
            user, scope = agreed.user, agreed.scope
        elif grant in _EXCHANGES:
            user, claims = self._user_of(form.get(_EXCHANGES[grant], "")), {"act": {"sub": client}}
        else:
            raise _RefusalError("unsupported_grant_type")
        audience = [form[name] for name in ("audience", "resource") if form.get(name)]
        try:
            token = self._issuer.issue(
                user, client=client, scopes=scope.split(), audience=audience, expires_s=_TOKEN_S, claims=claims
            )
        except RefusedError as error:
            raise _RefusalError("invalid_request") from error
        answer: dict[str, Any] = {"access_token": token, "token_type": "Bearer", "expires_in": int(_TOKEN_S)}
        if refresh:
            answer["refresh_token"] = secrets.token_urlsafe(32)
            _put(self._refreshes, answer["refresh_token"], _Grant(user=user, client=client, scope=scope))
        return answer

    def _redeemed(self, form: Mapping[str, str], client: str) -> _Grant:
        grant = self._codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if (
            grant is None
            or grant.ends < self._clock()
            or (grant.client, grant.redirect_uri) != (client, form.get("redirect_uri"))
            or not hmac.compare_digest(grant.challenge, challenge)
        ):
            raise _RefusalError("invalid_grant")
        return grant

    def _renewed(self, form: Mapping[str, str], client: str) -> _Grant:
        grant = self._refreshes.pop(form.get("refresh_token", ""), None)
        if grant is None or grant.client != client:
            raise _RefusalError("invalid_grant")
        return grant

    def _user_of(self, token: str) -> str:
        """Return the user of a token of this issuer."""
        from joserfc import jwk, jwt
        from joserfc.errors import JoseError

        documents = self._issuer.documents(self._issuer.discovery_url)
        assert documents is not None
        keys: Any = documents[1]
        try:
            decoded = jwt.decode(token, jwk.KeySet.import_key_set(keys), algorithms=["RS256", "ES384"])
            jwt.JWTClaimsRegistry(iss={"essential": True, "value": self._issuer.name}).validate(decoded.claims)
        except (JoseError, ValueError) as error:
            raise _RefusalError("invalid_grant") from error
        return str(decoded.claims.get("sub", ""))


def _credentials(headers: Mapping[bytes, bytes], form: Mapping[str, str]) -> tuple[str, str]:
    authorization = headers.get(b"authorization", b"").decode("latin-1")
    if not authorization.lower().startswith("basic "):
        return form.get("client_id", ""), form.get("client_secret", "")
    try:
        pair = base64.b64decode(authorization[6:], validate=True).decode()
    except ValueError:
        return "", ""
    client, _, secret = pair.partition(":")
    return unquote_plus(client), unquote_plus(secret)


def _page() -> Template:
    from jinja2 import (
        Environment,
        StrictUndefined,
    )  # imported here to save 40 ms in a service that does not show a page

    return Environment(autoescape=True, undefined=StrictUndefined).from_string(_PAGE)


def _put(grants: OrderedDict[str, _Grant], name: str, grant: _Grant) -> None:
    grants[name] = grant
    while len(grants) > _MOST:
        grants.popitem(last=False)
