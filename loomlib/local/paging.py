"""Lists in pages.

A token names the position of a page's last item, so that inserts and deletions shift no page.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from .wire import invalid

T = TypeVar("T")
_DEFAULT_PAGE = 20
_NOT_THE_QUERY = ("maxResults", "nextToken", "includePayloads")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """The page that a list operation requests.

    Attributes:
        size: Most items on the page.
        after: Position of the last item of the page before; None for the first page.
        query: Digest of the operation and its filters; a token is valid for this listing only.
    """

    size: int
    after: list[Any] | None
    query: str

    @property
    def fetch(self) -> int:
        """Number of items to read: one more than the page holds, to know whether a next page exists."""
        return self.size + 1

    def token(self, position: Sequence[Any]) -> str:
        """Return the token of the page after `position`."""
        return base64.urlsafe_b64encode(json.dumps([self.query, list(position)]).encode()).decode()

    def page(self, name: str, items: Sequence[T], position: Callable[[int], Sequence[Any]]) -> dict[str, Any]:
        """Return the response with the page's items and the next token.

        Args:
            name: Member that holds the items.
            items: Up to `fetch` items, in the order of the listing.
            position: Returns the position of the item at a given index.
        """
        result: dict[str, Any] = {name: items[: self.size]}
        if len(items) > self.size:
            result["nextToken"] = self.token(position(self.size - 1))
        return result


def page_request(parameters: Mapping[str, Any], operation: str, *kinds: type, size: int = _DEFAULT_PAGE) -> PageRequest:
    """Return the page that `maxResults` and `nextToken` specify.

    Args:
        parameters: The request's parameters.
        operation: Name of the list operation.
        kinds: Types of the values in a position.
        size: Items of a page when `maxResults` is not given.

    Raises:
        RefusedError: The token is damaged, or belongs to another listing (another resource, session or filter).
    """
    request = {name: value for name, value in parameters.items() if name not in _NOT_THE_QUERY and value is not None}
    query = hashlib.sha256(json.dumps([operation, request], sort_keys=True).encode()).hexdigest()[:16]
    after = None
    if token := parameters.get("nextToken"):
        after = _position(token, query, kinds)
    return PageRequest(size=parameters.get("maxResults") or size, after=after, query=query)


def _position(token: str, query: str, kinds: tuple[type, ...]) -> list[Any]:
    refused = invalid("nextToken was not issued for this listing")
    try:
        document: Any = json.loads(base64.b64decode(token, altchars=b"-_", validate=True))
    except (ValueError, binascii.Error) as error:
        raise refused from error
    if not isinstance(document, list) or len(pair := cast("list[Any]", document)) != 2 or pair[0] != query:
        raise refused
    position = pair[1]
    if not isinstance(position, list) or [type(value) for value in cast("list[Any]", position)] != list(kinds):
        raise refused
    return cast("list[Any]", position)
