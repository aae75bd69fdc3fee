"""Checks of the URLs of token issuers that the service contacts.

A URL on this machine can use HTTP or HTTPS. Any other URL must use HTTPS and a public address. Otherwise anyone who can
create a runtime could make the service contact hosts of the local network, or a cloud's metadata address.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import SplitResult, urlsplit

_LOOPBACK_NAMES = frozenset({"localhost", "ip6-localhost"})


class IssuerError(Exception):
    """An issuer cannot be used; the message says why."""


def check_address(url: str) -> str:
    """Return the fault of the URL of an issuer's document; "" if the URL can be used."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "it is not a valid URL"
    if parts.username or parts.password:
        return "it must not contain a password"
    if not host or parts.scheme not in ("http", "https"):
        return "it must be an http or https URL"
    if is_loopback(parts):
        return ""
    if parts.scheme != "https":
        return "it must be https unless its host is 127.0.0.1 or localhost"
    literal = _literal(host)
    return "" if literal is None or literal.is_global else f"{host} is not a public address"


def without_secrets(url: str) -> str:
    """Return a URL for messages: without its user info and its query, which may contain credentials."""
    try:
        parts = urlsplit(url)
    except ValueError:  # such as an incomplete IPv6 address
        return "The URL"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def is_loopback(parts: SplitResult) -> bool:
    """Return whether a URL's host is this machine."""
    host = parts.hostname or ""
    literal = _literal(host)
    return host in _LOOPBACK_NAMES or (literal is not None and literal.is_loopback)


def _literal(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
