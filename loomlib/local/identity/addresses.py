"""Which addresses of issuers the service contacts, and how it reads a document from one.

An address of this machine is read over HTTP or HTTPS. Any other must be HTTPS and a public one: otherwise whoever may
create a runtime could make the service contact hosts of the local network, or a cloud's metadata address. Redirects are
never followed, and a name is judged by the address that is then connected to.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import socket
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast
from urllib.parse import SplitResult, urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

TIMEOUT_S: Final = 5.0
"""How long an issuer may take to answer."""

LARGEST_BYTES: Final = 256_000
_LOOPBACK_NAMES = frozenset({"localhost", "ip6-localhost"})


class IssuerError(Exception):
    """An issuer cannot be used; the message says why."""


def check_address(url: str) -> str:
    """Return what is wrong with the address of an issuer's document, "" when it can be used."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "it is not an address"
    if parts.username or parts.password:
        return "it must not contain a password"
    if not host or parts.scheme not in ("http", "https"):
        return "it must be an http or https address"
    if is_here(parts):
        return ""
    if parts.scheme != "https":
        return "it must be https, unless its host is 127.0.0.1 or localhost"
    literal = _literal(host)
    return "" if literal is None or literal.is_global else f"{host} is not a public address"


def is_here(parts: SplitResult) -> bool:
    """Return whether an address is of this machine."""
    host = parts.hostname or ""
    literal = _literal(host)
    return host in _LOOPBACK_NAMES or (literal is not None and literal.is_loopback)


async def read_document(url: str) -> dict[str, Any]:
    """Read a JSON object from an issuer.

    Raises:
        IssuerError: The address is refused, does not answer in time, or answers something else.
    """
    status, document = await ask("GET", url)
    if status != 200:
        raise IssuerError(f"{url} answered {status}")
    return document


async def ask(
    method: str,
    url: str,
    *,
    form: Sequence[tuple[str, str]] | None = None,
    headers: Mapping[str, str] | None = None,
    timeout_s: float = TIMEOUT_S,
) -> tuple[int, dict[str, Any]]:
    """Send a request to an issuer; return the status and the JSON object that answers it.

    Args:
        method: The HTTP method.
        url: The address.
        form: The parameters of a POST.
        headers: Further headers.
        timeout_s: How long the whole answer may take.

    Raises:
        IssuerError: The address is refused, does not answer in time, or answers something else. The message has
            nothing of what was sent.
    """
    shown = _shown(url)
    if fault := check_address(url):
        raise IssuerError(f"{shown} is refused: {fault}")
    connector = aiohttp.TCPConnector(resolver=_Resolver(here=is_here(urlsplit(url))), force_close=True)
    wanted = {"Accept": "application/json", **(headers or {})}
    try:
        async with (
            asyncio.timeout(timeout_s),
            aiohttp.ClientSession(connector=connector, trust_env=False, cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.request(method, url, data=form, allow_redirects=False, headers=wanted) as response,
        ):
            if 300 <= response.status < 400:
                raise IssuerError(f"{shown} redirects, and redirects of issuers are not followed")
            content = bytearray()
            while part := await response.content.readany():
                content += part
                if len(content) > LARGEST_BYTES:
                    raise IssuerError(f"{shown} answered more than {LARGEST_BYTES:,} bytes")
    except TimeoutError as error:
        raise IssuerError(f"{shown} did not answer within {timeout_s:g} s") from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise IssuerError(f"{shown} cannot be read: {type(error).__name__}") from error
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        if response.status >= 400:
            raise IssuerError(f"{shown} answered {response.status}")
        raise IssuerError(f"{shown} did not answer {'a JSON object' if document is not None else 'JSON'}")
    return response.status, cast("dict[str, Any]", document)


def _shown(url: str) -> str:
    """Return an address without what may be a secret: its user and its query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


class _Resolver(AbstractResolver):
    """Resolves names, and refuses those that lead to the other side of loopback."""

    def __init__(self, *, here: bool) -> None:
        self._here, self._names = here, ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        results = await self._names.resolve(host, port, family)
        allowed = [item for item in results if self._allows(ipaddress.ip_address(item["host"].partition("%")[0]))]
        if not allowed:
            raise OSError(f"{host} leads to no address that is allowed")
        return allowed

    async def close(self) -> None:
        await self._names.close()

    def _allows(self, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
        return address.is_loopback if self._here else address.is_global


def _literal(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
