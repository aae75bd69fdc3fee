"""Lists in pages, as AWS cuts them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

from .wire import invalid

_LARGEST_PAGE = 100


def page(name: str, items: Sequence[Mapping[str, Any]], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The page that `maxResults` and `nextToken` ask for, under `name`, with a `nextToken` when more follow."""
    begin = _begin(parameters.get("nextToken"))
    end = begin + (parameters.get("maxResults") or _LARGEST_PAGE)
    token = {"nextToken": base64.urlsafe_b64encode(b"%d" % end).decode()} if end < len(items) else {}
    return {name: list(items[begin:end]), **token}


def _begin(token: str | None) -> int:
    if token is None:
        return 0
    try:
        return int(base64.urlsafe_b64decode(token))
    except (ValueError, binascii.Error) as error:
        raise invalid("nextToken is not one that this service gave out") from error
