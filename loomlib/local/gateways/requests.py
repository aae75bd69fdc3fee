"""Requests of the service to targets: within a time and a size, and to this machine or a public address only."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from ..aws_names.hosts import is_of_aws, is_served
from ..identity.addresses import check_address, is_here
from .tools import TargetError

LARGEST_ANSWER_BYTES: Final = 6_000_000
"""The most that a target may answer, as AWS Lambda's largest synchronous answer."""

_RULE: Final = "a gateway's target is at a public https address or on this machine"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetAnswer:
    """An answer of a target.

    Attributes:
        status: HTTP status.
        headers: Header fields by lower-case names.
        body: The whole body.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body as text; bytes that are not UTF-8 are replaced."""
        return self.body.decode("utf-8", "replace")


def check_target(url: str) -> None:
    """Refuse an address that a gateway does not contact.

    Raises:
        TargetError: It is neither public nor on this machine, or it is a service of AWS that is not local.
    """
    if fault := check_address(url):
        raise TargetError(f"{shown(url)} is refused: {fault} ({_RULE})")
    host = urlsplit(url).hostname or ""
    if is_of_aws(host) and not is_served(host):
        raise TargetError(f"{shown(url)} is refused: the local AgentCore does not serve {host}")


async def request(
    method: str, url: str, *, headers: Mapping[str, str], body: bytes | None, timeout_s: float, here: str
) -> TargetAnswer:
    """Send a request to a target and return its answer.

    Args:
        method: HTTP method.
        url: The address; one of AWS is asked of this service.
        headers: Header fields.
        body: The body; None without one.
        timeout_s: How long the whole answer may take.
        here: The address of this service.

    Raises:
        TargetError: The address is refused, or the target did not answer in time, answered too much or redirected.
    """
    # aiohttp takes a tenth of what the service needs to start: only a call of a target costs its import.
    import aiohttp
    from yarl import URL

    from ..identity.documents import CheckedResolver

    check_target(url)
    parts, sent = urlsplit(url), dict(headers)
    if is_served(parts.hostname or ""):
        sent["host"] = parts.netloc
        own = urlsplit(here)
        parts = parts._replace(scheme=own.scheme, netloc=own.netloc)
    address = URL(urlunsplit(parts), encoded=True)  # the signature is of the path as it is
    connector = aiohttp.TCPConnector(resolver=CheckedResolver(here=is_here(parts)), force_close=True)
    try:
        async with (
            asyncio.timeout(timeout_s),
            aiohttp.ClientSession(connector=connector, trust_env=False, cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.request(method, address, data=body, headers=sent, allow_redirects=False) as response,
        ):
            content = bytearray()
            while part := await response.content.readany():
                content += part
                if len(content) > LARGEST_ANSWER_BYTES:
                    raise TargetError(f"{shown(url)} answered more than {LARGEST_ANSWER_BYTES:,} bytes")
            named = {name.lower(): value for name, value in response.headers.items()}
            return TargetAnswer(status=response.status, headers=named, body=bytes(content))
    except TimeoutError as error:
        raise TargetError(f"{shown(url)} did not answer within {timeout_s:g} s") from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise TargetError(f"{shown(url)} cannot be reached: {type(error).__name__}") from error


def shown(url: str) -> str:
    """Return an address without its query and its user, which may hold credentials."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
