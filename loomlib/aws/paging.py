"""Paging of listings, and retries of throttled requests."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from loomlib.errors import ThrottledError

from .errors import translated

PAGE: Final = 100
"""Largest page, in items; AWS allows it for every listing but one."""

_THROTTLED_TRIES: Final = 6
_FIRST_PAUSE_S: Final = 0.2


def iter_items(call: Callable[..., Any], items: str, request: Mapping[str, Any], what: str, on: str) -> Iterator[Any]:
    """Yield the items of all pages; a page is requested when the previous one is consumed.

    Args:
        call: The listing's method of a boto3 client.
        items: The member of the response that holds the items.
        request: The request without paging parameters; `maxResults` is 100 unless set here.
        what: The operation's name, for errors.
        on: The resource of the operation, for errors.
    """
    for page in iter_pages(call, items, request, what, on):
        yield from page


def iter_pages(
    call: Callable[..., Any], items: str, request: Mapping[str, Any], what: str, on: str
) -> Iterator[list[Any]]:
    """Yield the pages of a listing.

    Args:
        call: The listing's method of a boto3 client.
        items: The member of the response that holds the items.
        request: The request without paging parameters; `maxResults` is 100 unless set here.
        what: The operation's name, for errors.
        on: The resource of the operation, for errors.
    """
    query = {"maxResults": PAGE, **request}
    while True:
        answer = with_retries(call, query, what, on)
        yield answer.get(items) or []
        token = answer.get("nextToken")
        if not token or token == query.get("nextToken"):
            return
        query["nextToken"] = token


def with_retries(call: Callable[..., Any], request: Mapping[str, Any], what: str, on: str) -> dict[str, Any]:
    """Call and return the response; if throttled, retry with exponential backoff and jitter.

    There are up to six attempts, with pauses of about 0.2, 0.4, 0.8, 1.6 and 3.2 s.

    Args:
        call: A method of a boto3 client.
        request: Its arguments.
        what: The operation's name, for errors.
        on: The resource of the operation, for errors.

    Raises:
        ThrottledError: The last attempt was throttled too.
        AwsError: The request failed for another reason.
    """
    for tried in range(_THROTTLED_TRIES):
        try:
            with translated(what, on=on):
                return call(**request)
        except ThrottledError:
            if tried == _THROTTLED_TRIES - 1:
                raise
            time.sleep(_FIRST_PAUSE_S * 2**tried * (0.5 + random.random()))  # noqa: S311
    raise AssertionError("unreachable")
