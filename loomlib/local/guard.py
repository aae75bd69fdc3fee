"""Access control: loopback addresses only, no web pages, and only with the access key."""

from __future__ import annotations

import re
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs

from ..errors import LocalServiceError
from .wire import RefusedError

_LOOPBACK_HOST = re.compile(rb"(127\.0\.0\.1|localhost)(:\d{1,5})?\Z")
_CREDENTIAL = re.compile(r"Credential=([^/,\s]+)/([^,\s]+)")

_BEARER_PATHS = ("/_loom/", "/otlp/")  # not signed with SigV4: Loom's own requests and OpenTelemetry exporters


@dataclass(frozen=True, slots=True)
class Caller:
    """An admitted request: the AWS service and region of its credential scope, or service "loom"."""

    service: str
    region: str = ""


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket bound to loopback.

    Args:
        host: The address; only 127.0.0.1 is accepted.
        port: The port, if it is free; otherwise any free port is used.

    Raises:
        LocalServiceError: Another address was given.
    """
    if host != "127.0.0.1":
        raise LocalServiceError("The local AgentCore only listens on 127.0.0.1", on=host)
    # With an explicit protocol asyncio disables Nagle's algorithm for accepted connections; else answers wait 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError:
        listener.bind((host, 0))
    return listener


class Guard:
    """Admits or refuses a request by its headers and query, before its body is read."""

    def __init__(self, access_key: str) -> None:
        self._access_key = access_key.encode()

    def admit(self, headers: Mapping[bytes, bytes], path: str, query: bytes) -> Caller:
        """Return the caller of an admitted request. Raise `RefusedError` with one of AWS's 403 errors otherwise."""
        if not _LOOPBACK_HOST.match(headers.get(b"host", b"")):
            # A web page whose host name was rebound to 127.0.0.1 still sends its own host name.
            raise _denied("This service answers only to the hosts 127.0.0.1 and localhost")
        if b"origin" in headers or headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
            raise _denied("This service does not answer web pages")
        authorization = headers.get(b"authorization", b"").decode("latin-1")
        if path.startswith(_BEARER_PATHS):
            key, scope = authorization.removeprefix("Bearer "), ["", "", "loom"]
        else:
            key, scope = _signed_by(authorization, query)
        if not secrets.compare_digest(key.encode(), self._access_key):
            raise RefusedError(
                "UnrecognizedClientException",
                403,
                "The access key is missing or not this service's; see `bench.environment()` or `loom up --export`",
            )
        return Caller(scope[2], scope[1]) if len(scope) > 2 else Caller("")


def _signed_by(authorization: str, query: bytes) -> tuple[str, list[str]]:
    """Return access key and scope (date, region, service, "aws4_request") of a SigV4 header or presigned query."""
    if match := _CREDENTIAL.search(authorization):
        return match[1], match[2].split("/")
    presigned = parse_qs(query.decode("latin-1")).get("X-Amz-Credential", [""]) if query else [""]
    key, *scope = presigned[0].split("/")
    return key, scope


def _denied(message: str) -> RefusedError:
    return RefusedError("AccessDeniedException", 403, message)
