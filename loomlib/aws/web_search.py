"""Web search of AgentCore: one call, and its results as values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from .connection import Clients
from .errors import translated

MANAGED: Final = "web-search.v1"
"""The web search tool that AWS manages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebResult:
    """A page that a search found.

    Attributes:
        title: Its title; "" when unknown.
        url: Its address; "" when unknown.
        text: The part of its text that answers the query.
        published_at: When it was published; None when unknown.
    """

    title: str = ""
    url: str = ""
    text: str
    published_at: datetime | None = None


def search_web(
    clients: Clients,
    query: str,
    *,
    most: int,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    after: datetime | None = None,
    before: datetime | None = None,
) -> tuple[WebResult, ...]:
    """Search the web (InvokeWebSearch).

    Args:
        clients: The AWS clients of a connection.
        query: What to search for, up to 200 characters.
        most: The maximum number of results, up to 25.
        include: Only pages of these domains and their subdomains.
        exclude: No pages of these domains.
        after: Only pages that were published at or after this time.
        before: Only pages that were published at or before this time.

    Raises:
        AwsError: The search failed; the local AgentCore rejects it if no folder of pages is configured.
    """
    domains = {name: list(hosts) for name, hosts in (("include", include), ("exclude", exclude)) if hosts}
    dates = {
        name: moment for name, moment in (("publishedAfter", after), ("publishedBefore", before)) if moment is not None
    }
    filters: dict[str, Any] = {
        name: value for name, value in (("domainFilter", domains), ("publishedDateFilter", dates)) if value
    }
    with translated("Searching the web", on=query):
        answer: dict[str, Any] = clients.data().invoke_web_search(
            webSearchId=MANAGED, searchQuery=query, maxResults=most, **({"filters": filters} if filters else {})
        )
    return tuple(
        WebResult(
            title=item.get("title") or "",
            url=item.get("url") or "",
            text=item["text"],
            published_at=item.get("publishedAt"),
        )
        for item in answer["results"]
    )
