"""Consent sessions: a user's authorization at the authorization server, bound to the user who started it.

GetResourceOauth2Token starts a session and returns the URL of its first page. The page redirects the browser to the
authorization server, which redirects it to the provider's callback, and the callback to the application's return URL,
whose handler calls CompleteResourceTokenAuth. Source: AWS, "OAuth 2.0 authorization URL session binding".
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qs, quote, urlencode, urlsplit, urlunsplit

from ...resources import ResourceRecord
from ...wire import invalid
from .clients import TokenRequest
from .vault import TokenKey

AUTHORIZE_PATH: Final = "/identities/oauth2/authorize"
CALLBACK_PATH: Final = "/identities/oauth2/callback/"
_URI: Final = "urn:ietf:params:oauth:request_uri:"
_LIFETIME_S: Final = 600.0  # AWS: an authorization URL is valid for ten minutes
_MOST_SESSIONS: Final = 1_000


@dataclass(slots=True, kw_only=True)
class ConsentSession:
    """One user's authorization, from its start to the token.

    Attributes:
        uri: Its name, `sessionUri`.
        provider: The credential provider.
        key: The key under which the token will be stored.
        target: The parameters of the authorization request.
        return_url: The application's URL that completes the authorization.
        custom_state: The application's own state, passed back to `return_url`.
        verifier: PKCE's code verifier.
        state: OAuth's state, by which the callback finds the session.
        code: The authorization code, once the user has consented.
        failure: The reason if it failed, otherwise "".
        expires_at: Seconds since 1970.
    """

    uri: str
    provider: ResourceRecord
    key: TokenKey
    target: TokenRequest
    return_url: str
    custom_state: str = field(default="", repr=False)
    verifier: str = field(repr=False)
    state: str = field(repr=False)
    code: str = field(default="", repr=False)
    failure: str = ""
    expires_at: float


class ConsentSessions:
    """The sessions of the last ten minutes, in memory: they are lost when the service stops.

    Args:
        url: The service's address.
        clock: Seconds since 1970.
    """

    def __init__(self, url: str, clock: Callable[[], float] = time.time) -> None:
        self._url, self._clock = url, clock
        self._sessions: OrderedDict[str, ConsentSession] = OrderedDict()
        self._by_state: dict[str, str] = {}

    def begin(
        self, provider: ResourceRecord, key: TokenKey, target: TokenRequest, *, return_url: str, custom_state: str
    ) -> ConsentSession:
        """Return a new session.

        Args:
            provider: The credential provider.
            key: The key under which the token will be stored: workload, user, scopes.
            target: The authorization request's own parameters, such as scopes.
            return_url: The URL to which the browser is redirected after consent.
            custom_state: A string that is passed back to the return URL.
        """
        self._drop_old()
        session = ConsentSession(
            uri=_URI + secrets.token_urlsafe(32),
            provider=provider,
            key=key,
            target=target,
            return_url=return_url,
            custom_state=custom_state,
            verifier=secrets.token_urlsafe(48),
            state=secrets.token_urlsafe(32),
            expires_at=self._clock() + _LIFETIME_S,
        )
        self._sessions[session.uri] = session
        self._by_state[session.state] = session.uri
        return session

    def find(self, uri: str) -> ConsentSession | None:
        """Return a session that has not expired."""
        self._drop_old()
        return self._sessions.get(uri)

    def of_state(self, state: str) -> ConsentSession | None:
        """Return the session of an authorization server's callback by its `state`."""
        return self.find(self._by_state.get(state, ""))

    def end(self, session: ConsentSession) -> None:
        """Delete a session."""
        self._sessions.pop(session.uri, None)
        self._by_state.pop(session.state, None)

    def page(self, session: ConsentSession) -> str:
        """Return the URL at which the user starts (`authorizationUrl`)."""
        return f"{self._url}{AUTHORIZE_PATH}?request_uri={quote(session.uri, safe='')}"

    def _drop_old(self) -> None:
        now = self._clock()
        while self._sessions:
            oldest = next(iter(self._sessions.values()))
            if oldest.expires_at > now and len(self._sessions) < _MOST_SESSIONS:
                return
            self.end(oldest)


def authorization_request(
    session: ConsentSession, metadata: Mapping[str, Any], *, client_id: str, redirect_uri: str
) -> str:
    """Return the authorization URL of a session (RFC 6749, section 4.1.1, with PKCE).

    Args:
        session: The authorization session.
        metadata: The authorization server's metadata (RFC 8414).
        client_id: The client's id at the authorization server.
        redirect_uri: The URL to which the code is sent.

    Raises:
        RefusedError: The metadata does not contain an authorization endpoint.
    """
    challenge = base64.urlsafe_b64encode(hashlib.sha256(session.verifier.encode()).digest()).decode().rstrip("=")
    form = session.target.form(
        response_type="code",
        client_id=client_id,
        redirect_uri=redirect_uri,
        state=session.state,
        code_challenge=challenge,
        code_challenge_method="S256",
    )
    address = metadata.get("authorization_endpoint")
    if not isinstance(address, str) or urlsplit(address).scheme not in ("http", "https"):
        raise invalid("The authorization server's metadata has no authorization_endpoint")
    return with_query(address, form)


def with_query(url: str, added: Mapping[str, str | Sequence[str]]) -> str:
    """Return a URL with further parameters in its query."""
    parts = urlsplit(url)
    query = "&".join(filter(None, (parts.query, urlencode(added, doseq=True))))
    return urlunsplit(parts._replace(query=query))


def only(query: bytes, name: str) -> str:
    """Return the only value of a parameter; "" if it has none or several."""
    values = parse_qs(query.decode("latin-1")).get(name, [])
    return values[0] if len(values) == 1 else ""
