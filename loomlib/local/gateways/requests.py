"""Requests of the service to targets: limited in time and size, and only to this machine or a public address."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit, urlunsplit

from ..aws_names.hosts import is_aws_host, is_served
from ..identity.addresses import check_address, is_loopback, without_secrets
from .tools import TargetError, TargetTimeoutError

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

LARGEST_ANSWER_BYTES: Final = 6_000_000
"""Largest response of a target, in bytes; AWS Lambda's limit of a synchronous response."""

_RULE: Final = "a gateway's target must be at a public https address or on this machine"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetAnswer:
    """A complete response of a target.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAnswer:
    """A response of a target whose body has not been read yet.

    Attributes:
        status: HTTP status.
        headers: Header fields by lower-case names, in their order.
        parts: The parts of the body as they arrive; a `TargetError` ends them if the target aborts the response.
    """

    status: int
    headers: Sequence[tuple[str, str]]
    parts: AsyncIterator[bytes]


def check_target(url: str) -> None:
    """Refuse a URL that a gateway does not contact.

    Raises:
        TargetError: It is neither public nor on this machine, or it is an AWS service that is not emulated locally.
    """
    if fault := check_address(url):
        raise TargetError(f"{without_secrets(url)} is refused: {fault} ({_RULE})")
    host = urlsplit(url).hostname or ""
    if is_aws_host(host) and not is_served(host):
        raise TargetError(f"{without_secrets(url)} is refused: the local AgentCore does not emulate {host}")


class TargetClient:
    """Sends requests to targets; connections are reused.

    Args:
        address: The address of this service.
    """

    def __init__(self, address: str) -> None:
        self._own = urlsplit(address)
        self._sessions: dict[bool, ClientSession] = {}

    async def request(
        self, method: str, url: str, *, headers: Mapping[str, str], body: bytes | None, timeout_s: float
    ) -> TargetAnswer:
        """Send a request to a target and return its answer.

        Args:
            method: HTTP method.
            url: The URL; a request to an AWS address is sent to this service instead.
            headers: Header fields.
            body: The body; None without one.
            timeout_s: Time limit of the whole response, in seconds.

        Raises:
            TargetError: The URL is refused, the target is too slow, or its response is too large or a redirect.
        """
        async with self.open(method, url, headers=headers, body=body, timeout_s=timeout_s) as answer:
            content = b"".join([part async for part in answer.parts])
            return TargetAnswer(status=answer.status, headers=dict(answer.headers), body=content)

    @asynccontextmanager
    async def open(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None,
        timeout_s: float,
        most_bytes: int = LARGEST_ANSWER_BYTES,
    ) -> AsyncGenerator[OpenAnswer]:
        """Send a request to a target and yield its response as soon as its status and header fields have arrived.

        Args:
            method: HTTP method.
            url: The URL; a request to an AWS address is sent to this service instead.
            headers: Header fields.
            body: The body; None without one.
            timeout_s: Time limit of the block, including the whole response, in seconds.
            most_bytes: Largest response body, in bytes.

        Raises:
            TargetError: The URL is refused, or the target did not answer in time, or its response is too large.
        """
        # aiohttp takes a tenth of the service's start time, so it is imported at the first call of a target.
        import aiohttp
        from yarl import URL

        check_target(url)
        parts, request_headers = urlsplit(url), dict(headers)
        if is_served(parts.hostname or ""):
            request_headers["host"] = parts.netloc
            parts = parts._replace(scheme=self._own.scheme, netloc=self._own.netloc)
        address = URL(urlunsplit(parts), encoded=True)  # the signature covers the path as it is sent
        session = self._session(here=is_loopback(parts))
        try:
            async with asyncio.timeout(timeout_s):
                try:
                    response = await session.request(
                        method, address, data=body, headers=request_headers, allow_redirects=False
                    )
                except (aiohttp.ClientError, OSError, ValueError) as error:
                    raise TargetError(f"{without_secrets(url)} cannot be reached: {type(error).__name__}") from error
                try:
                    response_headers = [(name.lower(), value) for name, value in response.headers.items()]
                    yield OpenAnswer(
                        status=response.status,
                        headers=response_headers,
                        parts=_parts(response, without_secrets(url), most_bytes),
                    )
                finally:
                    response.close()
        except TimeoutError as error:
            raise TargetTimeoutError(f"{without_secrets(url)} did not answer within {timeout_s:g} s") from error

    async def close(self) -> None:
        """Close the connections."""
        for session in self._sessions.values():
            await session.close()

    def _session(self, *, here: bool) -> ClientSession:
        if here not in self._sessions:
            import aiohttp

            from ..identity.documents import CheckedResolver

            self._sessions[here] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(resolver=CheckedResolver(here=here), limit=0),
                timeout=aiohttp.ClientTimeout(total=None),
                trust_env=False,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._sessions[here]


async def _parts(response: ClientResponse, url: str, most_bytes: int) -> AsyncIterator[bytes]:
    import aiohttp

    size = 0
    try:
        while part := await response.content.readany():
            size += len(part)
            if size > most_bytes:
                raise TargetError(f"{url} returned more than {most_bytes:,} bytes")
            yield part
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise TargetError(f"{url} aborted its response: {type(error).__name__}") from error
