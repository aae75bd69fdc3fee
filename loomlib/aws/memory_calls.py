"""Calls of AgentCore Memory that are made again when throttled, and listings page by page."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from loomlib.errors import ThrottledError

from .errors import translated

PAGE: Final = 100
"""Items of a page at most, as AWS allows for every listing but one."""

_THROTTLED_TRIES: Final = 6
_FIRST_PAUSE_S: Final = 0.2


def pages(call: Callable[..., Any], items: str, asked: Mapping[str, Any], what: str, on: str) -> Iterator[Any]:
    """The items of all pages; the next page is asked for when the one before is used up."""
    for page in whole_pages(call, items, asked, what, on):
        yield from page


def whole_pages(
    call: Callable[..., Any], items: str, asked: Mapping[str, Any], what: str, on: str
) -> Iterator[list[Any]]:
    """The pages of a listing."""
    query = {"maxResults": PAGE, **asked}
    while True:
        answer = asked_again(call, query, what, on)
        yield answer.get(items) or []
        token = answer.get("nextToken")
        if not token or token == query.get("nextToken"):
            return
        query["nextToken"] = token


def asked_again(call: Callable[..., Any], asked: Mapping[str, Any], what: str, on: str) -> dict[str, Any]:
    """The answer; when throttled, asked for again after growing pauses with some chance in them."""
    for tried in range(_THROTTLED_TRIES):
        try:
            with translated(what, on=on):
                return call(**asked)
        except ThrottledError:
            if tried == _THROTTLED_TRIES - 1:
                raise
            time.sleep(_FIRST_PAUSE_S * 2**tried * (0.5 + random.random()))  # noqa: S311
    raise AssertionError("unreachable")
