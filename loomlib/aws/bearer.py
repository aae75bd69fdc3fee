"""Bearer tokens: their syntax, and the addresses to which they may be sent."""

from __future__ import annotations

import re
from collections.abc import Callable

from loomlib.errors import RequestRejectedError

from .addresses import is_loopback

Bearer = str | Callable[[], str]
"""A token, or a function that returns one."""


def token_of(bearer: Bearer | None) -> str | None:
    """Return the token to send now."""
    return bearer if bearer is None or isinstance(bearer, str) else bearer()


def check_bearer(token: str) -> None:
    """Refuse a text that is not valid in an Authorization header; the message does not contain it.

    Raises:
        ValueError: It is empty, or has characters that a token (RFC 6750, b64token) does not have.
    """
    if not re.fullmatch(r"[A-Za-z0-9._~+/-]+=*", token):
        raise ValueError(
            f"bearer is not a token: it has {len(token)} characters, with some that RFC 6750 does not allow; "
            "pass the token alone, without 'Bearer ' and line ends"
        )


def check_may_receive_token(endpoint: str) -> None:
    """Refuse to send a token where others could read it.

    Raises:
        RequestRejectedError: The address is neither HTTPS nor loopback.
    """
    if not (endpoint.startswith("https://") or is_loopback(endpoint)):
        raise RequestRejectedError(
            "A bearer token is not sent over HTTP", on=endpoint, try_="an https endpoint, or the local service"
        )
