"""Requests to authorization servers: bounded in time and size, without redirects and without proxies.

Only addresses that a provider's configuration names are asked, or that its discovery document names; over plain HTTP
only this machine's loopback.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any, Final, cast
from urllib.parse import urlsplit

TIMEOUT_S: Final = 10.0
LARGEST_ANSWER_BYTES: Final = 256 * 1024
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_ERROR_CODE: Final = re.compile(r"[\x20-\x21\x23-\x5b\x5d-\x7e]{1,80}")  # RFC 6749, section 5.2


class EndpointError(Exception):
    """An authorization server did not answer as it should; the message never contains what was sent.

    Attributes:
        code: OAuth's error code, "" when it answered with none.
    """

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


async def get_json(url: str) -> dict[str, Any]:
    """Return the JSON object at an address, such as a discovery document.

    Raises:
        EndpointError: There is none.
    """
    status, document = await _ask("GET", url, headers={}, form=None)
    if status != 200:
        raise EndpointError(f"{_shown(url)} answered {status}")
    return document


async def post_form(url: str, form: Mapping[str, str | list[str]], headers: Mapping[str, str]) -> dict[str, Any]:
    """Send a token request and return the JSON object that answers it.

    Args:
        url: The token endpoint.
        form: The parameters; one with a list is repeated.
        headers: Further headers.

    Raises:
        EndpointError: The server refused, or did not answer.
    """
    pairs = [(name, item) for name, value in form.items() for item in ([value] if isinstance(value, str) else value)]
    status, document = await _ask("POST", url, headers=headers, form=pairs)
    code = document.get("error")
    if status >= 300 or code:  # GitHub answers errors with status 200
        code = code if isinstance(code, str) and _ERROR_CODE.fullmatch(code) else ""
        raise EndpointError(f"{_shown(url)} answered {status}{f' {code}' if code else ''}", code)
    return document


async def _ask(
    method: str, url: str, *, headers: Mapping[str, str], form: list[tuple[str, str]] | None
) -> tuple[int, dict[str, Any]]:
    import aiohttp  # 0.1 s, which a service that asks no server does not spend

    _check(url)
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=False, cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.request(
                method, url, data=form, headers={"accept": "application/json", **headers}, allow_redirects=False
            ) as answer,
        ):
            body = bytearray()
            async for chunk in answer.content.iter_chunked(16_384):
                body += chunk
                if len(body) > LARGEST_ANSWER_BYTES:
                    raise EndpointError(f"{_shown(url)} answered more than {LARGEST_ANSWER_BYTES:,} bytes")
            status = answer.status
    except TimeoutError as error:
        raise EndpointError(f"{_shown(url)} did not answer within {TIMEOUT_S:g} s") from error
    except (aiohttp.ClientError, OSError, asyncio.IncompleteReadError) as error:
        raise EndpointError(f"{_shown(url)} cannot be reached: {type(error).__name__}") from error
    if 300 <= status < 400:
        raise EndpointError(f"{_shown(url)} answered {status}: redirects are not followed")
    try:
        document: Any = json.loads(bytes(body))
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise EndpointError(f"{_shown(url)} answered {status} without a JSON object")
    return status, cast("dict[str, Any]", document)


def _check(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise EndpointError(f"{_shown(url)} is not an address of a server")
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise EndpointError(f"{_shown(url)} must be https: plain http is allowed for this machine's loopback only")


def _shown(url: str) -> str:
    """Return an address without what could be a secret: its user, query and fragment."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
