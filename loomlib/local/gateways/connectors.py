"""Targets that are connectors: web search over the pages that the service was started with.

Source: AgentCore developer guide, "Amazon Web Search"; the tool's arguments and result are those that the SDK's
`WebSearchClient` sends and reads.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, cast

from ..web_search import PageFilter, WebCorpus, WebSearchOffError
from .tools import GatewayTool, TargetError, ToolResult

_TOOL: Final = "WebSearch"
_MOST_RESULTS: Final = 25
_QUERY_CHARACTERS: Final = 200
_DESCRIPTION: Final = "Searches the web and returns a ranked list of results, each with a text extract from the page."
_DOMAINS: Final = {"type": "array", "items": {"type": "string"}, "maxItems": 100}
_PROPERTIES: Final[Mapping[str, Mapping[str, Any]]] = {
    "query": {"type": "string", "description": "What to search for", "maxLength": _QUERY_CHARACTERS},
    "maxResults": {"type": "integer", "minimum": 1, "maximum": _MOST_RESULTS},
    "filters": {
        "type": "object",
        "properties": {
            "domainFilter": {"type": "object", "properties": {"include": _DOMAINS, "exclude": _DOMAINS}},
            "publishedDateFilter": {
                "type": "object",
                "properties": {name: {"type": "string", "description": "An ISO 8601 date"} for name in ("from", "to")},
            },
        },
    },
}


def connector_tools(target_configuration: Mapping[str, Any], corpus: WebCorpus) -> list[GatewayTool]:
    """Return the tools of a connector.

    Args:
        target_configuration: The target's configuration.
        corpus: The pages.

    Raises:
        TargetError: The connector is not supported here, or there are no pages to search.
    """
    connector = target_configuration["source"]["connectorId"]
    if connector != "web-search":
        raise TargetError(f"The local AgentCore does not support the connector {connector}, only web-search")
    configurations: list[Mapping[str, Any]] = target_configuration.get("configurations") or []
    unknown = {*(target_configuration.get("enabled") or ()), *(item["name"] for item in configurations)} - {_TOOL}
    if unknown:
        raise TargetError(f"The connector web-search has no tool {', '.join(sorted(unknown))}; try {_TOOL}")
    try:
        corpus.check()
    except WebSearchOffError as error:
        raise TargetError(str(error)) from error
    configuration: Mapping[str, Any] = configurations[0] if configurations else {}
    if others := set(configuration.get("parameterValues") or {}) - {"domainFilter"}:
        raise TargetError(f"{_TOOL} does not support fixed values of the parameters {', '.join(sorted(others))}")
    properties = {name: dict(schema) for name, schema in _PROPERTIES.items()}
    overrides: list[Mapping[str, Any]] = configuration.get("parameterOverrides") or []
    for override in overrides:
        name = str(override["path"]).removeprefix("$.").removeprefix("/")
        if name not in properties or (name == "query" and override.get("visible") is False):
            raise TargetError(f"The parameter {override['path']} of {_TOOL} cannot be overridden here")
        if override.get("description"):
            properties[name]["description"] = override["description"]
        if override.get("visible") is False:
            del properties[name]
    return [
        GatewayTool(
            name=_TOOL,
            description=str(configuration.get("description") or _DESCRIPTION),
            input_schema={"type": "object", "properties": properties, "required": ["query"]},
            request={"kind": "connector"},
        )
    ]


async def call_connector(
    target_configuration: Mapping[str, Any], arguments: Mapping[str, Any], corpus: WebCorpus
) -> ToolResult:
    """Search the pages.

    Args:
        target_configuration: The target's configuration; a caller can narrow its domains but not widen them.
        arguments: The tool's arguments.
        corpus: The pages.

    Raises:
        TargetError: There are no pages to search.
    """
    query, max_results = arguments.get("query"), arguments.get("maxResults", _MOST_RESULTS)
    if not isinstance(query, str) or not 0 < len(query.strip()) <= len(query) <= _QUERY_CHARACTERS:
        return ToolResult.of_text(f"query must be a string of 1 to {_QUERY_CHARACTERS} characters", is_error=True)
    if not isinstance(max_results, int) or isinstance(max_results, bool) or not 1 <= max_results <= _MOST_RESULTS:
        return ToolResult.of_text(f"maxResults must be an integer from 1 to {_MOST_RESULTS}", is_error=True)
    configurations: list[Mapping[str, Any]] = target_configuration.get("configurations") or [{}]
    values: Mapping[str, Any] = configurations[0].get("parameterValues") or {}
    fixed: Mapping[str, Any] = values.get("domainFilter") or {}
    try:
        filters = _filters(arguments.get("filters") or {}, fixed)
    except (ValueError, TypeError, AttributeError):
        return ToolResult.of_text(
            "filters must have domainFilter (include and exclude, lists of domains) and publishedDateFilter (from and "
            "to, ISO 8601 dates)",
            is_error=True,
        )
    try:
        hits = await asyncio.to_thread(corpus.search, query, most=max_results, filters=filters)
    except WebSearchOffError as error:
        raise TargetError(str(error)) from error
    results = [
        {
            "text": result.passage,
            "title": result.page.title,
            "url": result.page.url or None,
            "publishedDate": result.page.published.isoformat() if result.page.published else None,
        }
        for result in hits
    ]
    return ToolResult.of_text(json.dumps({"id": str(uuid.uuid4()), "results": results}, ensure_ascii=False))


def _filters(filters: Mapping[str, Any], fixed_domains: Mapping[str, Any]) -> PageFilter:
    domains: Mapping[str, Any] = filters.get("domainFilter") or {}
    dates: Mapping[str, Any] = filters.get("publishedDateFilter") or {}
    include = [_texts(item["include"]) for item in (fixed_domains, domains) if item.get("include")]
    exclude = [domain for item in (fixed_domains, domains) for domain in _texts(item.get("exclude") or [])]
    return PageFilter(
        include=include, exclude=exclude, after=_moment(dates.get("from")), before=_moment(dates.get("to"))
    )


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in cast("list[Any]", value)):
        raise TypeError
    return cast("list[str]", value)


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
