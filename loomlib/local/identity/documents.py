"""Reads documents of issuers: JSON objects, with limits on time and size.

Redirects are never followed. The address check applies to the IP address that is actually connected to. aiohttp takes
a tenth of the service's start time, so this module is imported only immediately before a request to an issuer.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import socket
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from .addresses import IssuerError, check_address, is_loopback, without_secrets

TIMEOUT_S: Final = 5.0
"""Time limit of a request to an issuer, in seconds."""

LARGEST_BYTES: Final = 256_000


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
    """Send a request to an issuer; return the status and the JSON object of the response.

    Args:
        method: The HTTP method.
        url: The address.
        form: The parameters of a POST.
        headers: Further headers.
        timeout_s: Time limit of the whole response, in seconds.

    Raises:
        IssuerError: The address is refused, does not answer in time, or answers something else. The message has
            nothing of what was sent.
    """
    shown_url = without_secrets(url)
    if fault := check_address(url):
        raise IssuerError(f"{shown_url} is refused: {fault}")
    connector = aiohttp.TCPConnector(resolver=CheckedResolver(here=is_loopback(urlsplit(url))), force_close=True)
    request_headers = {"Accept": "application/json", **(headers or {})}
    try:
        async with (
            asyncio.timeout(timeout_s),
            aiohttp.ClientSession(connector=connector, trust_env=False, cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.request(method, url, data=form, allow_redirects=False, headers=request_headers) as response,
        ):
            if 300 <= response.status < 400:
                raise IssuerError(f"{shown_url} returned a redirect, and redirects of issuers are not followed")
            content = bytearray()
            while part := await response.content.readany():
                content += part
                if len(content) > LARGEST_BYTES:
                    raise IssuerError(f"{shown_url} returned more than {LARGEST_BYTES:,} bytes")
    except TimeoutError as error:
        raise IssuerError(f"{shown_url} did not answer within {timeout_s:g} s") from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise IssuerError(f"{shown_url} cannot be read: {type(error).__name__}") from error
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        if response.status >= 400:
            raise IssuerError(f"{shown_url} answered {response.status}")
        raise IssuerError(f"{shown_url} did not return {'a JSON object' if document is not None else 'JSON'}")
    return response.status, cast("dict[str, Any]", document)


class CheckedResolver(AbstractResolver):
    """Resolves names; refuses loopback addresses for external names, and all other addresses for local ones.

    Args:
        here: Whether names must resolve to this machine rather than to a public address.
    """

    def __init__(self, *, here: bool) -> None:
        self._is_loopback, self._names = here, ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the allowed addresses of a name.

        Raises:
            OSError: It has no allowed address.
        """
        results = await self._names.resolve(host, port, family)
        allowed = [item for item in results if self._allows(ipaddress.ip_address(item["host"].partition("%")[0]))]
        if not allowed:
            raise OSError(f"{host} does not resolve to an allowed address")
        return allowed

    async def close(self) -> None:
        """Release the resolver."""
        await self._names.close()

    def _allows(self, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
        return address.is_loopback if self._is_loopback else address.is_global
