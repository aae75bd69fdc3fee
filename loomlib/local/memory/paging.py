"""Pages by position: a token says after which item the next page begins, so inserts and deletions move no page."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from loomlib.local.wire import invalid

T = TypeVar("T")
_DEFAULT_PAGE = 20
_UNTOLD = ("maxResults", "nextToken", "includePayloads")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """`size` items after the position `after` (None: from the first), of the listing that `query` stands for."""

    size: int
    after: list[Any] | None
    query: str

    @property
    def fetch(self) -> int:
        """How many items to read: one more than the page holds tells whether a next page exists."""
        return self.size + 1

    def token(self, position: Sequence[Any]) -> str:
        """The token of the page after `position`."""
        return base64.urlsafe_b64encode(json.dumps([self.query, list(position)]).encode()).decode()

    def page(self, name: str, items: Sequence[T], position: Callable[[int], Sequence[Any]]) -> dict[str, Any]:
        """The page of `items`, of which `fetch` were read; `position(index)` is where an item stands."""
        result: dict[str, Any] = {name: items[: self.size]}
        if len(items) > self.size:
            result["nextToken"] = self.token(position(self.size - 1))
        return result


def page_request(parameters: Mapping[str, Any], operation: str, *kinds: type) -> PageRequest:
    """What `maxResults` (20 unless told) and `nextToken` ask for; a position holds values of `kinds`.

    A token belongs to one listing: with another memory, session or filter it is refused.
    """
    asked = {name: value for name, value in parameters.items() if name not in _UNTOLD and value is not None}
    query = hashlib.sha256(json.dumps([operation, asked], sort_keys=True).encode()).hexdigest()[:16]
    after = None
    if token := parameters.get("nextToken"):
        after = _position(token, query, kinds)
    return PageRequest(size=parameters.get("maxResults") or _DEFAULT_PAGE, after=after, query=query)


def _position(token: str, query: str, kinds: tuple[type, ...]) -> list[Any]:
    refused = invalid("nextToken is not one that this service gave out for this listing")
    try:
        given: Any = json.loads(base64.b64decode(token, altchars=b"-_", validate=True))
    except (ValueError, binascii.Error) as error:
        raise refused from error
    if not isinstance(given, list) or len(pair := cast("list[Any]", given)) != 2 or pair[0] != query:
        raise refused
    position = pair[1]
    if not isinstance(position, list) or [type(each) for each in cast("list[Any]", position)] != list(kinds):
        raise refused
    return cast("list[Any]", position)
