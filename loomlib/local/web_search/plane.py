"""InvokeWebSearch of the data plane."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from ..wire import RefusedError, not_found
from .corpus import PageFilter, WebCorpus, WebSearchOffError

MANAGED: Final = "web-search.v1"
"""The web search tool that AWS manages, the only one."""

_MOST_RESULTS: Final = 25


class WebSearchPlane:
    """Answers InvokeWebSearch.

    Args:
        corpus: The pages.
    """

    def __init__(self, corpus: WebCorpus) -> None:
        self._corpus = corpus

    async def invoke_web_search(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Search the pages.

        Raises:
            RefusedError: The tool does not exist (404), or the service has no pages (501, which clients do not retry).
        """
        if parameters["webSearchId"] != MANAGED:
            raise not_found(f"The web search {parameters['webSearchId']} does not exist; use {MANAGED}")
        filters: Mapping[str, Any] = parameters.get("filters") or {}
        domains: Mapping[str, Any] = filters.get("domainFilter") or {}
        dates: Mapping[str, Any] = filters.get("publishedDateFilter") or {}
        page_filter = PageFilter(
            include=[domains["include"]] if domains.get("include") else [],
            exclude=domains.get("exclude") or (),
            after=_moment(dates.get("publishedAfter")),
            before=_moment(dates.get("publishedBefore")),
        )
        most = parameters.get("maxResults") or _MOST_RESULTS
        query = str(parameters["searchQuery"])
        try:
            results = await asyncio.to_thread(self._corpus.search, query, most=most, filters=page_filter)
        except WebSearchOffError as error:
            raise RefusedError("NotImplementedException", 501, str(error)) from error
        return {
            "results": [
                {
                    "title": result.page.title,
                    "text": result.passage,
                    **({"url": result.page.url} if result.page.url else {}),
                    **({"publishedAt": result.page.published} if result.page.published else {}),
                }
                for result in results
            ]
        }


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
