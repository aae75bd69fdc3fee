"""Access control: loopback addresses only, no web pages, and only with the access key."""

from __future__ import annotations

import base64
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import parse_qs

from ..errors import LocalServiceError
from .access.bodies import Body, largest_body, read_whole
from .access.errors import UNKNOWN_KEY, refusal
from .access.keys import Key, Keyring, SessionPrincipal
from .access.signatures import EMPTY, Signature, check_body, declared_payload, read_signature, verify
from .access.unsigned import UnsignedRequest, read_unsigned
from .aws_names.hosts import is_served
from .gateway_paths import gateway_path
from .wire import AsgiScope, Receive, RefusedError

TOKEN_SUBPROTOCOL = "base64UrlBearerAuthorization"  # noqa: S105 - a name
"""The subprotocol with a token after a dot: a browser's WebSocket cannot send Authorization."""

_LOOPBACK_HOST = re.compile(r"(127\.0\.0\.1|localhost)(:\d{1,5})?\Z")
_BEARER_PATHS = ("/_loom/", "/otlp/")  # not signed with SigV4: Loom's own requests and OpenTelemetry exporters
_RUNTIME_PATHS = "/runtimes/"  # calls of runtimes, whose own authorizer may want a bearer token
_PUBLIC_PATHS = "/identity/"  # metadata and public keys of the service's own issuers
_UNSIGNED_BYTES = 200_000  # AWS: a SAML assertion has at most 100,000 characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The caller of a request.

    Attributes:
        service: The AWS service of the credential scope, "loom" for Loom's own requests, or "public" for documents that
            anyone may read.
        region: The region of the scope; empty when there is none.
        key: The request's key; None if it has none.
        bearer: The token of a call to a runtime or a gateway, not verified.
        signature: Its signature; None with a bearer token.
        unsigned: The operation that needs no signature, if it is one.
        fields: Its header fields by lower-case names.
    """

    service: str
    region: str = ""
    key: Key | None
    bearer: str | None = field(default=None, repr=False)
    signature: Signature | None = None
    unsigned: UnsignedRequest | None = None
    fields: Mapping[str, Sequence[str]] = field(default_factory=dict[str, list[str]], repr=False)

    @property
    def principal(self) -> SessionPrincipal | None:
        """The calling session; None for the owner.

        Raises:
            RefusedError: The request does not name a key.
        """
        if self.key is None:
            raise refusal("missing", self.service, "Missing Authentication Token")
        return self.key.principal

    @property
    def account_id(self) -> str:
        """The account of the key; empty for the service's own."""
        return self.key.account_id if self.key else ""

    def header(self, name: str) -> str:
        """Return a header by its lower-case name, or "" if it is missing."""
        return next(iter(self.fields.get(name, ())), "")

    async def read(self, scope: AsgiScope, receive: Receive) -> Body:
        """Read the body of a signed request and verify the signature, if the operation needs one.

        Raises:
            RefusedError: The signature does not match the key, or the body is too large or differs from the signed one.
            ConnectionAbortedError: The client disconnected.
        """
        signature = self.signature
        if signature is None:
            length = self.header("content-length")
            return await read_whole(receive, _UNSIGNED_BYTES, length, self.service, spools=False)
        declared = declared_payload(signature, self.fields)
        if declared is not None:
            self._verify(signature, scope, declared)  # before the body is read
        body = await read_whole(
            receive,
            largest_body(self.service, scope["path"]),
            self.header("content-length"),
            self.service,
            spools=self.service not in ("bedrock", "bedrock-agentcore", "logs"),
        )
        try:
            if declared is None:
                self._verify(signature, scope, body.sha256)
            else:
                assert self.key is not None
                check_body(signature, self.key, declared, digest=body.sha256, body=body.opened())
        except BaseException:
            body.close()
            raise
        return body

    def verify_handshake(self, scope: AsgiScope) -> None:
        """Verify the signature of a WebSocket's opening request, which has no body.

        AgentCore's SDK signs it for AWS's own host name, whatever the endpoint is, so that name is accepted as well.

        Raises:
            RefusedError: The signature does not match the key.
        """
        signature = self.signature
        if signature is None:
            raise refusal("missing", self.service, "Missing Authentication Token")
        payload = declared_payload(signature, self.fields) or EMPTY
        names = dict.fromkeys((*self.fields["host"], f"bedrock-agentcore.{signature.region}.amazonaws.com"))
        for number, name in enumerate(names, 1):
            try:
                self._verify(signature, scope, payload, {**self.fields, "host": [name]})
            except RefusedError:
                if number == len(names):
                    raise
            else:
                return

    def _verify(
        self,
        signature: Signature,
        scope: AsgiScope,
        payload: str,
        fields: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        query = scope["query_string"].decode("latin-1")
        target = scope["raw_path"].decode("latin-1") + (f"?{query}" if query else "")
        assert self.key is not None
        method = scope.get("method", "GET")  # the opening request of a WebSocket is always a GET
        verify(signature, self.key, method=method, target=target, headers=fields or self.fields, payload=payload)


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket bound to loopback.

    Args:
        host: The address; only 127.0.0.1 is accepted.
        port: The port, if it is free; otherwise any free port is used.

    Raises:
        LocalServiceError: Another address was given.
    """
    if host != "127.0.0.1":
        raise LocalServiceError("The local AgentCore only listens on 127.0.0.1", on=host, try_="127.0.0.1")
    # With an explicit protocol asyncio disables Nagle's algorithm for accepted connections; otherwise responses wait 40
    # ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError:
        listener.bind((host, 0))
    return listener


class Guard:
    """Admits or refuses a request by its headers and query, before its body is read."""

    def __init__(self, keys: Keyring) -> None:
        self._keys = keys

    def admit(self, scope: AsgiScope) -> Caller:
        """Return the caller of a request.

        The caller of a signed request is not proven until `Caller.read` has verified the signature.

        Raises:
            RefusedError: One of AWS's errors for a request without a valid key.
        """
        fields = _fields(scope)
        if "origin" in fields or fields.get("sec-fetch-site", ["none"])[0] not in ("none", "same-origin"):
            raise _denied("This service does not answer web pages")
        query = scope["query_string"].decode("latin-1")
        if scope["path"].startswith(_BEARER_PATHS):
            token = fields.get("authorization", [""])[0].removeprefix("Bearer ")
            key = self._keys.find_token(token)
            if key is None:
                raise self._unknown(token, "loom")
            return Caller(service="loom", key=key)
        path = scope["raw_path"].decode("latin-1")
        if path.startswith(_PUBLIC_PATHS):
            return Caller(service="public", key=None, fields=fields)
        own = path.startswith(_RUNTIME_PATHS) or gateway_path(scope) is not None
        if own and (bearer := _bearer(fields)) is not None:
            return Caller(service="bedrock-agentcore", key=None, bearer=bearer, fields=fields)
        signature = read_signature(fields, query)
        if signature is None and own:
            # The runtime or the gateway chooses the response: its authorizer names its issuer.
            return Caller(service="bedrock-agentcore", key=None, fields=fields)
        if signature is None:
            may_be_unsigned = "authorization" not in fields and scope["type"] == "http"
            unsigned = read_unsigned(scope["method"], path, query, fields) if may_be_unsigned else None
            if unsigned is None:
                raise refusal("missing", "", "Missing Authentication Token")
            return Caller(service=unsigned.service, key=None, unsigned=unsigned, fields=fields)
        key = self._keys.find(signature.access_key)
        if key is None:
            raise self._unknown(signature.access_key, signature.service)
        if key.session_token and _security_token(fields, query) != key.session_token:
            raise refusal("unknown", signature.service, UNKNOWN_KEY)
        signature.check_time(datetime.now(UTC))
        return Caller(service=signature.service, region=signature.region, key=key, signature=signature, fields=fields)

    def admit_page(self, scope: AsgiScope) -> None:
        """Admit a browser that opens one of the service's pages, possibly from a link on another site.

        Raises:
            RefusedError: A script of another site requests the page, or the page is embedded there.
        """
        fields = _fields(scope)
        modes, targets = fields.get("sec-fetch-mode", ["navigate"]), fields.get("sec-fetch-dest", ["document"])
        if "origin" in fields or modes[0] != "navigate" or targets[0] != "document":
            raise _denied("This page can be opened only as a window of a browser")

    def _unknown(self, identifier: str, service: str) -> RefusedError:
        if self._keys.has_ended(identifier):
            return refusal("expired", service, "The security token included in the request is expired")
        return refusal("unknown", service, UNKNOWN_KEY)


def _security_token(fields: Mapping[str, Sequence[str]], query: str) -> str:
    tokens = fields.get("x-amz-security-token") or parse_qs(query).get("X-Amz-Security-Token", [""])
    return tokens[0]


def _bearer(fields: Mapping[str, Sequence[str]]) -> str | None:
    """Return the bearer token of a request; a WebSocket request may have it in the name of a subprotocol."""
    authorization = fields.get("authorization", ())
    if authorization:
        scheme, _, token = authorization[0].partition(" ")
        # The agent might read two headers differently, so they count as no token, which is refused as malformed.
        return (token.strip() if len(authorization) == 1 else "") if scheme.lower() == "bearer" else None
    for name in ",".join(fields.get("sec-websocket-protocol", ())).split(","):
        if name.strip().startswith(f"{TOKEN_SUBPROTOCOL}."):
            encoded = name.strip().removeprefix(f"{TOKEN_SUBPROTOCOL}.")
            try:
                return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode("ascii")
            except ValueError:
                return ""
    return None


def _fields(scope: AsgiScope) -> dict[str, list[str]]:
    """Return the header fields of a request whose host is this machine's loopback."""
    fields: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        fields.setdefault(name.decode("latin-1"), []).append(_text(value))
    hosts = fields.get("host", [""])
    # The SDK's header fields of a WebSocket hold AWS's host name, and clients add their own before it.
    others = [host for host in hosts[1:] if scope["type"] != "websocket" or not is_served(host)]
    # Clients that connect through the proxy send AWS's host names, which no web page can rebind.
    if others or not (_LOOPBACK_HOST.match(hosts[0]) or is_served(hosts[0])):
        # A web page whose host name was rebound to 127.0.0.1 still sends its own host name.
        raise _denied("This service answers only to the hosts 127.0.0.1 and localhost")
    return fields


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _denied(message: str) -> RefusedError:
    return RefusedError("AccessDeniedException", 403, message)
